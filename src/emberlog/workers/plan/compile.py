"""From a fixpoint's plan to what the workers execute: resident relations, and rules as chains of steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from emberlog.datatypes import FLOAT, INT, DataType
from emberlog.deadline import check_time
from emberlog.language.entry import Function
from emberlog.language.registry import AGGREGATES, BUILT_IN, Functions
from emberlog.logical.nodes import (
    AggregateColumn,
    Condition,
    Distinct,
    Filter,
    Fixpoint,
    FixpointRelation,
    Plan,
    Project,
    Values,
)
from emberlog.logical.properties import is_set
from emberlog.logical.statistics import NO_STATISTICS, Statistics
from emberlog.logical.traverse import PLANNING, walk
from emberlog.semantics.model import Fact, Holds, Recursion, RecursionCase
from emberlog.semantics.totality import FAILS, type_of
from emberlog.syntax.ast import Call, Constant, Expression
from emberlog.workers.plan.conjunctions import flatten, parts_of
from emberlog.workers.plan.rules import (
    Atom,
    ColumnLane,
    Combine,
    RelationLayout,
    RuleChain,
    Shown,
    chain_reads_letters,
    condition_reads_letters,
    expressions_of,
    parts_of_condition,
)
from emberlog.workers.plan.step_order import Members, Ordering


@dataclass(frozen=True, slots=True)
class SeedFacts:
    """Contributions that the program itself writes."""

    relation: str
    rows: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Watch:
    """A condition that no row of a relation should satisfy: a value that is looked up would not exist."""

    rule: str
    atom: Atom
    condition: Condition
    types: Mapping[str, DataType]
    nullable: frozenset[str] | None = None
    """The variables that may be null; None where the program knows no nulls at all."""


@dataclass(frozen=True, slots=True)
class CyclicProgram:
    """A recursive stratum as the workers run it."""

    relations: tuple[RelationLayout, ...]
    statics: tuple[str, ...]
    """The relations that the recursion reads and does not change."""
    static_types: dict[str, tuple[DataType, ...]]
    facts: tuple[SeedFacts, ...]
    seeds: tuple[RuleChain, ...]
    rules: tuple[RuleChain, ...]
    """In the incremental cases one per atom of the stratum in a body, beginning with its delta; else one per rule."""
    recursion: Recursion
    watches: tuple[Watch, ...] = ()
    """Values that are computed from what does not change, and looked up."""
    functions: tuple[Function, ...] = ()
    """Those of the user that it calls. The others are everywhere."""
    nullable: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """By relation, its own or one that it reads: the columns that may be null."""
    copied: Mapping[str, str] = field(default_factory=dict)
    """Copies of relations that it reads, which are spread by other columns, and whose rows each has."""

    @property
    def expressions(self) -> Iterator[Expression]:
        """Yields all expressions of its rules, and those that they are made of."""
        for chain in (*self.seeds, *self.rules):
            yield from expressions_of(chain)
        for watch in self.watches:
            yield from parts_of_condition(watch.condition)

    @property
    def looks_into_texts(self) -> bool:
        """Tells whether rows are looked at one by one: texts are, and so are the arguments of a user's function."""
        for chain in (*self.seeds, *self.rules):
            for call in expressions_of(chain):
                if isinstance(call, Call) and any(
                    type_of(one, chain.types).is_coded for one in (call, *call.arguments)
                ):
                    return True
        return bool(self.functions)

    @property
    def reads_letters(self) -> str | None:
        """Names a rule that needs the letters of a text, and not only whether two are the same; None without any."""
        if self.functions:
            return self.functions[0].name
        for chain in (*self.seeds, *self.rules):
            if chain_reads_letters(chain):
                return chain.name
        watches = (one for one in self.watches if condition_reads_letters(one.condition, one.types))
        return next((one.rule for one in watches), None)

    def relation(self, name: str) -> RelationLayout:
        return next(relation for relation in self.relations if relation.name == name)


