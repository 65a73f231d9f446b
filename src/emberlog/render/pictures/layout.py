"""Lays out the nodes of a drawing: a tree that grows downwards, and sideways only as far as a laptop shows.

The children of a node stand side by side below it. When that would be too wide, they hang below one another from
a line on the left instead. Nothing ever overlaps.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from emberlog.render.pictures.drawing import Drawing, DrawnNode

PADDING_X, PADDING_Y = 13.0, 9.0
LINE_HEIGHT = 19.0
GAP_BELOW, GAP_BESIDE = 34.0, 20.0
GAP_HANGING = 18.0
INDENT = 36.0
SPINE = 16.0
"""How far from a node's left edge the line stands from which its children hang."""
STRIP = 8.0
"""How finely outlines are compared."""
CORNER = 20.0
"""The part of a box's upper edge, at either end, where no line should arrive."""
WIDEST = 1180.0
WRAPPED_AT = 44
LINES_SHOWN = 7

CODE_SIZE, HEADING_SIZE, SMALL_SIZE = 13.0, 13.5, 11.5
# Shares of the font size. Fixed-width fonts agree on about 0.6; the others are the widest that systems ship.
CODE_WIDTH, HEADING_WIDTH, SMALL_WIDTH = 0.605, 0.70, 0.62


@dataclass(frozen=True, slots=True)
class TextLine:
    """`kind` is a style: heading, code, condition, note, role or tag."""

    kind: str
    text: str
    x: float
    y: float
    """The base line. Both count from the corner of the box, so that a box can be moved without its lines."""


@dataclass(frozen=True, slots=True)
class Box:
    node: DrawnNode
    x: float
    y: float
    width: float
    height: float
    lines: tuple[TextLine, ...]


@dataclass(frozen=True, slots=True)
class Edge:
    """Holds the points that a connection goes through; a hanging one has a corner."""

    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """Holds boxes and edges in their places. The first box is the root of its tree."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    edges: tuple[Edge, ...]


def lay_out(drawing: Drawing) -> Layout:
    """Lays out a drawing. The roots stand side by side in rows, as many as fit in one."""
    arranger = _Arranger()
    boxes: list[Box] = []
    edges: list[Edge] = []
    x = y = row_height = width = 0.0
    for block in [arranger.subtree(root) for root in drawing.roots]:
        if x > 0 and x + block.width > WIDEST:
            x, y, row_height = 0.0, y + row_height + GAP_BELOW, 0.0
        moved = _moved(block, x, y)
        boxes += moved.boxes
        edges += moved.edges
        width = max(width, x + block.width)
        row_height = max(row_height, block.height)
        x += block.width + 2 * GAP_BESIDE
    return Layout(width, y + row_height, tuple(boxes), tuple(edges))


class _Arranger:
    def __init__(self) -> None:
        self._done: dict[tuple[int, bool], Layout] = {}

    def subtree(self, node: DrawnNode, *, hangs: bool = False) -> Layout:
        """Lays out a node with all below it. Where it hangs from a line on the left, it stands on the left itself."""
        key = (id(node), hangs)
        if key not in self._done:  # a node is tried both ways, and so would be all below it, again and again
            self._done[key] = self._arranged(node, hangs=hangs)
        return self._done[key]

    def _arranged(self, node: DrawnNode, *, hangs: bool) -> Layout:
        box = _box(node)
        if not node.children:
            return Layout(box.width, box.height, (box,), ())
        spread = _spread(box, [self.subtree(child) for child in node.children], centred=not hangs)
        if len(node.children) == 1 or spread.width <= WIDEST:
            return spread
        return _hanging(box, [self.subtree(child, hangs=True) for child in node.children])


def _spread(box: Box, blocks: list[Layout], *, centred: bool) -> Layout:
    """Puts the node above its children, which stand as close together as their outlines allow."""
    top = box.height + GAP_BELOW
    placed: list[Layout] = []
    outline = _Outline()
    for block in blocks:
        moved = _moved(block, outline.room_for(block, top), top)
        outline.add(moved)
        placed.append(moved)
    first, last = placed[0].boxes[0], placed[-1].boxes[0]
    middle = (first.x + first.width / 2 + last.x + last.width / 2) / 2
    leftmost = min(one.x for block in placed for one in block.boxes)
    left = middle - box.width / 2 if centred else leftmost
    shift = -min(left, leftmost)
    node = _moved_box(box, left + shift, 0.0)
    placed = [_moved(block, shift, 0.0) for block in placed]
    edges = [_falling(node, block.boxes[0]) for block in placed]
    boxes = [node, *(one for block in placed for one in block.boxes)]
    width = max(one.x + one.width for one in boxes)
    height = top + max(block.height for block in blocks)
    return Layout(width, height, tuple(boxes), (*edges, *(edge for block in placed for edge in block.edges)))


def _falling(node: Box, child: Box) -> Edge:
    """Returns a line straight down where the child is below the node's middle, otherwise to the child's own middle."""
    start = node.x + node.width / 2
    is_below = child.x + CORNER <= start <= child.x + child.width - CORNER
    return Edge(((start, node.y + node.height), (start if is_below else child.x + child.width / 2, child.y)))


def _hanging(box: Box, blocks: list[Layout]) -> Layout:
    """Puts the children below one another, each joined to a line that falls from the node's left."""
    placed: list[Layout] = []
    edges: list[Edge] = []
    y = box.height + GAP_HANGING
    for block in blocks:
        moved = _moved(block, INDENT, y)
        child = moved.boxes[0]
        middle = child.y + child.height / 2
        edges.append(Edge(((SPINE, box.height), (SPINE, middle), (child.x, middle))))
        placed.append(moved)
        y += block.height + GAP_HANGING
    width = max(box.width, INDENT + max(block.width for block in blocks))
    boxes = (box, *(one for block in placed for one in block.boxes))
    edges += [edge for block in placed for edge in block.edges]
    return Layout(width, y - GAP_HANGING, boxes, tuple(edges))


