"""Values of declared types go in as text and come out as text, from Python as from files."""

from __future__ import annotations

import pytest

import emberlog
from emberlog.diagnostics import EmberlogError
from emberlog.editor.hover import hover_text
from emberlog.editor.symbols import SymbolKind
from emberlog.editor.view import ProgramView
from emberlog.source import Source
from emberlog.syntax.canonical_form import canonical_text
from emberlog.syntax.parser import parse

TREES = """
    type Tree = Leaf(value: int) | Node(left: Tree, right: Tree) | Empty.
    declare tree(id: int, t: Tree).
    part(T) :- tree(_, T).
    part(L) :- part($Node(L, _)).
    part(R) :- part($Node(_, R)).
    total(sum<V>) :- part($Leaf(V)).
"""


@pytest.fixture
def db() -> emberlog.Database[emberlog.LocalRelation]:
    return emberlog.Database(engine="local")


def test_data_is_read_and_answers_are_data_again(db: emberlog.Database[emberlog.LocalRelation]) -> None:
    db["tree"] = [(1, "$Node($Leaf(1),$Leaf( 2 ))"), (2, "$Empty")]
    parts = db.datalog(TREES)
    expected = {("$Node($Leaf(1), $Leaf(2))",), ("$Leaf(1)",), ("$Leaf(2)",), ("$Empty",)}
    assert set(parts["part"].collect()) == expected
    assert parts["total"].collect() == [(3,)]
    db["tree"] = [(number, text) for number, (text,) in enumerate(sorted(expected))]
    assert set(db.datalog(TREES)["part"].collect()) == expected


def test_what_is_no_value_is_told(db: emberlog.Database[emberlog.LocalRelation]) -> None:
    db["tree"] = [(1, "$Leaf(one)")]
    with pytest.raises(EmberlogError) as caught:
        db.datalog(TREES)["total"].collect()
    assert "DL519" in str(caught.value)


def test_questions_ask_for_values(db: emberlog.Database[emberlog.LocalRelation]) -> None:
    db["tree"] = [(1, "$Node($Leaf(1), $Empty)")]
    asked = db.datalog(f"{TREES} part($Leaf(1))? part($Empty)?", provenance=True)
    assert set(asked["part"].collect()) == {("$Leaf(1)",), ("$Empty",)}
    proof = str(asked.why("part", ("$Leaf(1)",)))
    assert "part($Leaf(1))" in proof
    assert "tree(1, $Node($Leaf(1), $Empty))" in proof


def test_a_live_view_follows_values(db: emberlog.Database[emberlog.LocalRelation]) -> None:
    db["tree"] = [(1, "$Leaf(1)")]
    live = db.live(TREES)
    with live.transaction() as change:
        change.insert("tree", [(2, "$Node($Leaf(5), $Empty)")])
    assert live["total"].collect() == [(6,)]


def test_data_is_within_bounds(db: emberlog.Database[emberlog.LocalRelation]) -> None:
    db["level"] = [(3,), (0,)]
    program = "declare level(n: unsigned). declare next(n: unsigned). next(N - 1) :- level(N), N > 0."
    assert db.datalog(program)["next"].collect() == [(2,)]
    db["level"] = [(-1,)]
    with pytest.raises(EmberlogError) as caught:
        db.datalog(program)["next"].collect()
    assert "DL507" in str(caught.value)


def test_declarations_are_printed_as_they_are_read() -> None:
    text = (
        "type Tree = Leaf(value: int, at: date) | Node(left: Tree, right: Tree) | Empty.\n"
        "type city <: string.\n"
        "type `a b` = One(`of x`: decimal(2)).\n"
        "declare p(t: Tree, c: city).\n"
        'p($Node($Empty, $Leaf(1, date "2026-01-05")), "Basel").\n'
        "q(X) :- p($Node(_, $Leaf(X, _)), _), !p($Node(X, _), _).\n"
    )
    assert canonical_text(Source("types.dl", text)) == text


def test_an_editor_knows_branches() -> None:
    view = ProgramView(
        Source("types.dl", "type Tree = Leaf(value: int) | Empty.\np(X) :- q($Leaf(X)), r($Empty, $other).\n")
    )
    kinds = {one.span.text: one.kind for one in view.symbols}
    assert kinds["type"] is SymbolKind.KEYWORD
    assert kinds["Tree"] is SymbolKind.TYPE
    told = {one.span.text: hover_text(view, one) or "" for one in view.symbols if one.kind is SymbolKind.PARAMETER}
    assert "$Leaf(value: int)" in told["$Leaf"]
    assert "A branch of the type `Tree`" in told["$Empty"]
    assert "A parameter" in told["$other"]


def test_a_type_that_was_declared_before_is_known() -> None:
    text = Source("input 2", "declare tree(t: Tree).")
    assert len(parse(text, frozenset({"Tree"})).statements) == 1
    with pytest.raises(EmberlogError, match="DL115"):
        parse(text)