def compile_fixpoint(
    fixpoint: Fixpoint,
    unique: Mapping[str, frozenset[int]] | None = None,
    statistics: Statistics = NO_STATISTICS,
    functions: Functions = BUILT_IN,
) -> CyclicProgram:
    """The program of a fixpoint that has no obstacles (see `capabilities`). `unique` has columns that no two rows of a
    relation agree in, where that is known. `functions` has those that the user registered."""
    members = Members(frozenset(relation.name for relation in fixpoint.relations), unique or {}, statistics)
    facts: list[SeedFacts] = []
    seeds: list[RuleChain] = []
    rules: list[RuleChain] = []
    static_types: dict[str, tuple[DataType, ...]] = {}
    watches: list[Watch] = []
    for relation in fixpoint.relations:
        for part in parts_of(relation.seed):
            if (watched := watched_part(part)) is not None:
                watches += _watches(_rule_name(part), watched, members.names)
            elif isinstance(part, Values):
                facts.append(SeedFacts(relation.name, tuple(_fact_lanes(relation, row) for row in part.rows)))
            else:
                seeds.append(_chain(_rule_name(part), relation, part, None, static_types, members))
        for rule in relation.rules:
            if (watched := watched_part(rule.plan)) is not None:
                watches += _watches(rule.name, watched, members.names)
                continue
            for position in _drivers(rule.plan, members.names, fixpoint.recursion.case):
                rules.append(_chain(rule.name, relation, rule.plan, position, static_types, members))
    for watch in watches:
        static_types.setdefault(watch.atom.relation, tuple(watch.types[name] for name in watch.atom.variables))
    program = CyclicProgram(
        tuple(_resident(relation) for relation in fixpoint.relations),
        tuple(static_types),
        static_types,
        tuple(facts),
        tuple(seeds),
        tuple(rules),
        fixpoint.recursion,
        tuple(watches),
    )
    called = {one.function for one in program.expressions if isinstance(one, Call)}
    registered = [one for name, one in functions.scalars.items() if name in called and one.is_registered]
    return replace(program, functions=tuple(registered)) if registered else program


def watched_part(plan: Plan) -> Filter | None:
    """The part of a rule's plan that tells whether a value that is looked up does not exist; None for other rules. Such
    a rule only says what fails the program: workers look out for it, and leave the rest to others."""
    for node in walk(plan):
        if isinstance(node, Filter) and any(map(_is_watch, node.conditions)):
            return node
    return None


def _is_watch(condition: Condition) -> bool:
    match condition:
        case Holds(Call(function), negated):
            return function == FAILS and not negated
        case _:
            return False


def _watches(rule: str, part: Filter, members: frozenset[str]) -> Iterator[Watch]:
    """What is computed from a relation that changes is met by the rule that looks it up, as it comes."""
    conjunction = flatten(part)
    (atom,) = conjunction.atoms
    if atom.relation not in members:
        for condition in filter(_is_watch, conjunction.conditions):
            yield Watch(rule, Atom(atom.relation, tuple(atom.variables)), condition, dict(conjunction.types))


def _drivers(plan: Plan, members: frozenset[str], case: RecursionCase) -> Iterator[int]:
    """The atoms a rule's chains begin with, counted among the atoms of the stratum."""
    count = sum(atom.relation in members for atom in flatten(plan).atoms)
    yield from range(1 if case is RecursionCase.BOUNDED else count)


def _resident(relation: FixpointRelation) -> RelationLayout:
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
    return RelationLayout(
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
    members: Members,
) -> RuleChain:
    check_time(PLANNING)
    conjunction = flatten(plan)
    for atom in conjunction.atoms:
        if atom.relation not in members.names:
            static_types[atom.relation] = tuple(conjunction.types[variable] for variable in atom.variables)
    for negated in conjunction.negated:
        static_types[negated.relation] = tuple(negated.types)
    columns = dict(zip((field.name for field in plan.columns), conjunction.head, strict=True))
    steps = tuple(Ordering(conjunction, position, members).steps())
    aggregated = tuple(columns[argument] for column in relation.aggregates for argument in column.arguments)
    return RuleChain(name, relation.name, steps, _head_lanes(relation, columns), dict(conjunction.types), aggregated)


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
