"""Pages of answers: sorted, filtered and cut where the facts are."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import pyarrow as pa
import pytest

from emberlog.database import Database
from emberlog.datatypes import FLOAT, INT, STRING, TIMESTAMP, list_of
from emberlog.diagnostics import EmberlogError
from emberlog.io.local_relation import LocalRelation
from emberlog.render.answer_text import python_text
from emberlog.studio import answers
from emberlog.studio.answers import LocalAnswer, Page, Problem, View, page_or_problem

ROWS = [(1, "Ulm", 2.5), (2, "Bern", None), (3, "Berlin", 0.5), (4, None, 7.0), (10, "ulm", 1.0)]


def answer() -> LocalAnswer:
    return LocalAnswer("city", LocalRelation(["id", "name", "size"], [INT, STRING, FLOAT], ROWS))


def keys(*filters: tuple[int, str], sort: int | None = None, is_descending: bool = False) -> list[object]:
    view = View(sort, is_descending, filters)
    return [row[0] for row in answer().page(view, 0, 100).rows]


@pytest.mark.parametrize(
    ("column", "text", "expected"),
    [
        (0, "3", [3]),
        (0, " = 3 ", [3]),
        (0, "!=3", [1, 2, 4, 10]),
        (0, ">= 3", [3, 4, 10]),
        (0, "<3", [1, 2]),
        (0, "2..4", [2, 3, 4]),
        (0, "", [1, 2, 3, 4, 10]),
        (1, "ber", [2, 3]),
        (1, "= Ulm", [1]),
        (1, "< C", [2, 3]),
        (1, "null", [4]),
        (1, "!null", [1, 2, 3, 10]),
        (2, "> 0.75", [1, 4, 10]),
        (2, "NULL", [2]),
    ],
)
def test_columns_are_filtered(column: int, text: str, expected: list[int]) -> None:
    assert keys((column, text)) == expected


def test_filters_of_several_columns_hold_together() -> None:
    assert keys((0, ">1"), (1, "u")) == [10]


@pytest.mark.parametrize("text", ["abc", ">", "1..2..3", "!3", ">= x", "9" * 30])
def test_what_is_no_filter_is_told(text: str) -> None:
    found = page_or_problem(answer(), View(filters=((0, text),)), 0, 10)
    assert isinstance(found, Problem)
    with pytest.raises(EmberlogError, match="DL532"):
        answer().page(View(filters=((0, text),)), 0, 10)


def test_columns_are_sorted_with_nulls_last() -> None:
    assert keys(sort=2) == [3, 10, 1, 4, 2]
    assert keys(sort=2, is_descending=True) == [4, 1, 10, 3, 2]
    assert keys(sort=1) == [3, 2, 1, 10, 4]


def test_pages_are_cut_behind_the_order() -> None:
    page = answer().page(View(0, True), 1, 2)
    assert [row[0] for row in page.rows] == [4, 3]
    assert (page.first, page.matching, page.total) == (1, 5, 5)
    assert answer().page(View(), 100, 10).rows == ()


def test_a_filter_says_how_many_match() -> None:
    page = answer().page(View(filters=((0, ">2"),)), 0, 1)
    assert (len(page.rows), page.matching, page.total) == (1, 3, 5)


def test_no_row_is_on_two_pages_even_where_only_a_part_is_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "FULLY_SORTED", 1_000)
    monkeypatch.setattr(answers, "_AHEAD", 5)
    chance = random.Random(3)
    rows = list({(chance.randrange(40), number) for number in range(20_000)})
    chance.shuffle(rows)
    table = pa.table({"a": [one for one, _ in rows], "b": [one for _, one in rows]})
    shown = LocalAnswer("pair", LocalRelation(["a", "b"], [INT, INT], table))
    seen = [row for first in range(0, 300, 7) for row in shown.page(View(0, True), first, 7).rows]
    assert seen == sorted(rows, key=lambda row: (-row[0], row[1]))[: len(seen)]
    assert shown.page(View(0, False), 19_999, 7).rows == (max(rows, key=lambda row: (row[0], row[1])),)


def test_two_views_at_once_do_not_get_each_others_rows() -> None:
    """Pages ask from several threads, and a filter that is typed asks anew before the last answer has come."""
    numbers = list(range(5_000))
    table = pa.table({"a": numbers, "b": numbers[::-1]})
    shown = LocalAnswer("pair", LocalRelation(["a", "b"], [INT, INT], table))

    def first(column: int) -> list[int]:
        views = [View(column, filters=((column, f">= {least}"),)) for least in range(40)]
        return [shown.page(view, 0, 1).rows[0][column] for view in views]

    with ThreadPoolExecutor(4) as pool:
        assert all(found == list(range(40)) for found in pool.map(first, [0, 1, 0, 1]))


def test_many_rows_are_shown_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "ALL_IN_ORDER", 3)
    page = answer().page(View(), 0, 2)
    assert not page.is_in_order
    assert len(page.rows) == 2


def test_moments_are_shown_and_filtered_as_such() -> None:
    relation = LocalRelation(["at"], [TIMESTAMP], [(0,), (1_000_000,)])
    found = LocalAnswer("tick", relation).page(View(filters=((0, "> 1970-01-01 00:00:00"),)), 0, 5)
    assert found.matching == 1
    assert isinstance(found.rows[0][0], datetime)
    assert python_text(found.rows[0][0]).startswith("1970-01-01 00:00:01")


def test_lists_are_shown_and_neither_sorted_nor_filtered() -> None:
    held = LocalAnswer("way", LocalRelation(["w"], [list_of(INT)], [((1, 2),), ((3,),)]))
    page = held.page(View(), 0, 5)
    assert sorted(python_text(row[0]) for row in page.rows) == ["[1, 2]", "[3]"]
    for view in (View(sort=0), View(filters=((0, "1"),))):
        assert isinstance(page_or_problem(held, view, 0, 5), Problem)


def test_a_relation_without_columns_is_one_fact() -> None:
    with Database(engine="local") as database:
        relation = database.datalog("a(1). some() :- a(X).")["some"]
    assert isinstance(LocalAnswer("some", relation).page(View(), 0, 5), Page)


def test_texts_are_shown_without_quotes() -> None:
    assert [python_text(one) for one in ("a", None, True, 1.5, (1, "x"), [None])] == [
        "a", "null", "true", "1.5", "(1, x)", "[null]",
    ]  # fmt: skip
