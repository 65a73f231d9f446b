"""Parameters of every usual type, from Python and on the command line."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pandas as pd
import pytest

from emberlog import Database, EmberlogError
from emberlog.cli.parameters import parse_value
from emberlog.datatypes import DATE, DURATION, TIMESTAMP
from emberlog.syntax.ast import Constant

MOMENT = datetime(2026, 1, 5, 10, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("given", "wanted", "type_"),
    [
        (1, 1, "int"),
        (True, True, "bool"),
        ("a", "a", "string"),
        (-0.0, 0.0, "float"),
        (np.int64(1), 1, "int"),
        (np.int8(-1), -1, "int"),
        (np.float64(0.5), 0.5, "float"),
        (np.float32(0.5), 0.5, "float"),
        (np.bool_(True), True, "bool"),
        (np.str_("a"), "a", "string"),
        (MOMENT, MOMENT, "timestamp"),
        (MOMENT.replace(tzinfo=None), MOMENT, "timestamp"),
        (MOMENT.astimezone(timezone(timedelta(hours=5))), MOMENT, "timestamp"),
        (pd.Timestamp(MOMENT), MOMENT, "timestamp"),
        (np.datetime64("2026-01-05T10:30"), MOMENT, "timestamp"),
        (date(2026, 1, 5), date(2026, 1, 5), "date"),
        (timedelta(hours=2), timedelta(hours=2), "duration"),
        (pd.Timedelta(hours=2), timedelta(hours=2), "duration"),
    ],
)
def test_a_parameter_is_the_value_that_is_given(given: object, wanted: object, type_: str) -> None:
    db = Database(engine="local")
    found = db.datalog("p(X) :- q(_), X = $k. q(1).", params={"k": given})["p"]
    assert found.collect() == [(wanted,)]
    assert type(found.collect()[0][0]) is type(wanted)
    assert str(found.types[0]) == type_


def test_parameters_in_queries_and_conditions() -> None:
    db = Database(engine="local")
    db["sold"] = [(1, date(2026, 1, 5)), (2, date(2026, 1, 6))]
    assert db.datalog("p(I) :- sold(I, D), D > $day.", params={"day": date(2026, 1, 5)})["p"].collect() == [(2,)]
    assert db.datalog("p(I) :- sold(I, $day).", params={"day": date(2026, 1, 5)})["p"].collect() == [(1,)]
    found = db.datalog("p(I, D) :- sold(I, D). p(I, $day)?", params={"day": np.datetime64("2026-01-06")})
    assert found["p"].collect() == [(2, date(2026, 1, 6))]


def test_null_is_a_value() -> None:
    db = Database(engine="local")
    assert db.datalog("p(coalesce($k, 7)) :- q(_). q(1).", params={"k": None})["p"].collect() == [(7,)]
    assert db.datalog("p(1) :- q(_), is_null($k). q(1).", params={"k": pd.NaT})["p"].collect() == [(1,)]


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ([1, 2], "holds several values"),
        ((1, 2), "holds several values"),
        ({1: 2}, "is a dict, which programs do not know"),
        (object(), "which programs do not know"),
        (2**63, "does not fit in a 64-bit int"),
        (float("nan"), "is not finite"),
        (np.float64("inf"), "is not finite"),
        (pd.Timestamp("2026-01-05 10:30:00.123456789"), "finer than a microsecond"),
        (b"a", "is a bytes, which programs do not know"),
    ],
)
def test_other_values_are_refused(given: Any, complaint: str) -> None:
    with pytest.raises(EmberlogError, match=complaint) as caught:
        Database(engine="local").datalog("p(X) :- X = $k.", params={"k": given})
    assert caught.value.diagnostics[0].code == "DL265"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('date "2026-01-05"', Constant(20458, meant=DATE)),
        ('timestamp "1970-01-01 00:00:01"', Constant(1_000_000, meant=TIMESTAMP)),
        ("3 days", Constant(3 * 86_400_000_000, meant=DURATION)),
        ("null", Constant(None)),
        ("2026-01-05", "2026-01-05"),
        ("some text", "some text"),
        ("a), q(b", "a), q(b"),
    ],
)
def test_constants_on_the_command_line(text: str, wanted: object) -> None:
    assert parse_value(text) == wanted
