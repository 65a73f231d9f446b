"""Runs a logical plan in plain Python: hash joins, hash aggregates, semi-naive recursion.

It serves small data and interactive use, and it is the second opinion on plans: it shares nothing with the
oracle, which never sees a plan, so a pass that changes an answer shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import assert_never

from emberlog.config import DEFAULT_LIMITS, Limits
from emberlog.diagnostics import InternalError
from emberlog.engines.interpreter.fixpoint import Histories, run_fixpoint
from emberlog.engines.interpreter.inputs import read_input
from emberlog.engines.interpreter.limits import Watch
from emberlog.engines.interpreter.operators import Facts, Operators, Rows, rule_names
from emberlog.engines.runner import Backend, Outcome, Runner
from emberlog.language.faults import Fault
from emberlog.language.registry import Functions
from emberlog.logical.needed_strata import needed_strata
from emberlog.logical.nodes import Definition, Fixpoint, LogicalPlan, Plan, PlannedStratum, Version
from emberlog.logical.python_evaluation import error_in_relation
from emberlog.semantics.model import CellValue, CheckedQuery, Fact
from emberlog.syntax.ast import Constant, Parameter, Variable
from emberlog.workers.plan.faults import Refused


def run(
    plan: LogicalPlan,
    inputs: Mapping[str, Iterable[Fact]],
    limits: Limits = DEFAULT_LIMITS,
    saw: Callable[[Plan, int], None] = lambda *_: None,
) -> dict[str, frozenset[Fact]]:
    """Returns the facts of every output, restricted by the queries. `saw` hears how many rows each node gives."""
    _, names = needed_strata(plan)
    known = Known({name: read_input(name, plan.inputs[name], inputs) for name in plan.inputs if name in names})
    backend = _Interpreter(plan, known, Watch(limits, saw=saw))
    return Runner(plan, backend, None).run()


class Known(Facts):
    """Holds the relations that are complete."""

    def __init__(self, relations: dict[str, frozenset[Fact]]) -> None:
        self.relations = relations

    def read(self, relation: str, version: Version) -> Rows:
        if version is not Version.FULL:
            raise InternalError(f"DL902: {relation} is complete and has no {version.value} version")
        return self.relations[relation]


class _Interpreter(Backend[frozenset[Fact]]):
    """Computes every stratum in plain Python."""

    without_workers = ("interpreter", "the plan interpreter")

    def __init__(self, plan: LogicalPlan, known: Known, watch: Watch) -> None:
        self._plan = plan
        self._known = known
        self._watch = watch

    def has(self, relation: str) -> bool:
        return relation in self._known.relations

    def begin(self, stratum: PlannedStratum) -> None:
        self._watch.enter(stratum.index, stratum.relations)

    def compute(self, stratum: PlannedStratum, refused: Refused | None) -> Outcome[frozenset[Fact]]:
        found = run_stratum(stratum, self._known, self._watch, self._plan.functions)
        return Outcome(found, {name: len(facts) for name, facts in found.items()})

    def take(self, stratum: PlannedStratum, outcome: Outcome[frozenset[Fact]]) -> None:
        self._watch.leave(sum(outcome.rows.values()))
        self._known.relations.update(outcome.relations)

    def answer(self, relation: str) -> frozenset[Fact]:
        return answers(self._plan, relation, self._known.relations[relation])


def run_stratum(
    stratum: PlannedStratum, known: Facts, watch: Watch, functions: Functions, histories: Histories | None = None
) -> dict[str, frozenset[Fact]]:
    """Returns the facts of the relations of a stratum. `histories` are filled, if any."""
    match stratum.root:
        case Definition(relation, plan):
            try:
                return {relation: frozenset(Operators(known, watch, functions).rows(plan))}
            except Fault as fault:
                raise error_in_relation(fault, relation, rule_names((plan,))) from None
        case Fixpoint():
            return run_fixpoint(stratum.root, known, watch, functions, histories)
    assert_never(stratum.root)


def answers(plan: LogicalPlan, name: str, facts: frozenset[Fact]) -> frozenset[Fact]:
    """Those facts of an output that the queries ask for."""
    if not plan.queries:
        return facts
    return asked_facts([query for query in plan.queries if query.relation == name], facts)


def asked_facts(queries: Sequence[CheckedQuery], facts: frozenset[Fact]) -> frozenset[Fact]:
    """Those facts of a relation that one of its queries asks for."""
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
    """Null equals nothing."""
    return one is not None and one == other
