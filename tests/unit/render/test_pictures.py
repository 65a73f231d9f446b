"""The pictures: well-formed, complete, self-contained, and with nothing on top of anything else."""

from __future__ import annotations

import html.parser
import itertools
import re
from xml.etree import ElementTree

import pytest

from emberlog.logical.build import build
from emberlog.logical.connection_graph import build_connection_graph
from emberlog.optimize.pipeline import optimize
from emberlog.render.pages.explanation import explanation_page
from emberlog.render.pictures.drawing import Drawing, DrawnNode, Look, draw_all, draw_connection_graph
from emberlog.render.pictures.graphviz import drawings_dot
from emberlog.render.pictures.layout import LINES_SHOWN, WIDEST, WRAPPED_AT, Box, lay_out, wrapped
from emberlog.render.pictures.mermaid import drawings_mermaid
from emberlog.render.pictures.svg import drawing_svg, drawings_svg
from emberlog.semantics.analysis import analyze
from emberlog.source import Source
from emberlog.syntax.parser import parse

SVG = "{http://www.w3.org/2000/svg}"

TC = "r1: tc(X, Y) :- arc(X, Y).\nr2: tc(X, Y) :- tc(X, Z), arc(Z, Y).\ntc(1, Y)?\n"

PROGRAMS = {
    "tc": TC,
    "components": "hcc(X, X) :- arc(X, _).\nhcc(Y, min<Z>) :- hcc(X, Z), arc(X, Y).\ncc(countd<Y>) :- hcc(_, Y).\n",
    "mutual": "even(0).\neven(X) :- odd(Y), succ(Y, X).\nodd(X) :- even(Y), succ(Y, X), !bad(X).\n",
    "awkward texts": 'p(X, "</text>&<script>") :- e(X, "quote \\" and \\\\ and #quot; and `tick`"), X != "漢字".\n',
    "many rules": "".join(f"p(X, Y) :- e{i}(X, Z), f{i}(Z, Y), Z > {i}.\n" for i in range(30)),
    "many relations": "".join(f"p{i}(X) :- p{i - 1}(X), e(X, _), !p{i // 2}(X).\n" for i in range(1, 40))
    + "p0(X) :- e(X, X).\n",
    "long names": f'{"long_name_" * 9}(X) :- e(X, Y), Y = "{"word " * 90}".\n',
    "facts only": "arc(1, 2).\narc(2, 3).\n",
    "empty": "",
}


def drawings_of(text: str) -> tuple[Drawing, ...]:
    checked = analyze(parse(Source("test.dl", text)), params={})
    return draw_all(build_connection_graph(checked), optimize(build(checked)).plan)


def page_of(text: str, name: str = "test.dl") -> str:
    checked = analyze(parse(Source(name, text)), params={})
    plan = build(checked)
    return explanation_page(checked, build_connection_graph(checked), plan, optimize(plan))


def nodes_of(drawing: Drawing) -> list[DrawnNode]:
    return [node for _, node, _ in drawing.named_nodes()]


every_program = pytest.mark.parametrize("text", list(PROGRAMS.values()), ids=list(PROGRAMS))


@every_program
def test_nothing_overlaps_and_nothing_is_cut(text: str) -> None:
    for drawing in drawings_of(text):
        laid_out = lay_out(drawing)
        assert len(laid_out.boxes) == len(nodes_of(drawing))
        for box in laid_out.boxes:
            assert box.x >= 0 and box.x + box.width <= laid_out.width + 0.01
            assert box.y >= 0 and box.y + box.height <= laid_out.height + 0.01
            for line in box.lines:
                assert 0 < line.x < box.width and 0 < line.y < box.height
        for one, other in itertools.combinations(laid_out.boxes, 2):
            assert not overlap(one, other), f"{one.node.label!r} and {other.node.label!r}"


def overlap(one: Box, other: Box) -> bool:
    beside = one.x + one.width <= other.x or other.x + other.width <= one.x
    return not (beside or one.y + one.height <= other.y or other.y + other.height <= one.y)


@every_program
def test_no_line_crosses_a_box(text: str) -> None:
    """Hanging lines run beside the boxes, the others in the gaps between them."""
    for drawing in drawings_of(text):
        laid_out = lay_out(drawing)
        for edge in laid_out.edges:
            for (x1, y1), (x2, y2) in itertools.pairwise(edge.points):
                middle = ((x1 + x2) / 2, (y1 + y2) / 2)
                assert not any(
                    box.x < middle[0] < box.x + box.width and box.y < middle[1] < box.y + box.height
                    for box in laid_out.boxes
                )


def test_many_children_hang_below_one_another() -> None:
    (graph, *_) = drawings_of(PROGRAMS["many rules"])
    laid_out = lay_out(graph)
    assert laid_out.width <= WIDEST
    rules = [box for box in laid_out.boxes if box.node.look is Look.RULE]
    assert len(rules) == 30
    assert len({box.x for box in rules}) == 1


@every_program
def test_svg_is_well_formed_complete_and_stands_alone(text: str) -> None:
    drawings = drawings_of(text)
    picture = drawings_svg(drawings, "test.dl")
    root = ElementTree.fromstring(picture)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    assert root.attrib["viewBox"].split() == ["0", "0", root.attrib["width"], root.attrib["height"]]
    labels = [element.text for element in root.iter(f"{SVG}title")][1:]
    assert labels == [node.label for drawing in drawings for node in nodes_of(drawing)]
    assert len(list(root.iter(f"{SVG}path"))) == sum(len(nodes_of(d)) - len(d.roots) for d in drawings)
    for element in root.iter(f"{SVG}text"):
        assert 0 <= float(element.attrib["x"]) <= width and 0 <= float(element.attrib["y"]) <= height
    assert external_references(picture) == []


