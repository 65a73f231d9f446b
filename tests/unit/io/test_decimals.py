"""Decimals on their way in and out: exact, or an error that names the value."""

from __future__ import annotations

import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from emberlog import Database, EmberlogError

D = Decimal
COPY = "p(I, X) :- t(I, X)."
DECLARED = f"declare t(i: int, x: decimal(4)). {COPY}"


def through(data: object, program: str = COPY) -> tuple[str, list[tuple[Any, ...]]]:
    """The type of the last column that comes out of a program that hands rows on, and the rows."""
    db = Database(engine="local")
    db.register("t", data)
    found = db.datalog(program)["p"]
    return str(found.types[-1]), sorted(found.collect(), key=lambda row: row[0])


def column(values: list[Decimal | None], type_: pa.DataType) -> pa.Table:
    return pa.table({"i": range(len(values)), "x": pa.array(values, type_)})


def random_decimals(seed: int, scale: int, count: int = 300) -> list[Decimal | None]:
    chosen = random.Random(seed)
    numbers = [
        chosen.choice([0, 1, -1, chosen.randrange(-(2**63), 2**63), chosen.randrange(-999, 999)]) for _ in range(count)
    ]
    return [None if chosen.random() < 0.1 else D(number).scaleb(-scale) for number in numbers]


@pytest.mark.parametrize("scale", [1, 2, 9, 18])
def test_round_trips(scale: int, tmp_path: Path) -> None:
    values = random_decimals(scale, scale)
    rows = list(enumerate(values))
    type_, found = through(column(values, pa.decimal128(19, scale)))
    assert (type_, found) == (f"decimal({scale})", rows)
    assert through(column(values, pa.decimal128(38, scale)))[1] == rows
    assert through(column(values, pa.decimal256(60, scale)))[1] == rows
    assert through(rows)[1] == rows
    frame = pd.DataFrame({"i": range(len(values)), "x": values})
    assert through(frame)[1] == rows
    db = Database(engine="local")
    db["t"] = rows
    result = db.datalog(COPY)
    assert result["p"].to_arrow().schema.types[-1] == pa.decimal128(19, scale)
    assert [value for value in result["p"].to_pandas().sort_values("I")["X"] if value is not None] == [
        value for value in values if value is not None
    ]
    declared = f"declare t(i: int, x: decimal({scale})). {COPY}"
    for kind in ("csv", "json", "parquet"):
        result.write(tmp_path / kind, format=kind)
        assert through(tmp_path / kind / "p" / f"facts.{kind}", declared)[1] == rows, kind


def test_ids_of_decimals_stay_apart() -> None:
    ids: list[Decimal | None] = [D(90071992547409930), D(90071992547409931)]
    assert through(column(ids, pa.decimal128(20, 0))) == (
        "int",
        [(0, 90071992547409930), (1, 90071992547409931)],
    )
    assert through(list(enumerate(ids)))[1] == [(0, 90071992547409930), (1, 90071992547409931)]


def test_three_times_ten_cents_are_thirty() -> None:
    cents: list[Decimal | None] = [D("0.10")] * 3
    found = through(column(cents, pa.decimal128(10, 2)), "p(0, sum<X>) :- t(_, X).")
    assert found == ("decimal(2)", [(0, D("0.30"))])


def test_wide_columns_have_the_digits_that_are_used() -> None:
    assert through(column([D("1e-18")], pa.decimal128(38, 20)))[0] == "decimal(18)"
    assert through(column([D("5")], pa.decimal128(38, 20)))[1] == [(0, 5)]
    assert through(column([D("0.10"), D("1.005"), None], pa.decimal128(38, 18)))[0] == "decimal(3)"
    assert through(column([D("0.10")], pa.decimal128(38, 18)), DECLARED) == ("decimal(4)", [(0, D("0.1000"))])


def test_declared_scales() -> None:
    assert through(column([D("0.1")], pa.decimal128(10, 2)), DECLARED)[1] == [(0, D("0.1000"))]
    assert through(column([D("0.10000")], pa.decimal128(10, 5)), DECLARED)[1] == [(0, D("0.1000"))]
    assert through([(0, 7)], DECLARED)[1] == [(0, D("7.0000"))]
    assert through([(0, "7.25")], DECLARED)[1] == [(0, D("7.2500"))]
    whole = f"declare t(i: int, x: int). {COPY}"
    assert through(column([D("7.00")], pa.decimal128(10, 2)), whole)[1] == [(0, 7)]


@pytest.mark.parametrize(
    ("data", "program", "told"),
    [
        (column([D("0.10001")], pa.decimal128(10, 5)), DECLARED, "holds 0.10001, which is no number of 64 bits with 4"),
        (column([D("7.50")], pa.decimal128(10, 2)), f"declare t(i: int, x: int). {COPY}", "holds 7.50"),
        (column([D("12345678901234567890.5")], pa.decimal128(38, 18)), COPY, "holds 12345678901234567890.5"),
        (column([D("123456789012345678901")], pa.decimal128(38, 0)), COPY, "holds 123456789012345678901"),
        ([(0, D("1e30"))], COPY, "does not fit in a 64-bit int|does not fit in 64 bits"),
        ([(0, D("NaN"))], COPY, "is not finite"),
        ([(0, D("0.10")), (1, 2**62)], COPY, "holds 4611686018427387904"),
        ([(0, D("0.10")), (1, 0.5)], COPY, "several types"),
        ([(0, 0.5)], DECLARED, "is decimal.4., and the data has double"),
    ],
)
def test_what_does_not_fit_is_told(data: object, program: str, told: str) -> None:
    with pytest.raises(EmberlogError, match=told):
        through(data, program)


def test_inside_lists_and_pairs() -> None:
    data = [(0, [D("0.1"), D("0.25")]), (1, [D("1.125"), None]), (2, [])]
    wanted = [(0, (D("0.100"), D("0.250"))), (1, (D("1.125"), None)), (2, ())]
    assert through(data) == ("list<decimal(3)>", wanted)
    assert through([(0, (1, D("0.5"))), (1, (2, D("0.25")))])[1] == [(0, (1, D("0.50"))), (1, (2, D("0.25")))]


def test_parameters() -> None:
    db = Database(engine="local")
    db["t"] = [(0, D("0.10")), (1, D("0.20"))]
    assert db.datalog("p(I) :- t(I, X), X > $k.", params={"k": D("0.15")})["p"].collect() == [(1,)]
    assert db.datalog("p(I) :- t(I, $k).", params={"k": D("0.1")})["p"].collect() == [(0,)]


def test_floats_that_are_declared() -> None:
    assert through(column([D("0.10")], pa.decimal128(10, 2)), f"declare t(i: int, x: float). {COPY}")[1] == [(0, 0.1)]
