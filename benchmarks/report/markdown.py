"""A report as Markdown. Plots are in the page beside it; their numbers are in the tables."""

from __future__ import annotations

from typing import assert_never

from benchmarks.report.document import Cell, Document, Figure, Section, Table, Text


def render(document: Document) -> str:
    return "\n\n".join([f"# {document.title}", *(_section(section) for section in document.sections)]) + "\n"


def _section(section: Section) -> str:
    parts = [f"## {section.title}"]
    captions = []
    for block in section.blocks:
        match block:
            case Text():
                parts.append(block.text)
            case Table():
                parts.append(_table(block))
            case Figure():
                captions.append(f"- {block.caption}")
            case _:
                assert_never(block)
    if captions:
        parts.append("\n".join(captions))
    return "\n\n".join(parts)


def _table(table: Table) -> str:
    lines = [_row([_escape(title) for title in table.header]), _row(["---"] * len(table.header))]
    lines += [_row([_cell(cell) for cell in row]) for row in table.rows]
    return "\n".join([*([table.caption, ""] if table.caption else []), *lines])


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(cell: Cell) -> str:
    text = _escape(cell.text)
    return f"**{text}**" if cell.emphasis in ("best", "bad") and text else text


def _escape(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
