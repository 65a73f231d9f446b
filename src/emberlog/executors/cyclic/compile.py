"""From a fixpoint's plan to what the workers execute: resident relations, and rules as chains of steps.

A chain begins with the atom that changed and goes on with whatever is bound already, so that a small delta costs
little; conditions and negated atoms come as soon as they can.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from emberlog.datatypes import FLOAT, DataType
from emberlog.deadline import check_time
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
from emberlog.executors.cyclic.solving import solved
from emberlog.logical.expressions import Risk, columns_of, condition_columns, condition_risk, risk_of, type_of
from emberlog.logical.nodes import (
    AggregateColumn,
    Condition,
    Distinct,
    Fixpoint,
    FixpointRelation,
    Plan,
    Project,
    Values,
    Version,
)
from emberlog.logical.properties import is_set
from emberlog.logical.statistics import NO_STATISTICS, Statistics
from emberlog.logical.traverse import PLANNING, walk
from emberlog.optimize.cardinality import NotKnown
from emberlog.optimize.join_order import best_order
from emberlog.semantics.model import Compare, Fact, Recursion, RecursionCase
from emberlog.syntax.ast import Call, ComparisonOperator, Constant, Expression, Variable


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
        rules, how, offset = _combination(column)
        combine += rules
        shown[column.field.name] = ColumnLane(lane + offset, column.field.type, how)
        largest_per_key |= column.function in ("mcount", "msum")
    columns = tuple(
        shown.get(field.name) or ColumnLane(lane_of_key[field.name], field.type) for field in relation.columns
    )
    counts_nothing = not relation.keys and bool(combine) and all(one.function == "count" for one in relation.aggregates)
    types = tuple(field.type for field in relation.seed.columns)
    return ResidentRelation(
        relation.name,
        columns,
        len(relation.keys),
        tuple(combine),
        types,
        largest_per_key,
        counts_nothing,
        comes_once=not relation.rules and not relation.aggregates and _comes_once(relation.seed),
        location=next((place for place, one in enumerate(relation.columns) if one.name == relation.location), None),
    )


def _comes_once(seed: Plan) -> bool:
    """What only has to be there is there on every worker that has a row of it."""
    return is_set(seed) and not any(isinstance(node, Distinct) for node in walk(seed))


def _combination(column: AggregateColumn) -> tuple[list[Combine], Shown, int]:
    """The lanes of an aggregate, how its column is read from them, and from which."""
    is_float = column.field.type == FLOAT
    match column.function:
        case "min" | "mmin" | "all":
            return [Combine.MIN], Shown.LANE, 0
        case "max" | "mmax" | "any":
            return [Combine.MAX], Shown.LANE, 0
        case "argmin":
            return [Combine.ARG_MIN, Combine.CHOICE], Shown.LANE, 1
        case "argmax":
            return [Combine.ARG_MAX, Combine.CHOICE], Shown.LANE, 1
        case "avg":
            return [Combine.SUM_FLOAT, Combine.SUM_INT], Shown.MEAN, 0
        case _ if is_float:
            return [Combine.SUM_FLOAT], Shown.FLOAT_SUM, 0
        case _:
            return [Combine.SUM_INT], Shown.LANE, 0


def _chain(
    name: str,
    relation: FixpointRelation,
    plan: Plan,
    position: int | None,
    static_types: dict[str, tuple[DataType, ...]],
    members: _Members,
) -> RuleChain:
    check_time(PLANNING)
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
    """The lanes of a contribution: a count adds 1, a mean adds the value and 1."""
    lanes = [columns[key] for key in relation.keys]
    for column in relation.aggregates:
        if column.function == "count":
            lanes.append(Constant(1))
        elif column.function == "avg":
            lanes += [Call("float", (columns[column.arguments[0]],)), Constant(1)]
        else:
            lanes += [columns[argument] for argument in column.arguments]
    return tuple(lanes)


def _fact_lanes(relation: FixpointRelation, row: Fact) -> Fact:
    names = (*relation.keys, *(argument for column in relation.aggregates for argument in column.arguments))
    values = dict(zip(names, row, strict=True))
    lanes = [values[key] for key in relation.keys]
    for column in relation.aggregates:
        if column.function == "count":
            lanes.append(1)
        elif column.function == "avg":
            value = values[column.arguments[0]]
            assert isinstance(value, int | float)
            lanes += [float(value), 1]
        else:
            lanes += [values[argument] for argument in column.arguments]
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
        self.solving: list[Step] = []
        """The rest of the steps that solve an equation."""

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
        safe = [one for one in self.conditions if condition_risk(one, self.conjunction.types) is Risk.NONE]
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
        computed = {name for name, value in self.computed.items() if not isinstance(value, Constant)}
        return bool(equations) or not in_atoms.isdisjoint(computed)

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
        if self.solving:
            return self.solving.pop(0)
        types = self.conjunction.types
        for condition in self.conditions:
            if condition_risk(condition, types) is Risk.NONE and (step := self._condition(condition)) is not None:
                self.conditions.remove(condition)
                return step
        for condition in self.conditions:
            if (found := solved(condition, self.bound, types)) is not None:
                unknown, (first, *self.solving) = found
                self.conditions.remove(condition)
                self.bound.add(unknown)
                return first
        for negated in self.negated:
            if set(negated.variables) <= self.bound:
                self.negated.remove(negated)
                keys, variables = tuple(negated.keys), tuple(negated.variables)
                return Refute(negated.relation, keys, variables, tuple(negated.guards))
        for name, expression in self.computed.items():
            if risk_of(expression, types) is Risk.NONE and columns_of(expression) <= self.bound:
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
        """What can fail but most often does not is computed before a join repeats it, or before all facts of an atom
        are tried that can be looked up by it."""
        types = self.conjunction.types
        to_bind = {name for atom in self.atoms for name in atom.variables}
        # What cannot wait for later steps, should it fail, is computed only if nothing else can be looked up before.
        for condition in self.conditions if self.may_be_early or to_bind.isdisjoint(self.bound) else ():
            can_be_bound = any(name in to_bind for name, _ in self._equations(condition))
            if can_be_bound and condition_risk(condition, types) is Risk.OVERFLOW:
                self.conditions.remove(condition)
                step = self._condition(condition)
                assert isinstance(step, Assign)
                return replace(step, is_early=self.may_be_early)
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
        for target, value in self._equations(condition):
            self.bound.add(target)
            return Assign(target, value)
        return None

    def _equations(self, condition: Condition) -> Iterator[tuple[str, Expression]]:
        """The variables that can get their value from the condition."""
        if isinstance(condition, Compare) and condition.operator is ComparisonOperator.EQUAL:
            for target, value in ((condition.left, condition.right), (condition.right, condition.left)):
                if (
                    isinstance(target, Variable)
                    and target.name not in self.bound
                    and not isinstance(value, Constant)
                    and columns_of(value) <= self.bound
                    and type_of(value, self.conjunction.types) == self.conjunction.types[target.name]
                ):
                    yield target.name, value


def _versioned(
    atom: ScannedAtom, index: int, conjunction: Conjunction, position: int | None, members: frozenset[str]
) -> Atom:
    """Atoms of the stratum before the one that drives the chain read what was known before the delta."""
    variables = tuple(atom.variables)
    if atom.relation not in members or position is None:
        return Atom(atom.relation, variables, asks=atom.asks)
    order = sum(other.relation in members for other in conjunction.atoms[:index])
    version = Version.DELTA if order == position else Version.BEFORE if order < position else Version.FULL
    return Atom(atom.relation, variables, version, atom.asks)
