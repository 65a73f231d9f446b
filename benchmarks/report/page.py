"""A report as one HTML page that needs nothing else: no script, no font, no picture from anywhere. It looks as the
pages of Emberlog do."""

from __future__ import annotations

import re
from typing import assert_never

from benchmarks.report.document import Block, Cell, Document, Figure, Section, Table, Text
from emberlog.render.look.html import Html, element, escape, joined
from emberlog.render.look.page import page, section

_STYLE = """
.ember.ember p { max-width: 75ch; }
.ember.ember .figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(520px, 100%), 1fr));
  gap: 0 2rem; }
.ember.ember figcaption { color: var(--faint); font-size: .86rem; max-width: 90ch; }
.ember.ember table { font-size: .86rem; font-variant-numeric: tabular-nums; margin: 6px 0 12px; }
.ember.ember th { vertical-align: bottom; }
.ember.ember th, .ember.ember td { text-align: right; padding: .22rem .6rem; white-space: normal; }
.ember.ember :is(th, td):first-child, .ember.ember .words :is(th, td) { text-align: left; }
.ember.ember .best { font-weight: 700; color: var(--ember); }
.ember.ember .bad { color: var(--red); font-weight: 600; }
.ember.ember .faint { color: var(--faint); }
.plot { min-width: 520px; max-width: 100%; height: auto; }
.plot :is(.grid, .leader) { stroke: var(--line); }
.plot :is(.tick, .missing) { font-size: 11px; fill: var(--faint); }
.plot :is(.label, .value) { font-size: 12px; fill: var(--ink); }
.plot .missing { font-style: italic; }
"""


def render(document: Document) -> str:
    return page(
        document.title,
        document.title,
        *(section(_anchor(one.title), one.title, _blocks(one)) for one in document.sections),
        links=[(_anchor(one.title), one.title) for one in document.sections],
        style=_STYLE,
        has_script=False,
    )


def _blocks(section: Section) -> Html:
    """Plots stand side by side where the window is wide enough."""
    figures = [_block(block) for block in section.blocks if isinstance(block, Figure)]
    others = [_block(block) for block in section.blocks if not isinstance(block, Figure)]
    return joined([*others, *([element("div", *figures, class_="figures")] if figures else [])], "\n")


def _block(block: Block) -> Html:
    match block:
        case Text():
            return element("p", _prose(block.text))
        case Table():
            return _table(block)
        case Figure():
            plot = element("div", Html(block.svg), class_="em-scroll", tabindex="0", role="region", aria_label="plot")
            return element("figure", plot, element("figcaption", _prose(block.caption)))
        case _:
            assert_never(block)


def _table(table: Table) -> Html:
    longest = max((len(cell.text) for row in table.rows for cell in row[1:]), default=0)
    caption = [element("caption", _prose(table.caption))] if table.caption else []
    titles = element("tr", *(element("th", title, scope="col") for title in table.header))
    head = [element("thead", titles)] if any(table.header) else []
    body = element("tbody", *(element("tr", *map(_cell, row)) for row in table.rows))
    shown = element("table", *caption, *head, body, class_="words" if longest > 24 else None)
    return element("div", shown, class_="em-scroll", tabindex="0", role="region", aria_label="table")


def _cell(cell: Cell) -> Html:
    text = Html(escape(cell.text).replace(" ×", "&nbsp;×"))
    return element("td", text, class_=cell.emphasis or None, title=cell.hint or None)


def _prose(text: str) -> Html:
    """Texts are written as in Markdown: `code` and *stress*."""
    return Html(re.sub(r"`([^`]+)`|\*(\w[^*]*)\*", _marked, escape(text)))


def _marked(found: re.Match[str]) -> str:
    return f"<code>{found[1]}</code>" if found[1] else f"<em>{found[2]}</em>"


def _anchor(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
