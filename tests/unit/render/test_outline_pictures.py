"""Proofs as graphs and pages."""

from __future__ import annotations

import re

import pytest

import emberlog
from tests.unit.render.tags import tags_of

PROGRAM = """\
arc("a", "b"). arc("b", "c"). arc("c", "a").
tc(X, Y) :- arc(X, Y).
both: tc(X, Z) :- tc(X, Y), tc(Y, Z), X != "<b>".
"""


@pytest.fixture(scope="module")
def result() -> emberlog.Result[emberlog.LocalRelation]:
    return emberlog.Database(engine="local").datalog(PROGRAM, provenance=True)


Local = emberlog.Result["emberlog.LocalRelation"]


def test_a_page_has_a_row_for_every_line_of_the_text(result: Local) -> None:
    proof = result.why("tc", ("a", "a"))
    tags = tags_of(proof.to_html())
    assert tags.count("li") == len(str(proof).splitlines())
    assert "http" not in proof.to_html().replace("http-equiv", "")


def test_a_page_escapes_what_programs_say(result: Local) -> None:
    assert "&lt;b&gt;" in result.why("tc", ("a", "a")).to_html()
    assert "<b>" not in result.why("tc", ("a", "a")).to_html()


def test_a_large_page_begins_with_its_upper_rows() -> None:
    db = emberlog.Database(engine="local")
    db["arc"] = [(n, n + 1) for n in range(300)]
    result = db.datalog("reach(0). reach(Y) :- reach(X), arc(X, Y).", provenance=True)
    page = result.why("reach", (300,)).to_html()
    tags = tags_of(page)
    assert tags.deepest < 100  # a browser reads some hundred levels
    assert tags.count("li") == 601 + 13  # thirteen facts go on further below
    assert page.count("continued below") == 13
    assert all(f'id="{anchor}"' in page for anchor in re.findall(r'href="#([^"]+)"', page))


def test_a_notebook_shows_a_refutation(result: Local) -> None:
    shown = result.why_not("tc", ("a", "z"), depth=2)._repr_html_()
    assert tags_of(shown).count("li") > 4 and "why not tc" in shown


@pytest.mark.parametrize("arrow", ["->", "-->"])
def test_a_graph_has_one_node_per_fact(result: Local, arrow: str) -> None:
    proof = result.why("tc", ("a", "a"))
    graph = proof.to_graphviz() if arrow == "->" else proof.to_mermaid()
    nodes = set(re.findall(r"^  (n\d+)\b(?! -)", graph, re.MULTILINE))
    arrows = re.findall(rf"^  (n\d+) {arrow} (n\d+)", graph, re.MULTILINE)
    assert len(nodes) == len(proof.outline.nodes)
    assert len(arrows) == sum(len(node.children) for node in proof.outline.nodes)
    assert {end for pair in arrows for end in pair} <= nodes
