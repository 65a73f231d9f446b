"""Every golden case on every executor: one answer for all of them.

A new executor is one line in EXECUTORS.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import pytest

from emberlog.config import Execution
from emberlog.diagnostics import EmberlogError
from emberlog.engines.interpreter import interpreter
from emberlog.engines.local.run import run
from emberlog.io.facts import in_order, read_facts
from emberlog.logical.build import build
from emberlog.logical.connection_graph import build_connection_graph
from emberlog.logical.nodes import LogicalPlan
from emberlog.optimize.pipeline import plan_program
from emberlog.render.plan_text import explain_text
from emberlog.semantics.model import CellValue, Fact
from tests.golden.corpus import GoldenCase, PreparedCase, all_cases, warnings_text
from tests.local_runs import SETUPS, as_relations, run_locally
from tests.oracle import evaluate as reference
from tests.statistics import counted

Answers = Mapping[str, frozenset[Fact]]


def by_workers(execution: Execution) -> Callable[[PreparedCase], Answers]:
    """The cyclic workers in this process; what they cannot run, the interpreter does."""
    return lambda case: run_locally(planned(case), case.inputs, case.limits, execution)


def planned(case: PreparedCase) -> LogicalPlan:
    """By the statistics of its data, as a database would."""
    return plan_program(case.checked, statistics=counted(case.checked, case.inputs)).plan


def by_counting(case: PreparedCase) -> Answers:
    """The interpreter where it is small, as a database would, with every rule counted."""
    plan = planned(case)
    relations = as_relations(plan, case.inputs)
    found = run(plan, relations, case.limits, execution=Execution(profile=True), interpret_small=True)
    return {name: relation.facts for name, relation in found.items()}


EXECUTORS: Mapping[str, Callable[[PreparedCase], Answers]] = {
    "reference": lambda case: reference.evaluate(case.checked, case.inputs, case.limits),
    "interpreter": lambda case: interpreter.run(planned(case), case.inputs, case.limits),
    "counted": by_counting,
    **{name: by_workers(execution) for name, execution in SETUPS.items()},
}

WITH_ANSWERS = [case for case in all_cases() if case.expected_answers]
WITH_ERRORS = [case for case in all_cases() if case.expected_error is not None]
CHECKED_ONLY = [case for case in all_cases() if case.is_checked_only]


def on_every_executor(cases: Sequence[GoldenCase]) -> list[object]:
    return [pytest.param(case, executor, id=f"{case.name}-{executor}") for case in cases for executor in EXECUTORS]


def by_name(case: GoldenCase) -> str:
    return case.name


@pytest.mark.parametrize(("case", "executor"), on_every_executor(WITH_ANSWERS))
def test_answers(case: GoldenCase, executor: str) -> None:
    prepared = case.prepare()
    answers = EXECUTORS[executor](prepared)
    assert sorted(answers) == sorted(case.expected_answers)
    for name, path in case.expected_answers.items():
        expected = read_facts(path, prepared.checked.relations[name].columns)
        assert_same_facts(expected, sorted(answers[name], key=in_order))


@pytest.mark.parametrize("case", WITH_ANSWERS + CHECKED_ONLY, ids=by_name)
def test_warnings(case: GoldenCase) -> None:
    assert warnings_text(case.prepare().checked) == case.expected_check


@pytest.mark.parametrize("case", CHECKED_ONLY, ids=by_name)
def test_stream_programs_are_explained(case: GoldenCase) -> None:
    prepared = case.prepare()
    assert prepared.is_stream
    plan = build(prepared.checked)
    text = explain_text(
        prepared.checked, build_connection_graph(prepared.checked), plan, plan_program(prepared.checked)
    )
    for name in prepared.checked.outputs:
        assert name in text
    # No plan that a pass has improved is what runs.
    assert "\nlogical plan\n" in text and "optimized plan" not in text and "\npasses\n" not in text
    with pytest.raises(EmberlogError, match="DL320"):
        reference.evaluate(prepared.checked, prepared.inputs)


@pytest.mark.parametrize("case", WITH_ERRORS, ids=by_name)
def test_errors(case: GoldenCase) -> None:
    with pytest.raises(EmberlogError) as caught:
        EXECUTORS["reference"](case.prepare())
    assert case.rendered(caught.value) == case.expected_error


@pytest.mark.parametrize(
    ("case", "executor"), on_every_executor([case for case in WITH_ERRORS if case.fails_while_running])
)
def test_errors_while_running(case: GoldenCase, executor: str) -> None:
    """The text may show what an executor met first; the code is the same for all."""
    prepared = case.prepare()
    with pytest.raises(EmberlogError) as caught:
        EXECUTORS[executor](prepared)
    (diagnostic,) = caught.value.diagnostics
    assert f"error[{diagnostic.code}]" in (case.expected_error or "")


def assert_same_facts(expected: Sequence[Fact], actual: Sequence[Fact]) -> None:
    """Floats may differ in their last digits, as a sum depends on the order of its parts."""
    if len(expected) != len(actual) or not all(map(_is_same_fact, expected, actual)):
        assert list(expected) == list(actual)


def _is_same_fact(expected: Fact, actual: Fact) -> bool:
    return len(expected) == len(actual) and all(map(_is_same, expected, actual))


def _is_same(expected: CellValue, actual: CellValue) -> bool:
    if isinstance(expected, float) and isinstance(actual, float):
        return math.isclose(expected, actual, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(expected, tuple) and isinstance(actual, tuple):
        return _is_same_fact(expected, actual)
    return type(expected) is type(actual) and expected == actual


def test_every_case_expects_one_thing() -> None:
    for case in all_cases():
        kinds = [bool(case.expected_answers), case.expected_error is not None, case.is_checked_only]
        assert kinds.count(True) == 1, f"{case.name} needs expected/, expected.err or expected.check"


def test_cases_hold_nothing_that_nobody_reads() -> None:
    known = {
        "program.dl",
        "facts",
        "options.json",
        "expected",
        "expected.err",
        "expected.check",
        "README.md",
        "questions.txt",
    }
    for case in all_cases():
        assert {path.name for path in case.folder.iterdir()} <= known, case.name


def test_the_corpus_is_large_enough() -> None:
    assert len(WITH_ANSWERS) >= 75
    assert len(WITH_ERRORS) >= 45
    areas = Counter(case.folder.parent.name for case in all_cases())
    assert set(areas) >= {
        "papers",
        "recursion",
        "negation",
        "aggregates",
        "functions",
        "basics",
        "queries",
        "examples",
    }
