"""The cases of passes: each is changed by its pass, which changes no answer."""

from __future__ import annotations

import pytest
from benchmarks.pass_cases import CASES, PassCase, measure

from emberlog.database import Database

ENDLESS_WITHOUT = "push_aggregate_into_recursion"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_the_pass_changes_the_plan_and_not_the_answer(case: PassCase) -> None:
    size = 0.2 if case.without == "split_between_joins" else 0.01
    with Database(engine="local") as database:
        for name, rows in case.data(size).items():
            database[name] = rows
        changes = database.check(case.program, params=case.params).optimized.changes
        assert case.without in [change.name for change in changes if change.changed]
    on = measure(case, size, ())
    assert on.answer is not None
    if case.without != ENDLESS_WITHOUT:
        assert measure(case, size, (case.without,)).answer == on.answer


def test_a_run_without_its_pass_that_has_no_end_is_stopped() -> None:
    (case,) = (case for case in CASES if case.without == ENDLESS_WITHOUT)
    assert measure(case, 0.01, (case.without,), timeout=0.3).answer is None
