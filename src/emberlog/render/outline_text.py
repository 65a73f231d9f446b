"""Shows an outline as a tree in the terminal: facts on the left, where they come from on the right."""

from __future__ import annotations

from collections.abc import Iterator

from emberlog.render.outline import Kind, Node, Outline, rows
from emberlog.render.wording import bindings_text
from emberlog.text_widths import SHORTENED, padded, shortened, width_of

WIDEST = 60
"""Facts that are longer do not push the right side away."""

REPEATED = "as above"
HOLDS = "holds"


def outline_text(drawn: Outline, *, width: int | None = None) -> str:
    """Returns the text without a final line break. No line is longer than a `width` that is given."""
    lines = list(_lines(drawn, most=None if width is None else width // 3))
    widest = max((width_of(left) for left, _ in lines if width_of(left) <= WIDEST), default=0)
    tree = [f"{padded(left, widest)}   {right}".rstrip() for left, right in lines]
    whole = tree
    if width is not None:
        behind = max(width_of(right) for _, right in lines)
        longest = max(width_of(left) for left, _ in lines)
        column = min(longest, WIDEST, max(width - behind - 3, width // 2))
        if any(width_of(line) > width for line in tree):
            tree = [_fitted(left, right, column, width) for left, right in lines]
    remarks = [*drawn.remarks, *([SHORTENED] if tree != whole else [])]
    return "\n".join((*tree, *(("", *remarks) if remarks else ())))


def _fitted(left: str, right: str, column: int, width: int) -> str:
    """Returns the line with what is right of it, where there is room, in the column of all lines."""
    room = max(width - width_of(right) - 3, column)
    return shortened(f"{padded(shortened(left, room), column)}   {right}".rstrip(), width)


def _lines(drawn: Outline, most: int | None) -> Iterator[tuple[str, str]]:
    """Yields both sides of each line. A fact is proved where it stands first. What leads to it takes `most` characters:
    of a deeper row, the number of its level and the last of them."""
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
        led = f"{before}{branch}"
        if most is not None and len(led) > most:
            level = f"{row.level} … "
            led = f"{level}{led[len(led) - most + len(level) :]}"
        yield f"{led}{node.text}", repeated_text(node) if row.is_repeated else right_text(node)


def repeated_text(node: Node) -> str:
    return f"{node.how}, {REPEATED}" if node.how else REPEATED


def right_text(node: Node) -> str:
    if node.kind in (Kind.CONDITION, Kind.ABSENCE):
        return HOLDS
    return "   ".join(part for part in (node.how, bindings_text(node.hidden)) if part)
