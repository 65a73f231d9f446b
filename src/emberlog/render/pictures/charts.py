"""Draws two plots as plain SVG: amounts by iteration as columns, and totals by rule as bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from emberlog.render.pictures.svg import escape

WIDTH, HEIGHT = 900, 190
_LEFT, _RIGHT, _TOP, _BOTTOM = 84, 12, 14, 30
_BAR, _GAP, _LABEL, _TEXT = 18, 8, 170, 260
_MOST_COLUMNS = 300
"""More iterations than this share a column, which shows the largest of them."""


@dataclass(frozen=True, slots=True)
class Bar:
    label: str
    value: float
    shown: str
    """The value as a person reads it."""
    part: float = 0.0
    """How much of the value is drawn in the second colour."""


def columns_chart(title: str, values: Sequence[float], shown: Sequence[str]) -> str:
    """Draws a column for each iteration, counted from 1. `shown` are what pointing at a column says."""
    groups = _grouped(values)
    largest = max(values, default=0.0) or 1.0
    step = (WIDTH - _LEFT - _RIGHT) / max(len(groups), 1)
    base = HEIGHT - _BOTTOM
    parts = [
        f'<line class="axis" x1="{_LEFT}" y1="{base}" x2="{WIDTH - _RIGHT}" y2="{base}"/>',
        f'<text class="axis-text" x="{_LEFT - 8}" y="{_TOP + 9}" text-anchor="end">{_short(largest)}</text>',
        f'<text class="axis-text" x="{_LEFT - 8}" y="{base}" text-anchor="end">0</text>',
        f'<text class="axis-text" x="{_LEFT}" y="{HEIGHT - 9}">iteration 1</text>',
    ]
    if len(values) > 1:
        end = f'x="{WIDTH - _RIGHT}" y="{HEIGHT - 9}" text-anchor="end"'
        parts.append(f'<text class="axis-text" {end}>{len(values):,}</text>')
    for number, (first, last) in enumerate(groups):
        value, tip = max(zip(values[first:last], shown[first:last], strict=True))
        height = (base - _TOP) * value / largest
        place = f'x="{_LEFT + number * step:.2f}" y="{base - height:.2f}" width="{max(step - 0.6, 0.6):.2f}"'
        parts.append(f'<rect class="amount" {place} height="{height:.2f}"><title>{escape(tip)}</title></rect>')
    return _svg(title, WIDTH, HEIGHT, parts)


def _grouped(values: Sequence[float]) -> list[tuple[int, int]]:
    size = -(-len(values) // _MOST_COLUMNS) or 1
    return [(first, min(first + size, len(values))) for first in range(0, len(values), size)]


def bars_chart(title: str, bars: Sequence[Bar]) -> str:
    largest = max((bar.value for bar in bars), default=0.0) or 1.0
    room = WIDTH - _LABEL - _TEXT
    parts = []
    for number, bar in enumerate(bars):
        top = number * (_BAR + _GAP)
        length, part = room * bar.value / largest, room * bar.part / largest
        middle = top + _BAR - 5
        parts += [
            f'<text class="bar-name" x="{_LABEL - 10}" y="{middle}" text-anchor="end">{escape(bar.label)}</text>',
            f'<rect class="amount" x="{_LABEL}" y="{top}" width="{max(length, 1):.2f}" height="{_BAR}"/>',
            f'<rect class="part" x="{_LABEL}" y="{top}" width="{part:.2f}" height="{_BAR}"/>' if part else "",
            f'<text class="axis-text" x="{_LABEL + max(length, 1) + 8:.2f}" y="{middle}">{escape(bar.shown)}</text>',
        ]
    return _svg(title, WIDTH, max(len(bars) * (_BAR + _GAP), 1), parts)


def _svg(title: str, width: int, height: int, parts: Sequence[str]) -> str:
    head = f'<svg class="chart" role="img" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
    return "\n".join([head, f"<title>{escape(title)}</title>", *filter(None, parts), "</svg>"])


def _short(value: float) -> str:
    """`1.2 M`, `45 k`, `0.25`"""
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"
