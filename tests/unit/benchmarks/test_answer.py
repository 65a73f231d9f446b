"""Two answers are the same when their facts are, in whatever order and by whichever engine."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from benchmarks.workloads import answer
from benchmarks.workloads.answer import Answer
from benchmarks.workloads.program import ColumnKind

ROWS = [(1, 2), (3, 4), (5_000_000_000, 6)]


def by_hand(rows: list[tuple[int, int]]) -> int:
    total = 0
    for row in rows:
        mixed = answer.START
        for factor, value in zip(answer.FACTORS, row, strict=False):
            mixed = (mixed + value % answer.PRIME * factor) % answer.PRIME
        total += mixed * mixed % answer.PRIME
    return total


def test_the_definition() -> None:
    assert answer.of_rows(("int", "int"), ROWS) == Answer(3, by_hand(ROWS))


def test_order_does_not_matter_and_pairing_does() -> None:
    kinds: tuple[ColumnKind, ...] = ("int", "int")
    assert answer.of_rows(kinds, ROWS[::-1]) == answer.of_rows(kinds, ROWS)
    assert answer.of_rows(kinds, [(1, 4), (3, 2), (5_000_000_000, 6)]) != answer.of_rows(kinds, ROWS)
    assert answer.of_rows(kinds, [(2, 1), (4, 3), (6, 5_000_000_000)]) != answer.of_rows(kinds, ROWS)


def test_many_rows_are_summed_in_parts() -> None:
    first = np.arange(250_001)
    columns = [first, first * 7 % 1_000]
    assert answer.of_rows(("int", "int"), zip(*columns, strict=True)) == answer.of_columns(("int", "int"), columns)


def test_names_count_by_their_number() -> None:
    assert answer.of_rows(("name",), [("p1",), ("p20",)]) == answer.of_rows(("int",), [(1,), (20,)])


def test_floats_may_differ_a_little() -> None:
    kinds: tuple[ColumnKind, ...] = ("int", "float")
    one = answer.of_rows(kinds, [(1, 0.1), (2, 0.2)])
    assert one.agrees_with(answer.of_rows(kinds, [(2, 0.2 + 1e-12), (1, 0.1)]))
    assert not one.agrees_with(answer.of_rows(kinds, [(1, 0.2), (2, 0.1)]))


def test_nothing_is_an_answer_too() -> None:
    assert answer.of_rows(("int",), []) == Answer(0, 0)
    assert not answer.of_rows(("int",), []).agrees_with(Answer(1, 0))


def test_a_count_alone_is_compared_as_far_as_it_goes() -> None:
    assert Answer(5).agrees_with(Answer(5, 123))
    assert not Answer(5).agrees_with(Answer(6, 123))


@pytest.mark.skipif(importlib.util.find_spec("duckdb") is None, reason="DuckDB is no dependency of Emberlog")
def test_sql_gives_the_same() -> None:
    duckdb = importlib.import_module("duckdb")
    values = ", ".join(map(str, ROWS))
    query = f"SELECT {answer.sql(('int', 'int'), ('a', 'b'))} FROM (VALUES {values}) AS t(a, b)"
    row = duckdb.connect().execute(query).fetchone()
    assert answer.of_sql(("int", "int"), row) == answer.of_rows(("int", "int"), ROWS)


def test_the_java_programs_use_the_same_numbers() -> None:
    for source in (Path(answer.__file__).parents[1] / "engines" / "java").glob("*.java"):
        text = source.read_text(encoding="utf-8").replace("_", "")
        for constant in (answer.PRIME, answer.START, *answer.FACTORS[:3]):
            assert f"{constant}L" in text, f"{source.name} lacks {constant}"
