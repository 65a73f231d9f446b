"""Three hundred iterations in a row: nothing grows with their number but what they find."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from pyspark.sql import Column, DataFrame, SparkSession

from emberlog.engines.spark.frames.resources import ConnectCheckpoints, Kept, Resources
from emberlog.events import Event, IterationFinished
from tests.programs import checked
from tests.spark.answers import run_dataframe
from tests.spark.storage import kept_blocks, kept_frames

DISTANCES = """\
declare arc(int a, int b).
near(X, min<D>) :- X = 0, D = 0.
near(Y, min<D>) :- near(X, D1), arc(X, Y), D = D1 + 1.
"""
REACHED = """\
declare arc(int a, int b).
reach(X) :- X = 0.
reach(Y) :- reach(X), arc(X, Y).
"""


@dataclass(frozen=True, slots=True)
class Sizes:
    plan: int
    """Lines of the plan that a round is computed by."""
    lineage: int
    """Lines of the lineage of what it is computed to."""


@pytest.mark.parametrize(
    ("program", "length"),
    [(REACHED, 300), (DISTANCES, 80), pytest.param(DISTANCES, 300, marks=pytest.mark.slow)],
    ids=["set", "short-min", "min"],
)
def test_nothing_grows(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, program: str, length: int) -> None:
    left = kept_frames(spark)  # by other tests
    sizes: list[Sizes] = []
    frames: list[int] = []
    blocks: list[int] = []
    keep = Resources.keep

    def measured(self: Resources, frame: DataFrame, measures: dict[str, Column] | None = None) -> Kept:
        kept = keep(self, frame, measures)
        sizes.append(Sizes(_lines_of_plan(frame), _lines_of_lineage(kept.frame)))
        return kept

    def listen(event: Event) -> None:
        if isinstance(event, IterationFinished):
            frames.append(kept_frames(spark))
            blocks.append(kept_blocks(spark))

    monkeypatch.setattr(Resources, "keep", measured)
    answers = run_dataframe(spark, checked(program), {"arc": [(n, n + 1) for n in range(length)]}, listener=listen)
    assert len(*answers.values()) == length + 1
    assert len(frames) == length + 1
    half = 20 + length // 2
    middle, end = slice(20, half), slice(half, None)
    for series in (frames, blocks, [one.plan for one in sizes], [one.lineage for one in sizes]):
        assert max(series[end]) <= max(series[middle]), series
    assert max(frames) <= 12
    assert kept_frames(spark) <= left


def _lines_of_plan(frame: DataFrame) -> int:
    plan: Any = frame._jdf.queryExecution().analyzed()
    return len(plan.treeString().splitlines())


def _lines_of_lineage(frame: DataFrame) -> int:
    plan: Any = frame._jdf.queryExecution().logical()
    return len(plan.rdd().toDebugString().splitlines())


def test_estimates_do_not_multiply(spark: SparkSession) -> None:
    """A plan's size is estimated as the product of what it joins: squared fifty times, it fills the memory. Also the
    way that Spark Connect has to go knows the real size in the end."""
    for checkpoints in (Resources(spark), ConnectCheckpoints()):
        frame = spark.range(10).toDF("x")
        for _ in range(30):
            other = frame.toDF("y")
            kept = (
                checkpoints.keep(frame.join(other, frame.x == other.y).select("x"))
                if isinstance(checkpoints, Resources)
                else checkpoints.keep(frame.join(other, frame.x == other.y).select("x"), {})
            )
            frame = kept.frame
        statistics: Any = frame._jdf.queryExecution().optimizedPlan().stats()
        assert int(str(statistics.sizeInBytes())) < 10_000
        if isinstance(checkpoints, Resources):
            checkpoints.release_all()
