"""How objects look in notebooks."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import emberlog
from emberlog.datatypes import INT
from emberlog.faces import LINES_SHOWN, face
from emberlog.io.local_relation import LocalRelation
from emberlog.profile import RunProfile
from emberlog.shown import Shown
from tests.unit.render.tags import tags_of

PROGRAM = """\
tc(X, Y) :- arc(X, Y).
tc(X, Z) :- tc(X, Y), arc(Y, Z).
named(N) :- name(_, N).
"""
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def objects() -> dict[str, Any]:
    """One of everything that has a face, all of them about texts that look like HTML."""
    db = emberlog.Database(engine="local")
    db["arc"] = [(n, n + 1) for n in range(60)]
    db["name"] = [(1, HOSTILE), (2, None)]
    profile = RunProfile()
    result = db.datalog(PROGRAM, provenance=True, listener=profile)
    with pytest.raises(emberlog.EmberlogError) as caught:
        db.datalog(f'p(X, Total) :- arc(X, "{HOSTILE}"), Totl = 1.')
    return {
        "database": db,
        "result": result,
        "relation": result["named"],
        "explained": result.explained,
        "plan": result.plan,
        "optimized": result.explained.optimized,
        "program": result.program,
        "checked": result.explained.checked,
        "proof": result.why("tc", (0, 50)),
        "refutation": result.why_not("tc", (5, 1)),
        "trace": result.trace("named"),
        "profile": profile,
        "error": caught.value,
        "warning": emberlog.EmberlogWarning(caught.value.diagnostics[0]),
        "diagnostic": caught.value.diagnostics[0],
    }


NAMES = (
    *("database", "result", "relation", "explained", "plan", "optimized", "program", "checked"),
    *("proof", "refutation", "trace", "profile", "error", "warning", "diagnostic"),
)


@pytest.mark.parametrize("name", NAMES)
def test_a_face_is_whole_and_escaped(objects: dict[str, Any], name: str) -> None:
    bundle = objects[name]._repr_mimebundle_()
    html, text = bundle["text/html"], bundle["text/plain"]
    tags = tags_of(html)
    assert tags.begun["img"] == tags.begun["script"] == tags.begun["iframe"] == 0
    assert objects[name]._repr_html_() == html
    assert "http" not in html and len(html) < 100_000
    assert 0 < len(text.splitlines()) <= LINES_SHOWN + 1
    assert "emberlog." not in text and "Span(" not in text  # no wall of dataclasses
    assert name == "proof" or len(repr(objects[name])) < 3_000


def test_every_class_with_a_face_has_one_of_its_own() -> None:
    def classes(one: type) -> set[type]:
        return {one}.union(*map(classes, one.__subclasses__()))

    from emberlog.faces import card_of

    default = card_of.dispatch(object)
    # A class with slots is made twice, and the first one is nowhere.
    there = [one for one in classes(Shown) - {Shown} if getattr(sys.modules[one.__module__], one.__name__) is one]
    assert len(there) > 12
    assert [one for one in there if card_of.dispatch(one) is default] == []


def test_what_a_notebook_asks_for_is_what_it_gets(objects: dict[str, Any]) -> None:
    assert set(objects["plan"]._repr_mimebundle_(include={"text/plain"})) == {"text/plain"}
    assert set(objects["plan"]._repr_mimebundle_(exclude={"text/plain"})) == {"text/html"}


def test_plans_and_programs_are_short(objects: dict[str, Any]) -> None:
    assert repr(objects["plan"]) == "LogicalPlan(strata tc; named; outputs tc, named)"
    assert repr(objects["program"]) == "Program(<text>: 3 statements)"
    assert str(objects["program"]) == PROGRAM
    assert repr(objects["explained"]) == "Explained(<text>: tc, named, arc, name)"


def test_a_result_shows_its_relations(objects: dict[str, Any]) -> None:
    text = tags_of(face(objects["result"]).html).text
    assert "tc 1,830 facts X int Y int 0 1 0 2 0 3 0 4 0 5 5 of 1,830 shown" in text
    assert f"named 2 facts N string null {HOSTILE}" in text


def test_a_database_shows_what_is_registered(objects: dict[str, Any]) -> None:
    assert "arc c1: int, c2: int 60 name c1: int, c2: string 2" in tags_of(face(objects["database"]).html).text
    assert "no data yet" in face(emberlog.Database(engine="local")).html


def test_a_file_is_not_read_to_be_shown(tmp_path: Any) -> None:
    (tmp_path / "arc.csv").write_text("1,2\n")
    db = emberlog.Database(engine="local")
    db["arc"] = tmp_path / "arc.csv"
    (tmp_path / "arc.csv").unlink()
    assert "arc as programs and files say" in tags_of(face(db).html).text


def test_many_rows_are_not_sorted_to_show_ten(monkeypatch: pytest.MonkeyPatch) -> None:
    relation = LocalRelation(["X"], [INT], [(n,) for n in range(20_000)])
    monkeypatch.setattr(LocalRelation, "first", lambda *_: pytest.fail("that takes a look at all of them"))
    assert "10 of 20,000 shown" in face(relation).html


def test_a_closed_result_says_so() -> None:
    result = emberlog.Database(engine="local").datalog("p(1).")
    result.close()
    assert face(result).html  # what is in this process can still be read
