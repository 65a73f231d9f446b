"""Recursions that outgrow the memory of their workers: they go on on disk, or elsewhere, and say so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

import pytest
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession

from emberlog.config import Execution
from emberlog.database import Database
from emberlog.engines.spark.launcher import Launcher
from emberlog.events import Event, ExecutorChosen, StratumFinished
from emberlog.places import existing_folders
from tests.oracle.evaluate import evaluate
from tests.programs import checked
from tests.spark import saboteurs
from tests.spark.answers import facts_of
from tests.spark.storage import kept_frames

MIB = 1 << 20
TC = "tc(X, Y) :- arc(X, Y).\ntc(X, Y) :- tc(X, Z), arc(Z, Y).\n"


@pytest.fixture
def clean(spark: SparkSession, database: Database) -> Iterator[Database]:
    folders, frames = set(existing_folders()), kept_frames(spark)
    yield database
    # What other tests left may go in the meantime.
    assert set(existing_folders()) <= folders
    assert kept_frames(spark) <= frames


def layered(spark: SparkSession, layers: int, breadth: int, named: str = "{}") -> DataFrame:
    """Every vertex of a layer has an arc to every vertex of the next: few rounds, many facts."""
    size = breadth * breadth
    layer, pair = f"(id div {size})", f"(id % {size})"
    first = named.format(f"({layer} * {breadth} + {pair} div {breadth})")
    second = named.format(f"(({layer} + 1) * {breadth} + {pair} % {breadth})")
    return spark.range((layers - 1) * size).selectExpr(f"{first} AS a", f"{second} AS b")


def choices(events: list[Event]) -> list[tuple[str, str]]:
    return [(event.executor, event.why) for event in events if isinstance(event, ExecutorChosen)]


def facts_known(events: list[Event]) -> int:
    """What the second executor went on from."""
    (first, _), (second, why) = choices(events)
    assert (first, second) == ("cyclic", "dataframe")
    assert "MiB of a worker" in why
    found = re.search(r"it goes on from the ([\d,]+) facts that are known", why)
    return int(found[1].replace(",", "")) if found else 0


def spilled(events: list[Event]) -> str:
    """What the workers say about it."""
    return next(event.spilled for event in events if isinstance(event, StratumFinished))


@pytest.mark.parametrize(
    ("mode", "how"),
    [("bsp", "facts were kept in sections on disk"), ("decomposed", "keys were gone through slice by slice")],
)
def test_three_times_the_memory(clean: Database, mode: str, how: str) -> None:
    """All ways lead through one place: two steps make a few arcs many facts, all of them in one join. A fact takes 27
    bytes at least on one of two workers: its two values, and a place in a table that is at most three quarters full."""
    ways = 2000
    clean["arc"] = [(number, ways) for number in range(ways)] + [(ways, ways + 1 + number) for number in range(ways)]
    size = ways * ways + 2 * ways
    execution = Execution(executor="cyclic", mode=mode, representation="hash", memory=27 * size // 2 // 3)
    events: list[Event] = []
    with clean.datalog(TC, execution=execution, listener=events.append) as result:
        found = result["tc"].selectExpr("count(*)", "min(X)", "max(X)", "max(Y)", "sum(Y - X)")
        through = sum(range(ways + 1, 2 * ways + 1)) * ways - sum(range(ways)) * ways
        to_and_from = 2 * sum(range(1, ways + 1))
        assert found.collect() == [(size, 0, ways, 2 * ways, through + to_and_from)]
    assert how in spilled(events)


def test_texts(clean: Database, spark: SparkSession) -> None:
    """30 MiB of text on each worker, in few facts."""
    clean["arc"] = layered(spark, 2, 120, "concat(repeat('x', 1000), {})").selectExpr("a", "concat(b, uuid()) AS b")
    events: list[Event] = []
    with clean.datalog(TC, execution=Execution(memory=4 * MIB), listener=events.append) as result:
        assert result["tc"].count() == 120 * 120
    assert choices(events)[-1][0] == "dataframe"
    assert "MiB" in choices(events)[-1][1]


def test_wide_relations(clean: Database, spark: SparkSession) -> None:
    """Twelve columns, of which only two move."""
    carried = ", ".join(f"C{number}" for number in range(10))
    values = ", ".join(f"a * {number} AS c{number}" for number in range(10))
    clean["arc"] = layered(spark, 3, 100)
    clean["road"] = layered(spark, 3, 100).selectExpr("a", *values.split(", "), "b")
    way = f"way(X, {carried}, Y) :-"
    program = f"{way} road(X, {carried}, Y).\n{way} way(X, {carried}, Z), arc(Z, Y).\n"
    events: list[Event] = []
    execution = Execution(mode="bsp", representation="hash", memory=6 * MIB)
    with clean.datalog(program, execution=execution, listener=events.append) as result:
        assert result["way"].count() == 30_000
        assert result["way"].where(" OR ".join(f"C{number} != X * {number}" for number in range(10))).count() == 0
    executor, why = choices(events)[-1]
    assert executor == "dataframe"
    assert "it goes on from the " in why


DECLARED = "declare arc(int a, int b, int w).\n"
AGGREGATES = {
    "min": """
        best(X, min<D>) :- X = 0, D = 0.
        best(Y, min<D>) :- best(X, C), arc(X, Y, W), D = C + W.""",
    "argmin": """
        best(X, argmin<D, P>) :- arc(X, P, D), X < 3.
        best(Y, argmin<W, X>) :- best(X, _), arc(X, Y, W).""",
    "msum": """
        best(X, msum<(P, W)>) :- arc(P, X, W), P < 3.
        best(Y, msum<(X, D)>) :- best(X, S), arc(X, Y, W), D = least(S, W).""",
    "mcount": """
        best(X, mcount<P>) :- arc(P, X, _), P < 3.
        best(Y, mcount<X>) :- best(X, N), N >= 1, arc(X, Y, _).""",
}
ROADS = [(a, b, a % 7 + 1) for a, b in pairwise(range(12))] + [(a, (a * 7) % 12, 9) for a in range(12)]


@pytest.fixture
def full_in_the_third_round(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """After the exchange of the seeds and those of two rounds."""
    monkeypatch.setattr(Launcher, "injector", saboteurs.FillMemory(4))
    cloudpickle.register_pickle_by_value(saboteurs)  # type: ignore[no-untyped-call]
    yield
    cloudpickle.unregister_pickle_by_value(saboteurs)  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    ("name", "through_spark"), [*((name, False) for name in AGGREGATES), ("min", True)], ids=[*AGGREGATES, "rows"]
)
def test_contributions_go_on(clean: Database, name: str, through_spark: bool, full_in_the_third_round: None) -> None:
    """Every kind of recursion that only grows or improves is taken over in the middle."""
    clean["arc"] = ROADS
    events: list[Event] = []
    execution = Execution(mode="bsp", through_spark=through_spark)
    with clean.datalog(DECLARED + AGGREGATES[name], execution=execution, listener=events.append) as result:
        assert facts_of(result["best"]) == evaluate(checked(DECLARED + AGGREGATES[name]), {"arc": ROADS})["best"]
    assert facts_known(events) > 0
