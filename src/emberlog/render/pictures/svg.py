"""Draws SVG: one picture that stands on its own, or the pieces of a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from emberlog.diagnostics import InternalError
from emberlog.render.look.html import escape
from emberlog.render.look.tokens import MONO, SANS, TOKENS, Colour
from emberlog.render.pictures import layout as metrics
from emberlog.render.pictures.drawing import Drawing
from emberlog.render.pictures.layout import Box, Edge, Layout, lay_out
from emberlog.render.pictures.styles import LOOKS

MARGIN = 28.0
TITLE_HEIGHT = 58.0
BETWEEN_DRAWINGS = 46.0
HANG_RADIUS = 8.0

_SHAPES = f"""
.em text {{ font-family: {SANS}; font-size: {metrics.SMALL_SIZE}px; }}
.em .code {{ font-family: {MONO}; font-size: {metrics.CODE_SIZE}px; }}
.em .heading {{ font-size: {metrics.HEADING_SIZE}px; font-weight: 600; }}
.em .role {{ font-weight: 600; }}
.em .condition {{ font-family: {MONO}; }}
.em .tag {{ font-family: {MONO}; font-weight: 600; }}
.em .title {{ font-size: 17px; font-weight: 600; }}
.em .subtitle {{ font-size: 12.5px; }}
.em .edge {{ fill: none; stroke-width: 1.3; }}
.em .box {{ stroke-width: 1.3; }}
.em .reference .box {{ stroke-dasharray: 5 4; }}
.em .recursive .box, .em .fixpoint .box {{ stroke-width: 2; }}
""".strip()


def _colours() -> Iterator[tuple[str, str, Colour]]:
    """Yields what is painted: a selector, a property, and its colour."""
    yield ".em text", "fill", TOKENS["faint"]
    yield ".em .code, .em .heading, .em .title", "fill", TOKENS["ink"]
    yield ".em .edge", "stroke", TOKENS["edge"]
    yield ".em .paper", "fill", TOKENS["paper"]
    for look, style in LOOKS.items():
        light, dark = style.paint.light, style.paint.dark
        yield f".em .{look.value} .box", "fill", Colour(light.fill, dark.fill)
        yield f".em .{look.value} .box", "stroke", Colour(light.border, dark.border)
        yield f".em .{look.value} .tag, .em .{look.value} .role", "fill", Colour(light.accent, dark.accent)


def picture_style() -> str:
    """Returns the rules of a file of its own, without variables, which few viewers besides browsers know."""
    light = [f"{selector} {{ {name}: {colour.light}; }}" for selector, name, colour in _colours()]
    dark = [f"{selector} {{ {name}: {colour.dark}; }}" for selector, name, colour in _colours()]
    return "\n".join([_SHAPES, *light, "@media (prefers-color-scheme: dark) {", *dark, "}"])


def inline_style() -> str:
    """Returns the rules of pictures within a page, which are as light or dark as the page is."""
    both = [f"{selector} {{ {name}: light-dark({one.light}, {one.dark}); }}" for selector, name, one in _colours()]
    return "\n".join([_SHAPES, *both, ".em .em-marked .box { stroke: var(--part); stroke-width: 3; }"])


def drawings_svg(drawings: Sequence[Drawing], title: str) -> str:
    """Returns all drawings below one another, each under its title, as one file."""
    placed = [(drawing, lay_out(drawing)) for drawing in drawings]
    texts = [(17 * 0.68, drawing.title) for drawing in drawings] + [(12.5 * 0.6, one.subtitle) for one in drawings]
    widths = [share * len(text) for share, text in texts] + [laid_out.width for _, laid_out in placed]
    width = max(widths, default=0.0) + 2 * MARGIN
    body: list[str] = []
    y = MARGIN
    for drawing, laid_out in placed:
        for kind, below, text in (("title", 18.0, drawing.title), ("subtitle", 38.0, drawing.subtitle)):
            body.append(f'<text class="{kind}"{_attributes(x=MARGIN, y=y + below)}>{escape(text)}</text>')
        body += _group(laid_out, MARGIN, y + TITLE_HEIGHT)
        y += TITLE_HEIGHT + laid_out.height + BETWEEN_DRAWINGS
    height = y - BETWEEN_DRAWINGS + MARGIN
    return "\n".join(
        [
            _opening(width, height, title),
            f"<title>{escape(title)}</title>",
            f"<style>\n{picture_style()}\n</style>",
            f'<rect class="paper" width="{_number(width)}" height="{_number(height)}"/>',
            *body,
            "</svg>\n",
        ]
    )


def drawing_svg(drawing: Drawing) -> str:
    """Returns one drawing without style or title, for a page that brings them."""
    laid_out = lay_out(drawing)
    edge = 2.0  # room for the borders' width
    lines = _group(laid_out, edge, edge)
    return "\n".join([_opening(laid_out.width + 2 * edge, laid_out.height + 2 * edge, drawing.title), *lines, "</svg>"])


def _opening(width: float, height: float, label: str) -> str:
    size = _attributes(width=width, height=height, viewBox=f"0 0 {_number(width)} {_number(height)}")
    return f'<svg xmlns="http://www.w3.org/2000/svg" class="em" role="img" aria-label="{escape(label)}"{size}>'


def _group(laid_out: Layout, x: float, y: float) -> list[str]:
    return [
        f"<g{_attributes(transform=f'translate({_number(x)} {_number(y)})')}>",
        *(_edge(edge) for edge in laid_out.edges),
        *(line for box in laid_out.boxes for line in _box(box)),
        "</g>",
    ]


def _edge(edge: Edge) -> str:
    match edge.points:
        case ((x1, y1), (x2, y2)):
            bend = (y2 - y1) * 0.55
            numbers = (x1, y1, x1, y1 + bend, x2, y2 - bend, x2, y2)
            path = "M{} {} C{} {} {} {} {} {}".format(*map(_number, numbers))
        case ((x1, y1), (_, y2), (x3, _)):
            numbers = (x1, y1, y2 - HANG_RADIUS, x1, y2, x1 + HANG_RADIUS, y2, x3)
            path = "M{} {} V{} Q{} {} {} {} H{}".format(*map(_number, numbers))
        case _:
            raise InternalError("an edge is straight or has one corner")
    return f'<path class="edge" d="{path}"/>'


def _box(box: Box) -> list[str]:
    node = box.node
    radius = min(box.height / 2, 18.0) if LOOKS[node.look].is_round else 5.0
    rule = f' data-rule="{escape(node.rule)}"' if node.rule else ""
    frame = _attributes(x=box.x, y=box.y, width=box.width, height=box.height, rx=radius)
    return [
        f'<g class="{node.look.value}"{rule}><title>{escape(node.label)}</title>',
        f'<rect class="box"{frame}/>',
        *(
            f'<text class="{line.kind}"{_attributes(x=box.x + line.x, y=box.y + line.y)}>{escape(line.text)}</text>'
            for line in box.lines
        ),
        "</g>",
    ]


def _attributes(**values: float | str) -> str:
    texts = {name: _number(value) if isinstance(value, float) else value for name, value in values.items()}
    return "".join(f' {name}="{text}"' for name, text in texts.items())


def _number(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
