"""Dates, timestamps and durations on their way in and out: the moment is the same, whatever holds it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from emberlog import Database, EmberlogError

PROGRAM = """
declare t(i: int, m: timestamp, d: date, l: duration).
p(I, M, D, L) :- t(I, M, D, L).
"""
Row = tuple[int, datetime | None, date | None, timedelta | None]


def random_rows(seed: int, count: int = 200) -> list[Row]:
    """Rows all over the calendar, with nulls."""
    chosen = random.Random(seed)
    rows: list[Row] = []
    for number in range(count):
        moment = datetime(1, 1, 1, tzinfo=UTC) + timedelta(microseconds=chosen.randrange(315_537_897_599_999_999))
        day = date.fromordinal(chosen.randrange(1, date.max.toordinal() + 1))
        length = timedelta(microseconds=chosen.choice([0, 1, -1, chosen.randrange(-(2**63), 2**63)]))
        rows.append(
            (
                number,
                None if chosen.random() < 0.1 else moment,
                None if chosen.random() < 0.1 else day,
                None if chosen.random() < 0.1 else length,
            )
        )
    return rows


def through(data: object, program: str = PROGRAM, **options: Any) -> list[tuple[Any, ...]]:
    """The rows that come out of a program that hands them on."""
    db = Database(engine="local")
    db.register("t", data, **options)
    return sorted(db.datalog(program)["p"].collect(), key=lambda row: row[0])


def table_of(rows: Sequence[Row]) -> pa.Table:
    i, m, d, length = zip(*rows, strict=True)
    return pa.table(
        {
            "i": pa.array(i),
            "m": pa.array(m, pa.timestamp("us", "UTC")),
            "d": pa.array(d, pa.date32()),
            "l": pa.array(length, pa.duration("us")),
        }
    )


@pytest.mark.parametrize("seed", range(3))
def test_python_rows_and_arrow(seed: int) -> None:
    rows = random_rows(seed)
    assert through(rows) == rows
    assert through(table_of(rows)) == rows


def test_types_without_a_declaration() -> None:
    rows = random_rows(9, 20)
    db = Database(engine="local")
    db["t"] = rows
    assert sorted(db.datalog("p(I, M, D, L) :- t(I, M, D, L).")["p"].collect()[:1]) != []
    assert [str(one) for one in db.datalog("p(I, M, D, L) :- t(I, M, D, L).")["p"].types] == [
        "int",
        "timestamp",
        "date",
        "duration",
    ]


def test_files(tmp_path: Path) -> None:
    rows = random_rows(4)
    db = Database(engine="local")
    db["t"] = rows
    result = db.datalog(PROGRAM)
    for kind in ("csv", "tsv", "json", "parquet"):
        result.write(tmp_path / kind, format=kind)
        file = tmp_path / kind / "p" / f"facts.{kind}"
        assert through(file) == rows, kind


def test_text_of_json_is_no_moment_unless_it_is_declared(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text('{"s": "2026-01-05"}\n{"s": "2026-01-06"}\n')
    assert through(tmp_path / "t.json", "p(S) :- t(S).") == [("2026-01-05",), ("2026-01-06",)]
    declared = "declare t(s: date). p(S) :- t(S)."
    assert through(tmp_path / "t.json", declared) == [(date(2026, 1, 5),), (date(2026, 1, 6),)]
    (tmp_path / "t.json").write_text('{"s": "2026-01-05"}\n{"s": "soon"}\n')
    with pytest.raises(EmberlogError, match=r"DL404.*is a date, and `soon` spells none"):
        through(tmp_path / "t.json", declared)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "America/New_York", "+05:30"])
def test_units_and_zones_of_arrow(unit: str, zone: str | None) -> None:
    moment = datetime(2026, 1, 5, 10, 30, tzinfo=UTC)
    number = int(moment.timestamp()) * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    table = pa.table({"m": pa.array([number], pa.int64()).cast(pa.timestamp(unit, zone))})
    assert through(table, "p(M) :- t(M).") == [(moment,)]
    lengths = pa.table({"l": pa.array([number], pa.int64()).cast(pa.duration(unit))})
    assert through(lengths, "p(L) :- t(L).") == [(timedelta(seconds=int(moment.timestamp())),)]


def test_inside_lists_and_pairs() -> None:
    moments = [[date(2026, 1, 5), None], [], None, [date(1, 1, 1)]]
    table = pa.table({"i": [0, 1, 2, 3], "d": pa.array(moments, pa.list_(pa.date32()))})
    assert through(table, "p(I, D) :- t(I, D).") == [
        (0, (date(2026, 1, 5), None)),
        (1, ()),
        (2, None),
        (3, (date(1, 1, 1),)),
    ]
    nanoseconds = pa.array([[1_000, 2_000]], pa.list_(pa.int64())).cast(pa.list_(pa.timestamp("ns")))
    found = through(pa.table({"m": nanoseconds}), "p(M) :- t(M).")
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    assert found == [((epoch + timedelta(microseconds=1), epoch + timedelta(microseconds=2)),)]
    pairs = through([(1, date(2026, 1, 5), timedelta(hours=1))], "p(encd(D, L)) :- t(_, D, L).")
    assert pairs == [((date(2026, 1, 5), timedelta(hours=1)),)]


def test_pandas() -> None:
    moments = pd.Series(pd.to_datetime(["2026-01-05 10:30:00.123456", "NaT", "1969-12-31 00:00:00.0"]))
    for series in (moments.astype("datetime64[ns]"), moments.dt.tz_localize("Europe/Berlin")):
        frame = pd.DataFrame({"i": [0, 1, 2], "m": series, "l": pd.to_timedelta(["1h", "3 days", None])})
        db = Database(engine="local")
        db["t"] = frame
        found = db.datalog("p(I, M, L) :- t(I, M, L).")["p"].to_pandas().sort_values("I", ignore_index=True)
        wanted = series.dt.tz_localize("UTC") if series.dt.tz is None else series.dt.tz_convert("UTC")
        assert list(found["M"].dropna()) == list(wanted.dropna())
        assert found["M"].isna().tolist() == [False, True, False]
        assert list(found["L"].dropna()) == [pd.Timedelta(hours=1), pd.Timedelta(days=3)]


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (datetime(2026, 1, 5, 10, 30), datetime(2026, 1, 5, 10, 30, tzinfo=UTC)),
        (
            datetime(2026, 1, 5, 10, 30, tzinfo=timezone(timedelta(hours=-5))),
            datetime(2026, 1, 5, 15, 30, tzinfo=UTC),
        ),
        (pd.Timestamp("2026-01-05 10:30", tz="Europe/Berlin"), datetime(2026, 1, 5, 9, 30, tzinfo=UTC)),
        (np.datetime64("2026-01-05T10:30", "ns"), datetime(2026, 1, 5, 10, 30, tzinfo=UTC)),
        (np.datetime64("2026-01-05T10:30", "s"), datetime(2026, 1, 5, 10, 30, tzinfo=UTC)),
        (np.datetime64("2026-01-05"), date(2026, 1, 5)),
        (date(2026, 1, 5), date(2026, 1, 5)),
        (timedelta(hours=2), timedelta(hours=2)),
        (pd.Timedelta(hours=2), timedelta(hours=2)),
        (np.timedelta64(2, "h"), timedelta(hours=2)),
        (pd.NaT, None),
        (np.datetime64("NaT"), None),
    ],
)
def test_values_of_python_numpy_and_pandas(value: object, wanted: object) -> None:
    assert through([(0, value)], "p(I, M) :- t(I, M).") == [(0, wanted)]


@pytest.mark.parametrize(
    "data",
    [
        [(0, pd.Timestamp("2026-01-05 10:30:00.123456789"))],
        [(0, np.datetime64("2026-01-05T10:30:00.123456789"))],
        [(0, pd.Timedelta(5, "ns"))],
        [(0, np.timedelta64(5, "ns"))],
        pd.DataFrame({"i": [0], "m": pd.to_datetime(["2026-01-05 10:30:00.123456789"])}),
        pa.table({"i": [0], "m": pa.array([5], pa.int64()).cast(pa.timestamp("ns"))}),
        pa.table({"i": [0], "m": pa.array([5], pa.int64()).cast(pa.duration("ns"))}),
        pa.table({"i": [0], "m": pa.array([[5]], pa.list_(pa.int64())).cast(pa.list_(pa.timestamp("ns")))}),
    ],
)
def test_nanoseconds_are_not_cut_off(data: object) -> None:
    with pytest.raises(EmberlogError, match=r"DL403"):
        through(data, "p(I, M) :- t(I, M).")


def test_moments_outside_the_calendar_are_refused() -> None:
    far = pa.table({"m": pa.array([253_402_300_800], pa.int64()).cast(pa.timestamp("s"))})
    with pytest.raises(EmberlogError, match=r"DL412.*outside the years 1 to 9999"):
        through(far, "p(M) :- t(M).")
    with pytest.raises(EmberlogError, match=r"DL403.*outside the years"):
        through([(0, np.datetime64("12026-01-05T10:30:00", "us"))], "p(I, M) :- t(I, M).")


def test_a_time_of_day_is_no_type() -> None:
    table = pa.table({"m": pa.array([0], pa.int64()).cast(pa.time64("us"))})
    with pytest.raises(EmberlogError, match=r"is of type time.*, which programs do not know"):
        through(table, "p(M) :- t(M).")


def test_parquet_of_others(tmp_path: Path) -> None:
    table = table_of(random_rows(5, 50))
    pq.write_table(table.set_column(2, "d", table["d"].cast(pa.date64())), tmp_path / "t.parquet")
    assert through(tmp_path / "t.parquet") == random_rows(5, 50)


def test_a_relation_may_be_called_like_a_function() -> None:
    db = Database(engine="local")
    db["day"] = [(1,), (2,)]
    assert sorted(db.datalog("p(X) :- day(X).")["p"].collect()) == [(1,), (2,)]
