"""What the cyclic executor cannot run, in one place: such strata go to another executor, and `explain` says so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from emberlog.datatypes import BOOL, FLOAT, INT, STRING, UNKNOWN, DataType
from emberlog.language.registry import AGGREGATES, BUILT_IN, Functions
from emberlog.logical.expressions import condition_expressions
from emberlog.logical.nodes import Fixpoint, Plan, Values
from emberlog.logical.statistics import NO_STATISTICS, Statistics
from emberlog.semantics.model import RecursionCase
from emberlog.semantics.totality import FAILS, TRY, type_of
from emberlog.syntax.ast import Call, Expression, Parameter
from emberlog.workers.plan.compile import CyclicProgram, compile_fixpoint, watched_part
from emberlog.workers.plan.conjunctions import NotAConjunction, flatten, parts_of
from emberlog.workers.plan.nulls import Columns, carry_nulls, obstacles_to_nulls
from emberlog.workers.plan.rules import Probe, RuleChain, expressions_of, parts_of_expression


def has_lane(type_: DataType) -> bool:
    """Tells whether workers know values of the type."""
    if type_.parts:
        # Inside others, moments and decimals would be spelled as each source has them.
        return all(one in (INT, FLOAT, BOOL, STRING) or (one.parts and has_lane(one)) for one in type_.parts)
    return type_.is_whole or type_ in (FLOAT, BOOL, STRING)


MEETS = frozenset(name for name, one in AGGREGATES.items() if one.is_meet)
SUMS = frozenset(name for name, one in AGGREGATES.items() if one.by_key)
TOTALS = frozenset(name for name, one in AGGREGATES.items() if one.lanes and not one.by_key)


@dataclass(frozen=True, slots=True)
class Compiled:
    """Holds what a stratum is for workers: a program, or the reasons why they cannot run it."""

    program: CyclicProgram | None
    obstacles: tuple[str, ...] = ()
    """One sentence each."""


def compile_stratum(
    fixpoint: Fixpoint,
    unique: Mapping[str, frozenset[int]] | None = None,
    statistics: Statistics = NO_STATISTICS,
    functions: Functions = BUILT_IN,
    nullable: Columns | None = None,
    *,
    without_data: bool = False,
) -> Compiled:
    """Compiles a stratum for workers, if they can run it. `unique` has columns that no two rows of a relation agree in,
    where that is known, and `nullable` those of relations that it reads that have nulls. `without_data`, types that are
    not known are no obstacle."""
    found = tuple(dict.fromkeys(_obstacles(fixpoint)))
    if without_data:
        found = tuple(one for one in found if not one.endswith(f"of type {UNKNOWN}"))
    if found:
        return Compiled(None, found)
    program = carry_nulls(compile_fixpoint(fixpoint, unique, statistics, functions), nullable or {})
    found = tuple(dict.fromkeys((*_of_joins(program), *obstacles_to_nulls(program))))
    return Compiled(None, found) if found else Compiled(program)


def obstacles(fixpoint: Fixpoint) -> tuple[str, ...]:
    """Says why workers cannot run the stratum, one sentence each; nothing when they can."""
    return compile_stratum(fixpoint).obstacles


def obstacles_to_keeping(fixpoint: Fixpoint) -> tuple[str, ...]:
    """Says why workers cannot keep the facts of a stratum from slide to slide of a stream. Its partitions number texts
    alike, as they arrive, and so make none; and what a function of the user's gives may be null."""
    compiled = compile_stratum(fixpoint)
    if compiled.program is None:
        return compiled.obstacles
    if compiled.program.nullable:
        return (f"{', '.join(compiled.program.nullable)} may have nulls",)
    chains = (*compiled.program.seeds, *compiled.program.rules)
    if any(type_.parts for chain in chains for type_ in chain.types.values()):
        return ("a rule reads pairs or lists",)
    return tuple(dict.fromkeys(found for chain in chains for found in _made(chain)))


