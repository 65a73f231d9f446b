"""Proofs as graphs and pages."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

import emberlog

PROGRAM = """\
arc("a", "b"). arc("b", "c"). arc("c", "a").
tc(X, Y) :- arc(X, Y).
both: tc(X, Z) :- tc(X, Y), tc(Y, Z), X != "<b>".
"""


@pytest.fixture(scope="module")
def result() -> emberlog.Result[emberlog.LocalRelation]:
    return emberlog.Database(engine="local").datalog(PROGRAM, provenance=True)


Local = emberlog.Result["emberlog.LocalRelation"]


class Tags(HTMLParser):
    """Which tags are open, and how many rows there are."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows: list[dict[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "meta":
            self.open.append(tag)
        if ("role", "treeitem") in attrs:
            self.rows.append(dict(attrs))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def tags_of(page: str) -> Tags:
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    return tags


def test_a_page_has_a_row_for_every_line_of_the_text(result: Local) -> None:
    proof = result.why("tc", ("a", "a"))
    rows = tags_of(proof.to_html()).rows
    assert len(rows) == len(str(proof).splitlines())
    assert [int(row["data-level"] or 0) for row in rows][:3] == [0, 1, 2]
    assert "http" not in proof.to_html()


def test_a_page_escapes_what_programs_say(result: Local) -> None:
    assert "&lt;b&gt;" in result.why("tc", ("a", "a")).to_html()
    assert "<b>" not in result.why("tc", ("a", "a")).to_html()


def test_a_large_page_begins_with_its_upper_rows() -> None:
    db = emberlog.Database(engine="local")
    db["arc"] = [(n, n + 1) for n in range(300)]
    result = db.datalog("reach(0). reach(Y) :- reach(X), arc(X, Y).", provenance=True)
    rows = tags_of(result.why("reach", (300,)).to_html()).rows
    assert len(rows) == 601
    assert sum("hidden" not in row for row in rows) == 13


def test_a_notebook_shows_a_refutation(result: Local) -> None:
    shown = result.why_not("tc", ("a", "z"), depth=2)._repr_html_()
    assert shown.startswith("<iframe") and "why not tc" in shown


@pytest.mark.parametrize("arrow", ["->", "-->"])
def test_a_graph_has_one_node_per_fact(result: Local, arrow: str) -> None:
    proof = result.why("tc", ("a", "a"))
    graph = proof.to_graphviz() if arrow == "->" else proof.to_mermaid()
    nodes = set(re.findall(r"^  (n\d+)\b(?! -)", graph, re.MULTILINE))
    arrows = re.findall(rf"^  (n\d+) {arrow} (n\d+)", graph, re.MULTILINE)
    assert len(nodes) == len(proof.outline.nodes)
    assert len(arrows) == sum(len(node.children) for node in proof.outline.nodes)
    assert {end for pair in arrows for end in pair} <= nodes
