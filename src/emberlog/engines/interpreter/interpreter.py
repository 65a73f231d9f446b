"""Runs a logical plan in plain Python: hash joins, hash aggregates, semi-naive recursion.

It serves small data and interactive use, and it is the second opinion on plans: it shares nothing with the
oracle, which never sees a plan, so a pass that changes an answer shows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from time import perf_counter
from typing import assert_never

from emberlog.config import DEFAULT_LIMITS, Limits
from emberlog.datatypes import BOOL, DATE, DURATION, FLOAT, INT, INT_MAX, INT_MIN, STRING, TIMESTAMP, DataType
from emberlog.diagnostics import EmberlogError, InternalError, fail, nearest
from emberlog.engines.interpreter.fixpoint import Histories, run_fixpoint
from emberlog.engines.interpreter.limits import Watch
from emberlog.engines.interpreter.operators import Facts, Operators, Rows, rule_names
from emberlog.engines.interpreter.rule_counts import RuleCounts
from emberlog.engines.runner import Backend, Outcome, Runner
from emberlog.language.faults import Fault
from emberlog.language.registry import Functions
from emberlog.language.values import shown
from emberlog.logical.needed_strata import needed_strata
from emberlog.logical.nodes import Definition, Field, Fixpoint, LogicalPlan, Plan, PlannedStratum, Version
from emberlog.logical.python_evaluation import error_in_relation
from emberlog.semantics.model import CellValue, CheckedQuery, Fact
from emberlog.syntax.ast import Constant, Parameter, Variable
from emberlog.workers.fixpoint.profile import Profile
from emberlog.workers.plan.faults import Refused

_PYTHON_TYPES: Mapping[DataType, tuple[type, ...]] = {
    INT: (int,),
    FLOAT: (float, int),
    STRING: (str,),
    BOOL: (bool,),
    TIMESTAMP: (int, float),
    DATE: (int,),
    DURATION: (int,),
}


def read_input(name: str, columns: Sequence[Field], inputs: Mapping[str, Iterable[Fact]]) -> frozenset[Fact]:
    if name not in inputs:
        guess = nearest(name, inputs)
        notes = [f"did you mean `{guess}`? facts were given for it"] if guess else []
        raise fail("DL401", f"there are no facts for the relation `{name}`", None, *notes)
    facts = [tuple(fact) for fact in inputs[name]]
    for fact in facts:
        if len(fact) != len(columns):
            raise fail(
                "DL402",
                f"a fact of `{name}` has {len(fact)} values, but the program uses {len(columns)}",
                None,
                f"the fact is {name}({', '.join(map(shown, fact))})",
            )
    by_column = [_column(name, field, [fact[i] for fact in facts]) for i, field in enumerate(columns)]
    return frozenset(zip(*by_column, strict=True))


def _column(name: str, field: Field, values: Sequence[CellValue]) -> Sequence[CellValue]:
    is_float = field.type == FLOAT or (not field.type.is_known and any(type(value) is float for value in values))
    accepted = _PYTHON_TYPES.get(FLOAT if is_float else field.type)
    for value in values:
        if value is None or accepted is None:
            continue
        if type(value) not in accepted or not _is_in_range(value):
            raise _misfit(name, field, value)
    return [_as_float(name, field, value) for value in values] if is_float else values


def _as_float(name: str, field: Field, value: CellValue) -> CellValue:
    """Returns the same number as a float, with one zero."""
    if not isinstance(value, int | float):
        return value
    if float(value) != value:
        raise fail("DL506", f"{value:,} in the column `{field.name}` of `{name}` has no equal float")
    return float(value) + 0.0


def _is_in_range(value: CellValue) -> bool:
    match value:
        case float():
            return math.isfinite(value)
        case int():
            return INT_MIN <= value <= INT_MAX
        case _:
            return True


def _misfit(name: str, field: Field, value: CellValue) -> EmberlogError:
    return fail("DL403", f"{shown(value)} in the column `{field.name}` of `{name}` does not fit its type {field.type}")


INTERPRETER = "the plan interpreter"
"""What the executor is called where people read of it."""


def run(
    plan: LogicalPlan,
    inputs: Mapping[str, Iterable[Fact]],
    limits: Limits = DEFAULT_LIMITS,
    saw: Callable[[Plan, int], None] = lambda *_: None,
) -> dict[str, frozenset[Fact]]:
    """Returns the facts of every output, restricted by the queries. `saw` hears how many rows each node gives."""
    _, names = needed_strata(plan)
    known = {name: read_input(name, plan.inputs[name], inputs) for name in plan.inputs if name in names}
    backend = _Interpreter(plan, known, Watch(limits, saw=saw))
    return Runner(plan, backend, None).run()


class Known(Facts):
    """Gives operators the relations that are complete."""

    def __init__(self, rows: Callable[[str], Rows]) -> None:
        self._rows = rows

    def read(self, relation: str, version: Version) -> Rows:
        if version is not Version.FULL:
            raise InternalError(f"DL902: {relation} is complete and has no {version.value} version")
        return self._rows(relation)


class _Interpreter(Backend[frozenset[Fact]]):
    """Computes every stratum in plain Python."""

    without_workers = ("interpreter", INTERPRETER)

    def __init__(self, plan: LogicalPlan, known: dict[str, frozenset[Fact]], watch: Watch) -> None:
        self._plan = plan
        self._known = known
        self._watch = watch

    def has(self, relation: str) -> bool:
        return relation in self._known

    def begin(self, stratum: PlannedStratum) -> None:
        self._watch.enter(stratum.index, stratum.relations)

    def compute(self, stratum: PlannedStratum, refused: Refused | None) -> Outcome[frozenset[Fact]]:
        found = run_stratum(stratum, Known(self._known.__getitem__), self._watch, self._plan.functions)
        return Outcome(found, {name: len(facts) for name, facts in found.items()})

    def take(self, stratum: PlannedStratum, outcome: Outcome[frozenset[Fact]]) -> None:
        self._watch.leave(sum(outcome.rows.values()))
        self._known.update(outcome.relations)

    def answer(self, relation: str) -> frozenset[Fact]:
        return answers(self._plan, relation, self._known[relation])


def run_stratum(
    stratum: PlannedStratum,
    known: Facts,
    watch: Watch,
    functions: Functions,
    histories: Histories | None = None,
    profile: Profile | None = None,
) -> dict[str, frozenset[Fact]]:
    """Returns the facts of the relations of a stratum. `histories` are filled, and rules are counted in `profile`, if
    any."""
    match stratum.root:
        case Definition(relation, plan):
            counting = RuleCounts(Operators(known, watch, functions), profile)
            parts = counting.divided(plan, is_set=True)
            try:
                given = counting.rows(parts, relation, 0)
                since = perf_counter()
                found = frozenset(given[0]) if len(given) == 1 else frozenset().union(*given)
                counting.keep(parts, given, relation, 0, found, perf_counter() - since)
                return {relation: found}
            except Fault as fault:
                raise error_in_relation(fault, relation, rule_names((plan,))) from None
        case Fixpoint():
            return run_fixpoint(stratum.root, known, watch, functions, histories, profile)
    assert_never(stratum.root)


def answers(plan: LogicalPlan, name: str, facts: frozenset[Fact]) -> frozenset[Fact]:
    """Returns those facts of an output that the queries ask for."""
    if not plan.queries:
        return facts
    return asked_facts([query for query in plan.queries if query.relation == name], facts)


def asked_facts(queries: Sequence[CheckedQuery], facts: frozenset[Fact]) -> frozenset[Fact]:
    """Returns those facts of a relation that one of its queries asks for."""
    return frozenset(fact for fact in facts if any(_agrees(query, fact) for query in queries))


def _agrees(query: CheckedQuery, fact: Fact) -> bool:
    bound: dict[str, CellValue] = {}
    for term, value in zip(query.terms, fact, strict=True):
        match term:
            case Constant(wanted):
                if not _is_equal(wanted, value):
                    return False
            case Variable(variable):
                if variable in bound and not _is_equal(bound[variable], value):
                    return False
                bound[variable] = value
            case Parameter(parameter):
                raise InternalError(f"DL902: the parameter ${parameter} has no value")
            case _:
                assert_never(term)
    return True


def _is_equal(one: CellValue, other: CellValue) -> bool:
    """Tells whether two values are equal. Null equals nothing."""
    return one is not None and one == other
