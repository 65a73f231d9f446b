"""Recursions as one job with 1, 3 and 5 workers."""

from __future__ import annotations

import os

import pytest
from pyspark.sql import SparkSession

from emberlog.config import Execution
from emberlog.events import Event, ExecutorChosen
from emberlog.io.facts import in_order, read_facts
from tests.golden.selections import chosen
from tests.golden.test_golden import assert_same_facts
from tests.spark.answers import run_dataframe
from tests.spark.other_sessions.conftest import FIVE_SLOTS

pytestmark = pytest.mark.skipif(
    os.environ.get("EMBERLOG_TEST_SESSION") != FIVE_SLOTS, reason="the session has too few slots"
)

CASES = [case for case in chosen("by workers") if case.expected_answers]
SOME = CASES[::9]


@pytest.mark.parametrize("mode", ["auto", "bsp"])
@pytest.mark.parametrize("workers", [1, 3, 5])
def test_golden_programs(spark: SparkSession, workers: int, mode: str) -> None:
    for case in SOME:
        prepared = case.prepare()
        events: list[Event] = []
        execution = Execution(workers=workers, mode=mode)
        answers = run_dataframe(
            spark, prepared.checked, prepared.inputs, prepared.limits, events.append, execution=execution
        )
        for relation, path in case.expected_answers.items():
            expected = read_facts(path, prepared.checked.relations[relation].columns)
            assert_same_facts(expected, sorted(answers[relation], key=in_order))
        counted = f"{workers} worker{'' if workers == 1 else 's'}"
        assert any(counted in event.how for event in events if isinstance(event, ExecutorChosen)), case.name