def _made(chain: RuleChain) -> Iterator[str]:
    for call in expressions_of(chain):
        if isinstance(call, Call) and call.function not in (TRY, FAILS):
            if call.function not in BUILT_IN:
                yield f"a rule uses {call.function}"
            elif (made := type_of(call, chain.types)).is_coded:
                yield f"a rule makes a {made} with {call.function}"


def _obstacles(fixpoint: Fixpoint) -> Iterator[str]:
    case = fixpoint.recursion.case
    for relation in fixpoint.relations:
        for field in relation.columns:
            if not has_lane(field.type):
                yield f"{relation.name}.{field.name} is of type {field.type}"
        functions = {column.function for column in relation.aggregates}
        if case in (RecursionCase.MEET, RecursionCase.MONOTONE_SUM):
            allowed = MEETS | SUMS
            if functions & SUMS and len(relation.aggregates) > 1:
                yield f"{relation.name} has another aggregate beside a monotone sum"
        else:
            allowed = TOTALS
        if relation.rules and not relation.keys and functions == {"count"}:
            yield f"{relation.name} counts 0 where there is nothing"
        for function in sorted(functions - allowed):
            yield f"{relation.name} is aggregated with {function}"
        for column in relation.aggregates:
            if column.field.type.is_coded and column.function not in ("count",):
                what = "text" if column.field.type == STRING else f"{column.field.type.name}s"
                yield f"{relation.name}.{column.field.name} aggregates {what}, which has no order as a code"
        for plan in parts_of(relation.seed):
            if isinstance(plan, Values) and relation.aggregates and any(None in row for row in plan.rows):
                yield f"a fact of {relation.name} has a null, which is aggregated"
            yield from _of_plan(plan)
        for rule in relation.rules:
            yield from _of_plan(rule.plan)


def _of_joins(program: CyclicProgram) -> Iterator[str]:
    """Finds joins of relations of the recursion with each other whose rows cannot meet on one worker."""
    members = {relation.name: relation for relation in program.relations}
    for chain in program.rules:
        for step in chain.steps:
            if not isinstance(step, Probe) or step.atom.relation not in members:
                continue
            if program.recursion.case in (RecursionCase.BOUNDED, RecursionCase.STAGED):
                yield f"rule {chain.name} joins two relations of a recursion that goes by rounds or stages"
            relation = members[step.atom.relation]
            if step.keys and not any(relation.columns[key].lane < relation.keys for key in step.keys):
                yield f"rule {chain.name} looks a relation of the recursion up by an aggregated value"


def _of_plan(plan: Plan) -> Iterator[str]:
    watched = watched_part(plan)
    if watched is not None:
        try:
            conjunction = flatten(watched)
        except NotAConjunction as problem:
            yield f"a rule has {problem}"
            return
        if len(conjunction.atoms) != 1:
            yield "a rule looks up a value that is computed from several atoms"
        yield from _of_types(conjunction.types.values())
        return
    if isinstance(plan, Values):
        if any(isinstance(cell, tuple) for row in plan.rows for cell in row):
            yield "a fact has a pair or a list"
        return
    try:
        conjunction = flatten(plan)
    except NotAConjunction as problem:
        yield f"a rule has {problem}"
        return
    guards = [guard for negated in conjunction.negated for guard in negated.guards]
    conditions = (one for condition in (*conjunction.conditions, *guards) for one in condition_expressions(condition))
    for expression in (*conjunction.head, *conjunction.computed.values(), *conditions):
        yield from _of_expression(expression)
    refuted = (data_type for negated in conjunction.negated for data_type in negated.types)
    yield from _of_types((*conjunction.types.values(), *refuted))


def _of_types(types: Iterable[DataType]) -> Iterator[str]:
    return (f"a rule reads a column of type {one}" for one in types if not has_lane(one))


def _of_expression(expression: Expression) -> Iterator[str]:
    if any(isinstance(part, Parameter) for part in parts_of_expression(expression)):
        yield "a rule has an open parameter"
