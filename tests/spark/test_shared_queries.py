"""What several relations and answers read is computed once, when the first of them is read."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from pyspark.sql import DataFrame, SparkSession

from emberlog.database import Database
from emberlog.diagnostics import EmberlogError
from emberlog.engines.spark.frames.resources import Kept, Resources
from tests.spark.answers import SERIES_OF_JOBS
from tests.spark.test_in_driver import jobs

pytestmark = pytest.mark.in_driver

TWO = "two(X, Z) :- arc(X, Y), arc(Y, Z).\n"
ARCS = [(1, 2), (2, 3), (3, 4), (2, 5)]
PAIRS = {(1, 3), (1, 5), (2, 4)}


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> list[Kept]:
    """What runs have computed and kept."""
    found: list[Kept] = []
    keep = Resources.keep

    def noted(self: Resources, frame: DataFrame) -> Kept:
        found.append(keep(self, frame))
        return found[-1]

    monkeypatch.setattr(Resources, "keep", noted)
    return found


def rows(frame: DataFrame) -> set[tuple[int, ...]]:
    return {tuple(row) for row in frame.collect()}


@pytest.mark.parametrize(
    ("readers", "is_kept"),
    [
        ("from(X) :- two(X, _).\nto(Y) :- two(_, Y).\nfrom(X)?\nto(X)?\n", True),
        ("from(X) :- two(X, _).\nfrom(X)?\ntwo(X, Y)?\n", True),
        ("from(X) :- two(X, _).\nfrom(X)?\n", False),
        ("two(X, Y)?\n", False),
    ],
    ids=["two relations", "relation and answer", "one relation", "one answer"],
)
def test_a_join_is_kept_for_its_readers(
    database: Database[DataFrame], spark: SparkSession, kept: list[Kept], readers: str, is_kept: bool
) -> None:
    database["arc"] = ARCS
    begun = jobs(spark)
    with database.datalog(TWO + readers, execution=SERIES_OF_JOBS) as result:
        assert jobs(spark) == begun, "nobody has read anything"
        expected = {"from": {(1,), (2,)}, "to": {(3,), (4,), (5,)}, "two": PAIRS}
        for name in result:
            assert rows(result[name]) == expected[name]
        assert [one.rows for one in kept] == ([len(PAIRS)] if is_kept else [])


def test_threads_that_read_answers_at_once_compute_it_once(database: Database[DataFrame], kept: list[Kept]) -> None:
    database["arc"] = ARCS
    program = TWO + "".join(f"from{i}(X) :- two(X, _).\nfrom{i}(X)?\n" for i in range(4))
    with database.datalog(program, execution=SERIES_OF_JOBS) as result, ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda name: rows(result[name]), list(result)))
    assert found == [{(1,), (2,)}] * 4
    assert len(kept) == 1


def test_what_is_not_costly_is_computed_by_each_reader(database: Database[DataFrame], kept: list[Kept]) -> None:
    database["arc"] = ARCS
    program = "far(X, Y) :- arc(X, Y), Y > 2.\nfrom(X) :- far(X, _).\nto(Y) :- far(_, Y).\nfrom(X)?\nto(X)?\n"
    with database.datalog(program, execution=SERIES_OF_JOBS) as result:
        assert rows(result["from"]) == {(2,), (3,)}
    assert not kept


def test_a_fault_has_its_place_when_a_reader_meets_it(database: Database[DataFrame]) -> None:
    database["arc"] = [(1, 2**62), (2**62, 2**62)]
    program = "sum(X, N) :- arc(X, Y), arc(Y, Z), N = Y + Z.\nn(N) :- sum(_, N).\nx(X) :- sum(X, _).\nn(N)?\nx(X)?\n"
    with database.datalog(program, execution=SERIES_OF_JOBS) as result, pytest.raises(EmberlogError) as caught:
        result["x"].collect()
    assert caught.value.diagnostics[0].span is not None
