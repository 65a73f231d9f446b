"""A report as one HTML page that needs nothing else: no script, no font, no picture from anywhere."""

from __future__ import annotations

import re
from html import escape
from typing import assert_never

from benchmarks.report.document import Block, Cell, Document, Figure, Section, Table, Text

_STYLE = """
:root {
  color-scheme: light dark;
  --ink: #1c1917; --soft: #57534e; --line: #e7e5e4; --paper: #ffffff; --accent: #c2410c;
}
@media (prefers-color-scheme: dark) {
  :root { --ink: #e7e5e4; --soft: #a8a29e; --line: #3f3b38; --paper: #1c1917; --accent: #fb923c; }
}
body {
  font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 1180px; margin: 2rem auto; padding: 0 1rem;
}
h1 { font-size: 1.7rem; }
h2 { font-size: 1.25rem; margin-top: 2.5rem; border-bottom: 1px solid var(--line); padding-bottom: .3rem; }
nav { columns: 3; font-size: .92rem; } nav a { display: block; color: var(--accent); text-decoration: none; }
p { max-width: 75ch; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .86rem; font-variant-numeric: tabular-nums; }
caption { caption-side: top; text-align: left; color: var(--soft); padding: .3rem 0; }
th, td { padding: .22rem .6rem; border-bottom: 1px solid var(--line); text-align: right; vertical-align: top; }
th { font-weight: 600; vertical-align: bottom; }
th:first-child, td:first-child, .words td, .words th { text-align: left; }
.best { font-weight: 700; color: var(--accent); }
.bad { color: #dc2626; font-weight: 600; } .faint { color: var(--soft); }
figure { margin: .6rem 0; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(520px, 1fr)); gap: 0 2rem; }
 figcaption { color: var(--soft); font-size: .86rem; max-width: 90ch; }
.plot { max-width: 100%; height: auto; }
.plot .grid { stroke: var(--line); } .plot .leader { stroke: var(--line); }
.plot .tick { font-size: 11px; fill: var(--soft); } .plot .label { font-size: 12px; fill: var(--ink); }
.plot .value { font-size: 12px; fill: var(--ink); }
.plot .missing { font-size: 11px; fill: var(--soft); font-style: italic; }
"""


def render(document: Document) -> str:
    links = "\n".join(f"<a href='#{_anchor(s.title)}'>{escape(s.title)}</a>" for s in document.sections)
    sections = "\n".join(
        f"<section id='{_anchor(section.title)}'><h2>{escape(section.title)}</h2>\n{_blocks(section)}</section>"
        for section in document.sections
    )
    return (
        "<!doctype html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>\n"
        f"<title>{escape(document.title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{escape(document.title)}</h1>\n<nav>{links}</nav>\n{sections}\n</body>\n</html>\n"
    )


def _blocks(section: Section) -> str:
    """Plots stand side by side where the window is wide enough."""
    figures = [_block(block) for block in section.blocks if isinstance(block, Figure)]
    others = [_block(block) for block in section.blocks if not isinstance(block, Figure)]
    return "\n".join([*others, *(["<div class='figures'>", *figures, "</div>"] if figures else [])])


def _block(block: Block) -> str:
    match block:
        case Text():
            return f"<p>{_prose(block.text)}</p>"
        case Table():
            return _table(block)
        case Figure():
            return f"<figure>{block.svg}<figcaption>{_prose(block.caption)}</figcaption></figure>"
        case _:
            assert_never(block)


def _table(table: Table) -> str:
    longest = max((len(cell.text) for row in table.rows for cell in row[1:]), default=0)
    kind = " class='words'" if longest > 24 else ""
    caption = f"<caption>{_prose(table.caption)}</caption>" if table.caption else ""
    titles = "".join(f"<th>{escape(title)}</th>" for title in table.header)
    rows = "\n".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in table.rows)
    head = f"<thead><tr>{titles}</tr></thead>" if any(table.header) else ""
    return f"<div class='scroll'><table{kind}>{caption}{head}<tbody>{rows}</tbody></table></div>"


def _cell(cell: Cell) -> str:
    style = f" class='{cell.emphasis}'" if cell.emphasis else ""
    hint = f" title='{escape(cell.hint, quote=True)}'" if cell.hint else ""
    text = escape(cell.text).replace(" ×", "&nbsp;×")
    return f"<td{style}{hint}>{text}</td>"


def _prose(text: str) -> str:
    """Texts are written as in Markdown: `code` and *stress*."""
    return re.sub(r"`([^`]+)`|\*(\w[^*]*)\*", _marked, escape(text, quote=False))


def _marked(found: re.Match[str]) -> str:
    return f"<code>{found[1]}</code>" if found[1] else f"<em>{found[2]}</em>"


def _anchor(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
