"""From a fixpoint's plan to what the workers execute: resident relations, and rules as chains of steps.

A chain begins with the atom that changed and goes on with whatever is bound already, so that a small delta costs
little; conditions and negated atoms come as soon as they can.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from emberlog.datatypes import FLOAT, INT, DataType
from emberlog.executors.cyclic.atom_estimates import estimate_of
from emberlog.executors.cyclic.conjunctions import Conjunction, ScannedAtom, flatten, parts_of
from emberlog.executors.cyclic.rules import (
    Assign,
    Atom,
    ColumnLane,
    Combine,
    Keep,
    Probe,
    Refute,
    ResidentRelation,
    RuleChain,
    Shown,
    Start,
    Step,
)
from emberlog.language.registry import AGGREGATES
from emberlog.logical.expressions import columns_of, condition_columns
from emberlog.logical.nodes import (
    AggregateColumn,
    Condition,
    Fixpoint,
    FixpointRelation,
    Plan,
    Project,
    Values,
    Version,
)
from emberlog.logical.properties import is_set
from emberlog.logical.statistics import NO_STATISTICS, Statistics
from emberlog.logical.traverse import walk
from emberlog.optimize.cardinality import NotKnown
from emberlog.optimize.join_order import best_order
from emberlog.semantics.model import Compare, Fact, Recursion, RecursionCase
from emberlog.semantics.totality import can_fail, condition_can_fail, type_of
from emberlog.syntax.ast import ComparisonOperator, Constant, Expression, Variable


@dataclass(frozen=True, slots=True)
class SeedFacts:
    """Contributions that the program itself writes."""

    relation: str
    rows: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class CyclicProgram:
    """A recursive stratum as the workers run it."""

    relations: tuple[ResidentRelation, ...]
    statics: tuple[str, ...]
    """The relations that the recursion reads and does not change."""
    static_types: dict[str, tuple[DataType, ...]]
    facts: tuple[SeedFacts, ...]
    seeds: tuple[RuleChain, ...]
    rules: tuple[RuleChain, ...]
    """In the incremental cases one per atom of the stratum in a body, beginning with its delta; else one per rule."""
    recursion: Recursion

    def relation(self, name: str) -> ResidentRelation:
        return next(relation for relation in self.relations if relation.name == name)


def compile_fixpoint(
    fixpoint: Fixpoint,
    unique: Mapping[str, frozenset[int]] | None = None,
    statistics: Statistics = NO_STATISTICS,
) -> CyclicProgram:
    """The program of a fixpoint that has no obstacles (see `capabilities`). `unique` has columns that no two rows of a
    relation agree in, where that is known."""
    members = _Members(frozenset(relation.name for relation in fixpoint.relations), unique or {}, statistics)
    facts: list[SeedFacts] = []
    seeds: list[RuleChain] = []
    rules: list[RuleChain] = []
    static_types: dict[str, tuple[DataType, ...]] = {}
    for relation in fixpoint.relations:
        for part in parts_of(relation.seed):
            if isinstance(part, Values):
                facts.append(SeedFacts(relation.name, tuple(_fact_lanes(relation, row) for row in part.rows)))
            else:
                seeds.append(_chain(_rule_name(part), relation, part, None, static_types, members))
        for rule in relation.rules:
            for position in _drivers(rule.plan, members.names, fixpoint.recursion.case):
                rules.append(_chain(rule.name, relation, rule.plan, position, static_types, members))
    return CyclicProgram(
        tuple(_resident(relation) for relation in fixpoint.relations),
        tuple(static_types),
        static_types,
        tuple(facts),
        tuple(seeds),
        tuple(rules),
        fixpoint.recursion,
    )


@dataclass(frozen=True, slots=True)
class _Members:
    """The relations of the recursion, and what is known of those that it reads."""

    names: frozenset[str]
    unique: Mapping[str, frozenset[int]]
    statistics: Statistics


def _drivers(plan: Plan, members: frozenset[str], case: RecursionCase) -> Iterator[int]:
    """The atoms a rule's chains begin with, counted among the atoms of the stratum."""
    count = sum(atom.relation in members for atom in flatten(plan).atoms)
    yield from range(1 if case is RecursionCase.BOUNDED else count)


