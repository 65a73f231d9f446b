"""From a fixpoint's plan to what the workers execute: resident relations, and rules as chains of steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from emberlog.datatypes import FLOAT, DataType
from emberlog.deadline import check_time
from emberlog.executors.cyclic.conjunctions import flatten, parts_of
from emberlog.executors.cyclic.rules import (
    ColumnLane,
    Combine,
    ResidentRelation,
    RuleChain,
    Shown,
)
from emberlog.executors.cyclic.step_order import Members, Ordering
from emberlog.logical.nodes import (
    AggregateColumn,
    Distinct,
    Fixpoint,
    FixpointRelation,
    Plan,
    Project,
    Values,
)
from emberlog.logical.properties import is_set
from emberlog.logical.statistics import NO_STATISTICS, Statistics
from emberlog.logical.traverse import PLANNING, walk
from emberlog.semantics.model import Fact, Recursion, RecursionCase
from emberlog.syntax.ast import Call, Constant, Expression


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
    members = Members(frozenset(relation.name for relation in fixpoint.relations), unique or {}, statistics)
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
