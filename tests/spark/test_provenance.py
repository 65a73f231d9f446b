"""Provenance on Spark: the same answers as in this process, whoever runs the recursion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import emberlog
from emberlog.config import Execution

PROGRAM = """
hcc(X, X) :- arc(X, _).
hcc(Y, min<Z>) :- hcc(X, Z), arc(X, Y).
cc(countd<Y>) :- hcc(_, Y).
tc(X, Y) :- arc(X, Y).
tc(X, Y) :- tc(X, Z), arc(Z, Y).
start(X) :- arc(X, _), !tc(_, X).
@iterations(3)
rank(X, sum<V>) :- arc(X, _), V = 0.5.
rank(Y, sum<V>) :- rank(X, R), arc(X, Y), V = 0.5 * R.
"""
ARCS = [(1, 2), (2, 3), (3, 4), (5, 6), (7, 8)]


def answers(result: emberlog.Result[Any]) -> list[str]:
    return [
        str(answer)
        for answer in (
            result.why("hcc", (4, 1)),
            result.why("tc", (1, 4)),
            result.why("start", (5,)),
            result.why("cc", (3,)),
            result.why("rank", (3, None)),
            result.why_not("tc", (5, 1)),
            result.why_not("rank", (9, None)),
            result.trace("hcc"),
            result.trace("rank", (3, None)),
        )
    ]


@pytest.fixture(scope="module")
def expected() -> list[str]:
    db = emberlog.Database(engine="local")
    db["arc"] = ARCS
    return answers(db.datalog(PROGRAM, provenance=True))


@pytest.mark.parametrize(
    "execution",
    [Execution(), Execution(executor="dataframe"), Execution(through_spark=True)],
    ids=["cyclic", "dataframe", "through-spark"],
)
def test_answers_are_those_of_this_process(spark: SparkSession, execution: Execution, expected: list[str]) -> None:
    db = emberlog.Database(spark)
    db["arc"] = ARCS
    with db.datalog(PROGRAM, provenance=True, execution=execution) as result:
        assert answers(result) == expected
        history = result.history("tc")
        assert history.columns == ["X", "Y", "iteration"]
        assert {tuple(row) for row in history.where("X = 1").collect()} == {(1, 2, 0), (1, 3, 1), (1, 4, 2)}


def test_facts_are_written_with_their_iterations(spark: SparkSession, tmp_path: Path) -> None:
    db = emberlog.Database(spark)
    db["arc"] = ARCS
    with db.datalog(f"{PROGRAM} tc(1, Y)? hcc(X, Y)? rank(X, Y)? start(X)?", provenance=True) as result:
        assert result.origin("tc", (1, 4)).by == "r5"
        result.write(tmp_path / "out", "parquet", iterations=True)
    read = {name: spark.read.parquet(str(tmp_path / "out" / name)) for name in ("tc", "hcc", "rank", "start")}
    assert {tuple(row) for row in read["tc"].collect()} == {(1, 2, 0), (1, 3, 1), (1, 4, 2)}
    assert (4, 1, 3) in {tuple(row) for row in read["hcc"].collect()}
    assert {row["iteration"] for row in read["rank"].collect()} <= {1, 2, 3}
    assert read["start"].columns == ["X"]


@pytest.mark.parametrize("executor", ["auto", "dataframe"])
def test_a_query_restricts_what_is_recorded_and_no_answer(spark: SparkSession, executor: str) -> None:
    text = "sg(X, Y) :- arc(P, X), arc(P, Y), X != Y. sg(X, Y) :- arc(A, X), sg(A, B), arc(B, Y)."
    arcs = [(node, 2 * node + side) for node in range(15) for side in (1, 2)]
    local, there = emberlog.Database(engine="local"), emberlog.Database(spark)
    local["arc"], there["arc"] = arcs, arcs
    whole = local.datalog(text, provenance=True)
    with there.datalog(f"{text} sg(30, Y)?", provenance=True, execution=Execution(executor=executor)) as result:
        assert result["sg"].count() == 15
        assert result.history("sg").count() == 1 + 3 + 7 + 15
        for fact in ((30, 15), (15, 30)):  # asked for by the query, and by nobody
            assert str(result.why("sg", fact)) == str(whole.why("sg", fact))
        assert str(result.why_not("sg", (30, 2))) == str(whole.why_not("sg", (30, 2)))
