"""The components that pages, cards of notebooks and the studio share, and their style."""

from __future__ import annotations

import re
from itertools import product

import pytest

from emberlog.diagnostics import EmberlogError
from emberlog.render.look.components import Bar, Column, badge, bars, card, columns, facts, fold, keys, table
from emberlog.render.look.diagnostics import diagnostics_card
from emberlog.render.look.html import Html, element, escape, joined
from emberlog.render.look.listings import text_listing
from emberlog.render.look.page import card_output, page, style_sheet, within
from emberlog.render.look.tokens import INKS, PAPERS, SHAPES, TOKENS
from emberlog.render.look.trees import DEEPEST, Branch, tree
from emberlog.semantics.analysis import analyze
from emberlog.source import Source
from emberlog.syntax.parser import parse
from tests.unit.render.tags import tags_of

HOSTILE = "<script>alert('x')</script> & \"q\" \x00"
SHOWN = "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt; &amp; &quot;q&quot; \ufffd"


def luminance(colour: str) -> float:
    """Returns the relative luminance of `#rrggbb`, as the guidelines for accessible pages define it."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted(map(luminance, (one, other)))
    return (lighter + 0.05) / (darker + 0.05)


def test_black_and_white_have_the_largest_contrast() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize(("ink", "paper"), [*product(INKS, PAPERS)])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_ink_can_be_read_on_every_paper(ink: str, paper: str, theme: str) -> None:
    assert contrast(getattr(INKS[ink], theme), getattr(PAPERS[paper], theme)) >= 4.5


@pytest.mark.parametrize(("shape", "paper"), [*product(SHAPES, ("paper", "panel"))])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_shape_can_be_seen(shape: str, paper: str, theme: str) -> None:
    assert contrast(getattr(SHAPES[shape], theme), getattr(PAPERS[paper], theme)) >= 3


def test_the_style_uses_only_colours_that_there_are() -> None:
    used = set(re.findall(r"var\(--([a-z]+)\)", style_sheet()))
    assert used - {"sans", "mono"} <= set(TOKENS)
    assert re.findall(r"#[0-9a-f]{3,8}\b", style_sheet().partition("--sans")[2]) == []
    assert len(style_sheet()) < 14_000  # a notebook keeps it with every output


def test_texts_are_escaped_and_html_is_not() -> None:
    assert element("b", HOSTILE, title=HOSTILE) == f'<b title="{SHOWN}">{SHOWN}</b>'
    assert element("b", element("i", "x")) == "<b><i>x</i></b>"
    assert joined(("<", Html("<br>"), ">"), "&") == "&lt;&amp;<br>&amp;&gt;"
    assert element("details", open=True, id=None, data_rule="r1") == '<details open data-rule="r1"></details>'
    assert not isinstance(Html("<b>") + "<", Html)  # what is put together by hand is a text again


@pytest.mark.parametrize(
    "shown",
    [
        card(HOSTILE, HOSTILE, badges=[badge(HOSTILE)], note=HOSTILE),
        fold(HOSTILE, HOSTILE),
        keys([(HOSTILE, HOSTILE)]),
        table([HOSTILE], [[HOSTILE]], caption=HOSTILE),
        facts([Column(HOSTILE, HOSTILE)], [[HOSTILE], [None]], 5, hint=HOSTILE),
        bars([Bar(HOSTILE, 1.0, HOSTILE, rule=HOSTILE)]),
        columns([1.0], [HOSTILE], first=HOSTILE, last=HOSTILE, largest=HOSTILE),
        Html(page(HOSTILE, HOSTILE, subtitle=HOSTILE, links=[(HOSTILE, HOSTILE)])),
    ],
)
def test_no_component_takes_a_text_for_html(shown: Html) -> None:
    assert SHOWN in shown
    assert "<script>alert" not in shown
    assert tags_of(card_output(shown)).open == []


def test_facts_say_how_many_are_not_shown() -> None:
    shown = tags_of(facts([Column("X", "int", is_number=True)], [["1"], ["2"]], 1204, hint="show(100) has more"))
    assert shown.text == "X int 1 2 2 of 1,204 shown; show(100) has more"
    assert tags_of(facts([Column("X")], [["1"]], 1)).text == "X 1"
    assert tags_of(facts([Column("X")], [["1"]], None)).text == "X 1 the first 1"


def test_bars_are_as_long_as_their_values() -> None:
    shown = bars([Bar("a", 4.0, "4", part=1.0), Bar("b", 0.0, "0")])
    assert re.findall(r"width: ([\d.]+)%", shown) == ["100.00", "25.00"]


def test_columns_share_where_there_are_many() -> None:
    values = [float(n) for n in range(1000)]
    shown = columns(values, [f"v{n}" for n in range(1000)], first="1", last="1,000", largest="999")
    assert shown.count("<li ") == 200
    assert 'title="v999"' in shown and 'title="v998"' not in shown


def chain(length: int) -> Branch:
    below = Branch(Html("end"))
    for number in range(length):
        below = Branch(escaped(f"level {number}"), [below], title=f"level {number}")
    return below


def escaped(text: str) -> Html:
    return Html(escape(text))


def test_a_deep_tree_goes_on_below_itself() -> None:
    shown = tree(chain(5_000), name="t")
    tags = tags_of(shown)
    assert tags.deepest < 4 * DEEPEST
    assert all(f"level {number}<" in shown for number in range(5_000))
    links = re.findall(r'href="#([^"]+)"', shown)
    assert links and re.findall(r'<div id="([^"]+)"', shown) == links


def test_a_diagnostic_has_its_caret() -> None:
    with pytest.raises(EmberlogError) as caught:
        analyze(parse(Source("<p>.dl", 'p(X, Y) :- q(X, "<b>").')))
    shown = diagnostics_card(caught.value.diagnostics)
    assert '1 │ p(X, Y) :- q(X, &quot;&lt;b&gt;&quot;).\n         <span class="em-caret">^</span></pre>' in shown
    assert "&lt;p&gt;.dl:1:6" in shown and "error DL203" in shown


def test_a_program_of_souffle_is_coloured_in_its_own_language() -> None:
    """In ours, a line that begins with a percent sign is a comment."""
    listing = text_listing(Source("p.dl", ".decl a(x:number)\n.decl b(x:number)\na(x) :- b(y), x = y\n  % 2.\n"))
    assert "em-comment" not in listing
    assert '<span class="em-digits">2</span>' in listing


def test_a_theme_is_said_by_an_attribute() -> None:
    assert within("x", theme="dark") == '<div class="ember" data-theme="dark">x</div>'
    assert within("x") == '<div class="ember">x</div>'