class _Outline:
    """Records how far right the placed blocks reach, strip by strip from the top."""

    def __init__(self) -> None:
        self._right: dict[int, float] = {}

    def room_for(self, block: Layout, top: float) -> float:
        """Returns the smallest shift to the right at which the block touches nothing."""
        shifts = [
            self._right[strip] + GAP_BESIDE - left
            for left, _, strips in _extents(block, top)
            for strip in strips
            if strip in self._right
        ]
        return max(shifts, default=0.0)

    def add(self, block: Layout) -> None:
        for _, right, strips in _extents(block, 0.0):
            for strip in strips:
                self._right[strip] = max(right, self._right.get(strip, right))


def _extents(block: Layout, top: float) -> Iterator[tuple[float, float, range]]:
    """Yields left, right and the strips of everything in the block."""
    for box in block.boxes:
        yield box.x, box.x + box.width, _strips(top + box.y, top + box.y + box.height)
    for edge in block.edges:
        xs, ys = zip(*edge.points, strict=True)
        yield min(xs), max(xs), _strips(top + min(ys), top + max(ys))


def _strips(top: float, bottom: float) -> range:
    return range(int(top // STRIP), int(bottom // STRIP) + 1)


def _moved(layout: Layout, dx: float, dy: float) -> Layout:
    return Layout(
        layout.width,
        layout.height,
        tuple(_moved_box(box, dx, dy) for box in layout.boxes),
        tuple(Edge(tuple((x + dx, y + dy) for x, y in edge.points)) for edge in layout.edges),
    )


def _moved_box(box: Box, dx: float, dy: float) -> Box:
    return Box(box.node, box.x + dx, box.y + dy, box.width, box.height, box.lines)


def _box(node: DrawnNode) -> Box:
    rows: list[list[tuple[str, str]]] = []
    if node.role:
        rows.append([("role", node.role)])
    texts = [("heading", node.heading)] if node.heading else []
    texts += [("code", line) for line in wrapped(node.code)] if node.code else []
    rows += [[text] for text in texts]
    if node.tag:
        rows[len(rows) - len(texts)].append(("tag", node.tag))
    rows += [[("note", line)] for note in node.notes for line in wrapped(note)]
    rows += [[("condition", line)] for condition in node.conditions for line in wrapped(condition)]
    width = max(_row_width(row) for row in rows)
    lines: list[TextLine] = []
    for number, row in enumerate(rows):
        x = PADDING_X
        y = PADDING_Y + LINE_HEIGHT * (number + 1) - 5
        for kind, text in row:
            at = PADDING_X + width - text_width(kind, text) if kind == "tag" else x
            lines.append(TextLine(kind, text, at, y))
            x += text_width(kind, text)
    height = 2 * PADDING_Y + LINE_HEIGHT * len(rows)
    return Box(node, 0.0, 0.0, width + 2 * PADDING_X, height, tuple(lines))


def _row_width(row: list[tuple[str, str]]) -> float:
    return sum(text_width(kind, text) for kind, text in row) + 16.0 * (len(row) - 1)


def text_width(kind: str, text: str) -> float:
    cells = sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)
    match kind:
        case "code":
            return cells * CODE_SIZE * CODE_WIDTH
        case "tag" | "condition":
            return cells * SMALL_SIZE * CODE_WIDTH
        case "heading":
            return cells * HEADING_SIZE * HEADING_WIDTH
        case _:
            return cells * SMALL_SIZE * SMALL_WIDTH


def wrapped(text: str) -> list[str]:
    """Returns the text in lines of about `WRAPPED_AT` characters, broken at blanks where it has some; never empty."""
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        if line and len(line) + 1 + len(word) > WRAPPED_AT:
            lines.append(line)
            line = ""
        line = f"{line} {word}" if line else word
        while len(line) > WRAPPED_AT:
            lines.append(line[:WRAPPED_AT])
            line = line[WRAPPED_AT:]
    lines.append(line)
    return lines if len(lines) <= LINES_SHOWN else [*lines[: LINES_SHOWN - 1], "…"]
