"""Properties of whole programs: whatever is done on the way to the answer, it is the reference's answer.

`EMBERLOG_EXAMPLES` sets the number of programs for each property.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from emberlog.config import Limits
from emberlog.diagnostics import EmberlogError
from emberlog.engines.interpreter.interpreter import run
from emberlog.logical.build import build
from emberlog.logical.nodes import LogicalPlan
from emberlog.optimize.pipeline import PASS_NAMES, optimize, plan_program
from emberlog.semantics.model import CheckedProgram, CheckedQuery, Fact
from emberlog.streams.steps.culprits import VALUE_FAULTS
from emberlog.syntax.ast import Variable
from emberlog.syntax.printer import print_program
from tests.oracle.evaluate import evaluate
from tests.programs import checked, is_limit, parsed
from tests.property.programs import RandomProgram, reordered
from tests.property.shapes import programs
from tests.statistics import counted

EXAMPLES = int(os.environ.get("EMBERLOG_EXAMPLES", "60"))
LIMITS = Limits(max_iterations=300, max_rows=200_000)
"""Every recursion of these programs ends by itself; the limits are for the day when it does not."""

properties = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)

Answers = dict[str, frozenset[Fact]]

ALL_DIGITS, SURE_DIGITS = 17, 12
"""Of floats that are compared: all, and those that the order of a sum does not touch."""


def outcome(run_it: Callable[[], Answers], digits: int = ALL_DIGITS) -> Answers | str:
    """The answers with the types of their values (1 and 1.0 are equal, but not the same), or that there was an error.

    Which one comes first, when a program has several, is up to the executor.
    """
    try:
        answers = run_it()
    except EmberlogError as error:
        if is_limit(error):
            reject()  # a recursion over floats can go on for ever, and says nothing about plans
        assert all(diagnostic.code in VALUE_FAULTS for diagnostic in error.diagnostics), error
        return AN_ERROR
    return {name: frozenset(_typed(fact, digits) for fact in facts) for name, facts in answers.items()}


def _typed(fact: Fact, digits: int) -> Fact:
    return tuple(f"float {value:.{digits}g}" if isinstance(value, float) else repr(value) for value in fact)


AN_ERROR, PERHAPS_AN_ERROR = "an error", "an error, if anybody computes what it is in"


def by_reference(program: CheckedProgram, random: RandomProgram, digits: int = ALL_DIGITS) -> Answers | str:
    """What the oracle says. It computes everything, also what a query with constants does not ask for: an error there
    need not show."""
    found = outcome(lambda: evaluate(program, random.facts, LIMITS), digits)
    return PERHAPS_AN_ERROR if found == AN_ERROR and any(map(_restricts, program.queries)) else found


def _restricts(query: CheckedQuery) -> bool:
    variables = [term for term in query.terms if isinstance(term, Variable)]
    return len(set(variables)) < len(query.terms)


def by_plan(plan: LogicalPlan, random: RandomProgram) -> Answers | str:
    return outcome(lambda: run(plan, random.facts, LIMITS))


def assert_same(found: Answers | str, expected: Answers | str, what: str) -> None:
    """An engine has the answer, or the error, of the oracle. It may have an answer in place of an error only where a
    query does not ask for everything, and never an error in place of an answer."""
    assert found == expected or expected == PERHAPS_AN_ERROR, what


def read(random: RandomProgram) -> CheckedProgram:
    return checked(random.text, params={})


@given(programs())
@properties
def test_plans_give_the_answer_of_the_reference(random: RandomProgram) -> None:
    """As built, optimised, and with each pass off in turn."""
    program = read(random)
    expected = by_reference(program, random)
    plan = build(program)
    assert_same(by_plan(plan, random), expected, "as built")
    known = counted(program, random.facts)
    for off in (None, *PASS_NAMES):
        optimized = plan_program(program, off=frozenset({off} if off else ()), statistics=known).plan
        assert_same(by_plan(optimized, random), expected, f"without {off}")


@given(programs())
@properties
def test_each_pass_alone_gives_the_answer_of_the_reference(random: RandomProgram) -> None:
    program = read(random)
    expected = by_reference(program, random)
    for on in PASS_NAMES:
        known = counted(program, random.facts)
        optimized = plan_program(program, off=frozenset(PASS_NAMES) - {on}, statistics=known).plan
        assert_same(by_plan(optimized, random), expected, f"only {on}")


@given(programs())
@properties
def test_passes_leave_a_finished_plan_alone(random: RandomProgram) -> None:
    """A second run finds nothing to do: a pass that goes on for ever would hide behind its own changes."""
    once = optimize(build(read(random)), off={"derive_delta_rules"})
    twice = optimize(once.plan, off={"derive_delta_rules"})
    thrice = optimize(twice.plan, off={"derive_delta_rules"})
    assert [change.name for change in thrice.changes if change.changed] == []


@given(programs(), st.sampled_from(("V", "Zz_", "Long")))
@properties
def test_renaming_variables_changes_nothing(random: RandomProgram, prefix: str) -> None:
    other = replace(random, rules=tuple(rule.renamed(prefix) for rule in random.rules))
    expected = by_reference(read(random), random)
    assert by_reference(read(other), other) == expected
    assert_same(by_plan(optimize(build(read(other))).plan, other), expected, "with other names")


@given(programs(), st.data())
@properties
def test_the_order_of_rules_and_bodies_changes_nothing(random: RandomProgram, data: st.DataObject) -> None:
    """Errors do not either: a test protects a division wherever it stands."""
    other = replace(random, rules=reordered(data.draw, random.rules))
    expected = by_reference(read(random), random)
    assert by_reference(read(other), other) == expected
    assert_same(by_plan(optimize(build(read(other))).plan, other), expected, "in another order")


@given(programs())
@properties
def test_printing_and_parsing_gives_the_program_back(random: RandomProgram) -> None:
    program = parsed(random.text)
    printed = print_program(program)
    assert parsed(printed) == program
    assert print_program(parsed(printed)) == printed