def _resident(relation: FixpointRelation) -> ResidentRelation:
    lane_of_key = {name: index for index, name in enumerate(relation.keys)}
    combine: list[Combine] = []
    shown: dict[str, ColumnLane] = {}
    largest_per_key = False
    for column in relation.aggregates:
        lane = len(relation.keys) + len(combine)
        rules, how, offset = _combination(column, _argument_types(relation))
        combine += rules
        shown[column.field.name] = ColumnLane(lane + offset, column.field.type, how)
        largest_per_key |= AGGREGATES[column.function].by_key
    columns = tuple(
        shown.get(field.name) or ColumnLane(lane_of_key[field.name], field.type) for field in relation.columns
    )
    counts_nothing = (
        not relation.keys and bool(combine) and all(AGGREGATES[one.function].is_count for one in relation.aggregates)
    )
    types = tuple(field.type for field in relation.seed.columns)
    return ResidentRelation(
        relation.name,
        columns,
        len(relation.keys),
        tuple(combine),
        types,
        largest_per_key,
        counts_nothing,
        comes_once=not relation.rules and not relation.aggregates and is_set(relation.seed),
        location=next((place for place, one in enumerate(relation.columns) if one.name == relation.location), None),
    )


_KERNELS = {
    "min": Combine.MIN,
    "max": Combine.MAX,
    "argmin": Combine.ARG_MIN,
    "argmax": Combine.ARG_MAX,
    "choice": Combine.CHOICE,
    "count": Combine.SUM_INT,
}
"""By the names that the entries of aggregates have for their lanes."""


def _combination(column: AggregateColumn, types: Mapping[str, DataType]) -> tuple[list[Combine], Shown, int]:
    """The lanes of an aggregate, how its column is read from them, and from which. Arguments are of these types."""
    function = AGGREGATES[column.function]
    if "sum" not in function.lanes:
        return [_KERNELS[lane] for lane in function.lanes], Shown.LANE, len(function.lanes) - 1
    is_mean = "count" in function.lanes
    counted = [Combine.SUM_INT] if is_mean else []
    if column.field.type == FLOAT and types.get(column.arguments[-1]) != INT:
        return [Combine.SUM_FLOAT, *counted], Shown.MEAN if is_mean else Shown.FLOAT_SUM, 0
    if _is_wide(column, types):
        return [Combine.SUM_WIDE, Combine.CARRY, *counted], Shown.WIDE_MEAN if is_mean else Shown.WIDE_SUM, 0
    return [Combine.SUM_INT], Shown.LANE, 0


def _is_wide(column: AggregateColumn, types: Mapping[str, DataType]) -> bool:
    """Whether parts of a sum of ints may not fit though the sum does: not where nothing is negative."""
    function = AGGREGATES[column.function]
    return "sum" in function.lanes and not function.by_key and types.get(column.arguments[-1]) == INT


def _contributed(column: AggregateColumn, types: Mapping[str, DataType]) -> list[str | int]:
    """What a contribution has in the lanes of an aggregate: arguments, a sum's carry, and 1 for what is counted."""
    function = AGGREGATES[column.function]
    arguments: list[str | int] = [] if function.lanes == ("count",) else list(column.arguments)
    carry = [0] if _is_wide(column, types) else []
    return [*arguments, *carry, *([1] if "count" in function.lanes else [])]


def _argument_types(relation: FixpointRelation) -> dict[str, DataType]:
    return {field.name: field.type for field in relation.seed.columns}


def _chain(
    name: str,
    relation: FixpointRelation,
    plan: Plan,
    position: int | None,
    static_types: dict[str, tuple[DataType, ...]],
    members: _Members,
) -> RuleChain:
    conjunction = flatten(plan)
    for atom in conjunction.atoms:
        if atom.relation not in members.names:
            static_types[atom.relation] = tuple(conjunction.types[variable] for variable in atom.variables)
    for negated in conjunction.negated:
        static_types[negated.relation] = tuple(negated.types)
    columns = dict(zip((field.name for field in plan.columns), conjunction.head, strict=True))
    steps = tuple(_Ordering(conjunction, position, members).steps())
    return RuleChain(name, relation.name, steps, _head_lanes(relation, columns), dict(conjunction.types))


