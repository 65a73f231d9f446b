"""A session of the studio whose runs are on Spark: they are stopped at once, and leave Spark fit for the next one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from emberlog.database import Database
from emberlog.studio.answers import SparkAnswer, View
from emberlog.studio.runs import State
from emberlog.studio.session import Session

ENDLESS = "n(0). n(Y) :- n(X), Y = X + 1."
REACH = "reach(X, Y) :- arc(X, Y).\nreach(X, Z) :- reach(X, Y), arc(Y, Z).\n"


@pytest.fixture
def session(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    made = Session(REACH)
    monkeypatch.setattr(made.data, "_spark", Database(spark))
    made.engine = "spark"
    yield made
    made.close()


def wait_until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.05)


def stopped_and_run_again(session: Session, spark: SparkSession) -> None:
    session.text = ENDLESS
    run = session.start()
    wait_until(lambda: any(one.iterations for one in run.profile.strata))
    assert session.is_running, run.problems
    session.stop()
    assert run.wait(0) and run.state is State.STOPPED
    assert run.leave(60)
    wait_until(lambda: not spark.sparkContext.statusTracker().getActiveJobsIds())
    session.text = "a(1). a(2). b(X, Y) :- a(X), a(Y), X < Y."
    following = session.start()
    assert following.wait(120) and following.state is State.DONE, following.problems
    assert session.answer("b").page(View(), 0, 5).rows == ((1, 2),)


def test_a_job_of_workers_is_stopped(session: Session, spark: SparkSession) -> None:
    stopped_and_run_again(session, spark)


@pytest.mark.in_driver
def test_what_the_driver_computes_is_stopped(session: Session, spark: SparkSession) -> None:
    stopped_and_run_again(session, spark)


def test_an_answer_on_spark_is_sorted_filtered_written_and_proved(session: Session, tmp_path: Path) -> None:
    path = tmp_path / "arc.csv"
    path.write_text("1,2\n2,3\n3,4\n")
    session.data.register("arc", path)
    run = session.start()
    assert run.wait(120) and run.state is State.DONE, run.problems
    answer = session.answer("reach")
    assert isinstance(answer, SparkAnswer)
    assert answer.page(View(sort=1, is_descending=True), 0, 1).rows[0][1] == 4
    assert answer.page(View(filters=((0, ">= 2"),)), 0, 9).matching == 3
    assert sorted(session.export("reach", "csv").read_text().split())[0] == "1,2"
    assert "arc(2, 3)" in str(session.why("reach", (1, 4)))