def external_references(text: str) -> list[str]:
    """Whatever a browser could fetch. The name of the SVG namespace is not an address."""
    without_namespace = text.replace('xmlns="http://www.w3.org/2000/svg"', "")
    tags = " ".join(re.findall(r"<[a-z][^>]*>", without_namespace))
    found = re.findall(r"""\b(?:src|href|data|action)=["'](?!#)[^"']*["']""", tags)
    return found + re.findall(r"@import[^;]*|url\([^)]*\)|<link\b[^>]*>", without_namespace)


def test_a_control_character_in_a_file_name_does_not_break_the_svg() -> None:
    ElementTree.fromstring(drawings_svg(drawings_of(TC), "a\x07b<&>.dl"))


class PageReader(html.parser.HTMLParser):
    """Checks that tags are closed in their order, and keeps the text and the ids."""

    VOID = ("meta", "br")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""
        self.ids: list[str] = []
        self.links: list[str] = []
        self.scripts = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        values = dict(attrs)
        self.ids += [values["id"] or ""] if "id" in values else []
        self.links += [values["href"] or ""] if "href" in values else []
        self.scripts += tag == "script"

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Closed at once, as in SVG."""

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@every_program
def test_page_is_well_formed_complete_and_stands_alone(text: str) -> None:
    page = page_of(text)
    reader = PageReader()
    reader.feed(page)
    assert reader.open == []
    assert reader.scripts == 1
    assert external_references(page) == []
    assert {link.removeprefix("#") for link in reader.links} <= set(reader.ids)
    for statement in text.splitlines():
        assert statement in reader.text
    for drawing in drawings_of(text):
        for node in nodes_of(drawing):
            assert node.label in reader.text


def test_page_marks_the_rules_of_the_program() -> None:
    page = page_of(TC)
    assert '<tr data-rule="r1"><td class="em-line">1</td><td class="em-rule">r1</td>' in page
    assert page.count('data-rule="r2"') >= 3  # the line of the program, the rule in the graph, its plan
    assert '<span class="em-digits">1</span>' in page


def test_page_shows_a_part_of_a_very_long_program() -> None:
    page = page_of("".join(f"arc({i}, {i + 1}).\n" for i in range(3_000)))
    assert "… 1,000 more lines" in page


def test_a_picture_is_light_and_dark_in_a_page_as_the_page_is() -> None:
    assert "@media (prefers-color-scheme" not in page_of(TC)
    assert ".em .recursive .box { fill: light-dark(#fff4ea, #33210f); }" in page_of(TC)
    assert drawings_svg(drawings_of(TC), "tc").count("@media (prefers-color-scheme: dark)") == 1


def test_rules_over_several_lines_and_comments_are_listed_line_by_line() -> None:
    page = page_of("/* two\n   lines */\np(X) :-\n    e(X),\n    f(X).\n")
    assert page.count('<tr data-rule="r1">') == 3
    assert '<span class="em-comment">/* two</span>' in page


@every_program
def test_dot_has_every_node_and_balanced_brackets(text: str) -> None:
    drawings = drawings_of(text)
    dot = drawings_dot(drawings, 'a "title"')
    outside = re.sub(r'"(?:[^"\\]|\\.)*"', "", dot)
    assert outside.count("{") == outside.count("}") == 1 + len(drawings)
    assert outside.count("[") == outside.count("]")
    assert len(re.findall(r"\[label=, shape=", outside)) == sum(len(nodes_of(drawing)) for drawing in drawings)
    names = set(re.findall(r"^ *(\w+) \[label", dot, re.MULTILINE))
    for above, below in re.findall(r"^ *(\w+) -> (\w+)", dot, re.MULTILINE):
        assert {above, below} <= names


@every_program
def test_mermaid_has_every_node_and_no_stray_quotes(text: str) -> None:
    drawings = drawings_of(text)
    mermaid = drawings_mermaid(drawings, "test.dl")
    assert mermaid.startswith('---\ntitle: "test.dl"\n---\nflowchart TB\n')
    assert mermaid.count("  subgraph ") == mermaid.count("  end\n") == len(drawings)
    nodes = [line for line in mermaid.splitlines() if ":::" in line]
    assert len(nodes) == sum(len(nodes_of(drawing)) for drawing in drawings)
    for line in nodes:
        assert line.count('"') == 2
        assert not re.search(r"<(?!br/>)", line)


def test_the_roles_stand_on_the_edges() -> None:
    drawings = drawings_of(TC)
    assert '[label="seed"];' in drawings_dot(drawings, "tc")
    assert '-->|"iterate r2"|' in drawings_mermaid(drawings, "tc")
    assert '<text class="role"' in drawing_svg(drawings[1])


def test_the_looks_of_a_connection_graph() -> None:
    checked = analyze(parse(Source("test.dl", TC)))
    drawing = draw_connection_graph(build_connection_graph(checked))
    assert [(node.look, node.code) for node in nodes_of(drawing)] == [
        (Look.GOAL, "tc(1, Y)"),
        (Look.RULE, "tc(X, Y)"),
        (Look.FACTS, "arc(X, Y)"),
        (Look.RECURSIVE_RULE, "tc(X, Y)"),
        (Look.REFERENCE, "tc(X, Z)"),
        (Look.FACTS, "arc(Z, Y)"),
    ]


@pytest.mark.parametrize("text", ["", "short", "word " * 30, "x" * 200])
def test_wrapping(text: str) -> None:
    lines = wrapped(text)
    assert 1 <= len(lines) <= LINES_SHOWN
    assert all(len(line) <= WRAPPED_AT for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


def test_a_very_long_text_is_cut_with_a_mark() -> None:
    assert wrapped("x" * 2_000)[-1] == "…"
