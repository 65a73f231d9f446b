"""An outline as a tree in the terminal: facts on the left, where they come from on the right."""

from __future__ import annotations

from collections.abc import Iterator

from emberlog.provenance.outline import Kind, Node, Outline
from emberlog.provenance.wording import bindings_text

WIDEST = 60
"""Facts that are longer do not push the right side away."""

REPEATED = "as above"
HOLDS = "holds"


def outline_text(drawn: Outline) -> str:
    """Without a final line break."""
    lines = list(_lines(drawn))
    width = max((len(left) for left, _ in lines if len(left) <= WIDEST), default=0)
    return "\n".join(f"{left:<{width}}   {right}".rstrip() for left, right in lines)


def _lines(drawn: Outline) -> Iterator[tuple[str, str]]:
    """Both sides of each line. A fact is proved where it stands first."""
    shown: set[int] = set()
    pending: list[tuple[int, str, str]] = [(0, "", "")]
    while pending:
        place, first, rest = pending.pop()
        node = drawn.nodes[place]
        if place in shown and node.children:
            yield f"{first}{node.text}", f"{node.how}, {REPEATED}" if node.how else REPEATED
            continue
        shown.add(place)
        yield f"{first}{node.text}", _right(node)
        last = len(node.children) - 1
        for number in range(last, -1, -1):
            branch, below = ("└ ", "  ") if number == last else ("├ ", "│ ")
            pending.append((node.children[number], rest + branch, rest + below))


def _right(node: Node) -> str:
    if node.kind in (Kind.CONDITION, Kind.ABSENCE):
        return HOLDS
    return "   ".join(part for part in (node.how, bindings_text(node.hidden)) if part)
