"""Every golden recursion that only grows or improves, without rounds: in threads, and with mail by chance."""

from __future__ import annotations

import pytest

from emberlog.config import Execution, Limits
from emberlog.io.facts import in_order, read_facts
from emberlog.optimize.pipeline import plan_program
from tests.golden.corpus import GoldenCase
from tests.golden.selections import chosen
from tests.golden.test_golden import assert_same_facts, by_name
from tests.local_runs import run_locally
from tests.simulated_post import simulated

MONOTONE = chosen("without rounds")


def assert_answers(case: GoldenCase, workers: int) -> None:
    prepared = case.prepare()
    # How many local rounds there are is not a property of the program.
    limits = Limits(max_rows=prepared.limits.max_rows)
    execution = Execution(workers=workers, mode="async")
    answers = run_locally(plan_program(prepared.checked).plan, prepared.inputs, limits, execution)
    for name, path in case.expected_answers.items():
        expected = read_facts(path, prepared.checked.relations[name].columns)
        assert_same_facts(expected, sorted(answers[name], key=in_order))


@pytest.mark.parametrize("workers", [1, 2, 3, 5])
@pytest.mark.parametrize("case", MONOTONE, ids=by_name)
def test_answers_in_threads(case: GoldenCase, workers: int) -> None:
    assert_answers(case, workers)


@pytest.mark.parametrize("workers", [1, 2, 3, 5])
@pytest.mark.parametrize("case", MONOTONE, ids=by_name)
def test_answers_by_chance(case: GoldenCase, workers: int) -> None:
    for seed in range(3):
        with simulated(seed):
            assert_answers(case, workers)


def test_many_recursions_can_go_without_rounds() -> None:
    assert len(MONOTONE) >= 40
