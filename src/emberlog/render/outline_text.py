"""Shows an outline as a tree in the terminal: facts on the left, where they come from on the right."""

from __future__ import annotations

from collections.abc import Iterator

from emberlog.render.outline import Kind, Node, Outline, rows
from emberlog.render.wording import bindings_text

WIDEST = 60
"""Facts that are longer do not push the right side away."""

REPEATED = "as above"
HOLDS = "holds"


def outline_text(drawn: Outline) -> str:
    """Returns the text without a final line break."""
    lines = list(_lines(drawn))
    width = max((len(left) for left, _ in lines if len(left) <= WIDEST), default=0)
    tree = [f"{left:<{width}}   {right}".rstrip() for left, right in lines]
    return "\n".join((*tree, *(("", *drawn.remarks) if drawn.remarks else ())))


def _lines(drawn: Outline) -> Iterator[tuple[str, str]]:
    """Yields both sides of each line. A fact is proved where it stands first."""
    below: list[str] = []
    """By level, what stands before everything that is below the row there."""
    for row in rows(drawn):
        node = drawn.nodes[row.place]
        del below[row.level :]
        before = below[-1] if below else ""
        branch, line = ("└ ", "  ") if row.is_last else ("├ ", "│ ")
        if row.level == 0:
            branch = line = ""
        below.append(before + line)
        yield f"{before}{branch}{node.text}", repeated_text(node) if row.is_repeated else right_text(node)


def repeated_text(node: Node) -> str:
    return f"{node.how}, {REPEATED}" if node.how else REPEATED


def right_text(node: Node) -> str:
    if node.kind in (Kind.CONDITION, Kind.ABSENCE):
        return HOLDS
    return "   ".join(part for part in (node.how, bindings_text(node.hidden)) if part)