def _rule_name(plan: Plan) -> str:
    return next((node.rule for node in walk(plan) if isinstance(node, Project) and node.rule), "seed")


def _head_lanes(relation: FixpointRelation, columns: dict[str, Expression]) -> tuple[Expression, ...]:
    """The lanes of a contribution, as expressions."""
    types = _argument_types(relation)
    lanes = [columns[key] for key in relation.keys]
    for column in relation.aggregates:
        lanes += [columns[one] if isinstance(one, str) else Constant(one) for one in _contributed(column, types)]
    return tuple(lanes)


def _fact_lanes(relation: FixpointRelation, row: Fact) -> Fact:
    """The lanes of a contribution, as values."""
    types = _argument_types(relation)
    names = (*relation.keys, *(argument for column in relation.aggregates for argument in column.arguments))
    values = dict(zip(names, row, strict=True))
    lanes = [values[key] for key in relation.keys]
    for column in relation.aggregates:
        lanes += [values[one] if isinstance(one, str) else one for one in _contributed(column, types)]
    return tuple(lanes)


class _Ordering:
    """Puts a conjunction into the order of a chain."""

    def __init__(self, conjunction: Conjunction, position: int | None, known: _Members) -> None:
        members = known.names
        self.conjunction = conjunction
        self.members = members
        self.unique = known.unique
        self.statistics = known.statistics
        # Where valuations move to other workers on the way, the order of steps is the same for all of them.
        self.may_be_early = sum(atom.relation in members for atom in conjunction.atoms) <= 1
        self.atoms = [
            _versioned(atom, index, conjunction, position, members) for index, atom in enumerate(conjunction.atoms)
        ]
        self.computed = dict(conjunction.computed)
        self.conditions = list(conjunction.conditions)
        self.negated = list(conjunction.negated)
        self.bound: set[str] = set()

    def steps(self) -> Iterator[Step]:
        first = next((atom for atom in self.atoms if atom.version is Version.DELTA), None)
        if first is None and self.atoms:
            first = self.atoms[0]
        planned = self._by_statistics(first) if first is not None else None
        if first is not None:
            first = planned[0] if planned else first
            self.atoms.remove(first)
            yield Start(first)
            self.bound.update(first.variables)
        yield from self._ready()
        while self.atoms:
            if planned:
                atom = planned[-len(self.atoms)]
            else:
                atom = max(self.atoms, key=lambda one: self._bound_share(one, self.bound))
            self.atoms.remove(atom)
            keys = tuple(index for index, name in enumerate(atom.variables) if name in self.bound)
            yield Probe(atom, keys)
            self.bound.update(atom.variables)
            yield from self._ready()

    def _by_statistics(self, first: Atom) -> list[Atom] | None:
        """All atoms in the order whose intermediate results are smallest; None where that cannot be told, or where
        valuations move between workers on the way: then it counts more that they can be joined where they are."""
        changing = sum(atom.relation in self.members for atom in self.atoms)
        if len(self.atoms) < 3 or changing > 1 or self._binds_by_computing():
            return None
        order = self._by_bound_columns(first)
        try:
            estimates = [estimate_of(atom, self.statistics) for atom in order]
        except NotKnown:
            return None
        safe = [one for one in self.conditions if not condition_can_fail(one, self.conjunction.types)]
        best = best_order(estimates, safe, keeps_first=changing == 1)
        return [order[place] for place in best.inputs]

    def _binds_by_computing(self) -> bool:
        """Whether some variable of an atom can get its value from an expression, which no estimate knows of."""
        in_atoms = {name for atom in self.atoms for name in atom.variables}
        equations = [
            one
            for one in self.conditions
            if isinstance(one, Compare)
            and one.operator is ComparisonOperator.EQUAL
            and not isinstance(one.left, Constant)
            and not isinstance(one.right, Constant)
        ]
        return bool(equations) or not in_atoms.isdisjoint(self.computed)

    def _by_bound_columns(self, first: Atom) -> list[Atom]:
        order, left = [first], [atom for atom in self.atoms if atom is not first]
        bound = set(first.variables)
        while left:
            atom = max(left, key=lambda one: self._bound_share(one, bound))
            left.remove(atom)
            order.append(atom)
            bound.update(atom.variables)
        return order

    def _bound_share(self, atom: Atom, names: set[str]) -> tuple[bool, int, bool]:
        """One that has a single row first, then that with most bound columns, then one that does not change."""
        bound = {column for column, name in enumerate(atom.variables) if name in names}
        key = self.unique.get(atom.relation)
        return key is not None and key <= bound, len(bound), atom.relation not in self.members

    def _ready(self) -> Iterator[Step]:
        """Everything that the bound variables allow. What can fail waits until all else has had its say, so that it is
        not tried for valuations that the rule does not have."""
        is_last = not self.atoms
        while (step := self._next_safe() or (self._next_risky() if is_last else self._next_early())) is not None:
            yield step

    def _next_safe(self) -> Step | None:
        types = self.conjunction.types
        for condition in self.conditions:
            if not condition_can_fail(condition, types) and (step := self._condition(condition)) is not None:
                self.conditions.remove(condition)
                return step
        for negated in self.negated:
            if set(negated.variables) <= self.bound:
                self.negated.remove(negated)
                keys, variables = tuple(negated.keys), tuple(negated.variables)
                return Refute(negated.relation, keys, variables, tuple(negated.guards))
        for name, expression in self.computed.items():
            if not can_fail(expression, types) and columns_of(expression) <= self.bound:
                return self._assigned(name)
        return None

    def _next_risky(self) -> Step | None:
        # A condition may be what keeps a value from being computed that there is none of.
        for condition in self.conditions:
            if (step := self._condition(condition)) is not None:
                self.conditions.remove(condition)
                return step
        for name, expression in self.computed.items():
            if columns_of(expression) <= self.bound:
                return self._assigned(name)
        return None

    def _next_early(self) -> Step | None:
        """What can fail but most often does not is computed before a join repeats it."""
        for name, expression in self.computed.items():
            if self.may_be_early and name not in self.bound and columns_of(expression) <= self.bound:
                del self.computed[name]
                self.bound.add(name)
                return Assign(name, expression, is_early=True)
        return None

    def _assigned(self, name: str) -> Step:
        expression = self.computed.pop(name)
        if name in self.bound:  # an atom has it, too
            return Keep(Compare(ComparisonOperator.EQUAL, Variable(name), expression))
        self.bound.add(name)
        return Assign(name, expression)

    def _condition(self, condition: Condition) -> Step | None:
        if condition_columns(condition) <= self.bound:
            return Keep(condition)
        if isinstance(condition, Compare) and condition.operator is ComparisonOperator.EQUAL:
            for target, value in ((condition.left, condition.right), (condition.right, condition.left)):
                if (
                    isinstance(target, Variable)
                    and target.name not in self.bound
                    and not isinstance(value, Constant)
                    and columns_of(value) <= self.bound
                    and type_of(value, self.conjunction.types) == self.conjunction.types[target.name]
                ):
                    self.bound.add(target.name)
                    return Assign(target.name, value)
        return None


def _versioned(
    atom: ScannedAtom, index: int, conjunction: Conjunction, position: int | None, members: frozenset[str]
) -> Atom:
    """Atoms of the stratum before the one that drives the chain read what was known before the delta."""
    variables = tuple(atom.variables)
    if atom.relation not in members or position is None:
        return Atom(atom.relation, variables)
    order = sum(other.relation in members for other in conjunction.atoms[:index])
    version = Version.DELTA if order == position else Version.BEFORE if order < position else Version.FULL
    return Atom(atom.relation, variables, version)
