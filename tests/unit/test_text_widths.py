"""Texts that fit a terminal."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

import emberlog
from emberlog.datatypes import INT, STRING
from emberlog.render.answer_text import Answer, answer_text
from emberlog.render.outline_text import outline_text
from emberlog.text_widths import SHORTENED, fitted, shortened, table_lines, terminal_width, width_of

words = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=40)


def test_widths_of_texts() -> None:
    assert [width_of(text) for text in ("abc", "Köln", "Ko\u0308ln", "東京", "")] == [3, 4, 4, 4, 0]


@given(words, st.integers(1, 50))
def test_what_is_shortened_fits(text: str, width: int) -> None:
    short = shortened(text, width)
    assert width_of(short) <= width
    assert short == text or (short.endswith("…") and text.startswith(short[:-1]))


@given(st.lists(st.integers(0, 200), min_size=1, max_size=8), st.integers(10, 200))
def test_columns_fit_or_are_as_narrow_as_they_can_be(widths: list[int], room: int) -> None:
    fixed = fitted(widths, room)
    assert sum(fixed) <= room or max(fixed) <= 4
    assert all(now <= before for now, before in zip(fixed, widths, strict=True))
    assert (fixed == widths) or sum(widths) > room


def test_the_widest_column_gives_first() -> None:
    assert fitted([5, 80, 10], 60) == [5, 45, 10]
    assert fitted([40, 40, 3], 43) == [20, 20, 3]


@given(st.lists(st.lists(words, min_size=3, max_size=3), min_size=1, max_size=6), st.integers(8, 100))
def test_no_line_of_a_table_is_too_long(rows: list[list[str]], width: int) -> None:
    lines, is_cut = table_lines(rows, [False, True, False], width=width, margin="  ")
    assert all(width_of(line) <= width for line in lines)
    whole, was_cut = table_lines(rows, [False, True, False], width=None, margin="  ")
    assert not was_cut
    assert is_cut or lines == whole


def test_an_answer_says_that_it_was_shortened() -> None:
    answer = Answer("p", "p(A, B)", (STRING, INT), (("a" * 59, 1), ("b", 2)), 2)
    assert answer_text(answer, width=30).splitlines() == [
        "p(A, B): 2 facts",
        f"  {'a' * 24}…  1",
        f"  b{' ' * 24}  2",
        f"  ({SHORTENED})",
    ]
    assert answer_text(answer, width=80) == answer_text(answer)


@pytest.mark.parametrize("width", [30, 42, 60, 80])
def test_a_deep_proof_fits(width: int) -> None:
    db = emberlog.Database(engine="local")
    db["arc"] = [(f"a vertex with a long name {n}", f"a vertex with a long name {n + 1}") for n in range(60)]
    result = db.datalog("tc(X, Y) :- arc(X, Y). tc(X, Z) :- tc(X, Y), arc(Y, Z).", provenance=True)
    proof = result.why("tc", ("a vertex with a long name 0", "a vertex with a long name 60"))
    *lines, blank, said = outline_text(proof.outline, width=width).splitlines()
    assert (blank, said) == ("", SHORTENED)
    assert max(map(width_of, lines)) <= width
    assert len(lines) == len(str(proof).splitlines())
    assert lines[59].startswith("59 …")
    assert "tc(" in lines[59] and SHORTENED not in str(proof)


def test_a_trace_fits() -> None:
    result = emberlog.Database(engine="local").datalog('p("' + "x" * 100 + '").', provenance=True)
    trace = result.trace("p")
    assert max(map(width_of, trace.to_text(40).splitlines()[1:-1])) <= 40
    assert "…" not in trace.to_text()


def test_show_fits_the_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    relation = emberlog.Database(engine="local").datalog('p("' + "x" * 100 + '", 1).')["p"]
    relation.show()
    assert "x" * 100 in capsys.readouterr().out
    monkeypatch.setattr("emberlog.io.local_relation.terminal_width", lambda _: 40)
    relation.show()
    out = capsys.readouterr().out.splitlines()
    assert max(map(width_of, out[:-1])) <= 40 and out[-1] == SHORTENED


def test_what_is_no_terminal_has_no_width() -> None:
    assert terminal_width(io.StringIO()) is None
