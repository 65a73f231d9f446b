"""Runs a logical plan in plain Python: hash joins, hash aggregates, semi-naive recursion.

It serves small data and interactive use, and it is the second opinion on plans: it shares nothing with the
oracle, which never sees a plan, so a pass that changes an answer shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import assert_never

from emberlog.config import DEFAULT_LIMITS, Limits
from emberlog.diagnostics import InternalError
from emberlog.engines.interpreter.fixpoint import run_fixpoint
from emberlog.engines.interpreter.inputs import read_input
from emberlog.engines.interpreter.limits import Watch
from emberlog.engines.interpreter.operators import Facts, Operators, Rows, rule_names
from emberlog.language.faults import Fault
from emberlog.language.registry import Functions
from emberlog.logical.needed_strata import needed_strata
from emberlog.logical.nodes import Definition, Fixpoint, LogicalPlan, Plan, Version
from emberlog.logical.python_evaluation import error_in_relation
from emberlog.semantics.model import CellValue, CheckedQuery, Fact
from emberlog.syntax.ast import Constant, Parameter, Variable


def run(
    plan: LogicalPlan,
    inputs: Mapping[str, Iterable[Fact]],
    limits: Limits = DEFAULT_LIMITS,
    saw: Callable[[Plan, int], None] = lambda *_: None,
) -> dict[str, frozenset[Fact]]:
    """The facts of every output, restricted by the queries. `saw` hears how many rows each node of the plan gives."""
    watch = Watch(limits, saw=saw)
    strata, names = needed_strata(plan)
    known = _Known({name: read_input(name, plan.inputs[name], inputs) for name in plan.inputs if name in names})
    for stratum in strata:
        watch.enter(stratum.index, stratum.relations)
        match stratum.root:
            case Definition():
                new = {stratum.root.relation: run_definition(stratum.root, known, watch, plan.functions)}
            case Fixpoint():
                new = run_fixpoint(stratum.root, known, watch, plan.functions)
            case _:
                assert_never(stratum.root)
        watch.leave(sum(map(len, new.values())))
        known.relations.update(new)
    return {name: answers(plan, name, known.relations[name]) for name in plan.outputs}


class _Known(Facts):
    """The relations that are complete."""

    def __init__(self, relations: dict[str, frozenset[Fact]]) -> None:
        self.relations = relations

    def read(self, relation: str, version: Version) -> Rows:
        if version is not Version.FULL:
            raise InternalError(f"DL902: {relation} is complete and has no {version.value} version")
        return self.relations[relation]


def run_definition(definition: Definition, known: Facts, watch: Watch, functions: Functions) -> frozenset[Fact]:
    """The facts of a relation without recursion."""
    try:
        return frozenset(Operators(known, watch, functions).rows(definition.plan))
    except Fault as fault:
        raise error_in_relation(fault, definition.relation, rule_names((definition.plan,))) from None


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
