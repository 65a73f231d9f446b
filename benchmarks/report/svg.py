"""Small plots as SVG text: bars and lines, with linear or logarithmic axes. No dependency, no script."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

_FONT = "font-family='system-ui, sans-serif'"


@dataclass(frozen=True, slots=True)
class Bar:
    label: str
    value: float | None
    """None for a bar that cannot be drawn: its text says why."""
    text: str
    colour: str


def bars(entries: Sequence[Bar], unit: str) -> str:
    """Horizontal bars on a logarithmic axis, because engines differ by orders of magnitude."""
    left, width, height, top = 210, 760, 24, 8
    low, high = _decades([entry.value for entry in entries if entry.value])
    scale = _LogScale(low, high, left, width - 130)
    bottom = top + height * len(entries)
    parts = []
    for tick in _log_ticks(low, high):
        parts.append(_line(scale(tick), top, scale(tick), bottom, "grid"))
        parts.append(_text(scale(tick), bottom + 14, number(tick), "tick", "middle"))
    for index, entry in enumerate(entries):
        y = top + index * height
        middle = y + height / 2 + 4
        parts.append(_text(left - 8, middle, entry.label, "label", "end"))
        if entry.value:
            x = max(scale(entry.value), left + 2.0)
            size = f"width='{x - left:.1f}' height='{height - 8}'"
            parts.append(f"<rect x='{left}' y='{y + 4}' {size} rx='2' fill='{entry.colour}'/>")
            parts.append(_text(x + 6, middle, entry.text, "value"))
        else:
            parts.append(_text(left + 6, middle, entry.text, "missing"))
    parts.append(_text(width - 4, bottom + 14, f"{unit}, log scale", "tick", "end"))
    return _svg(width, bottom + 22, parts)


@dataclass(frozen=True, slots=True)
class Line:
    label: str
    points: Sequence[tuple[float, float]]
    colour: str


def lines(series: Sequence[Line], x_title: str, y_title: str) -> str:
    """Lines with a mark at each point, both axes logarithmic: straight means a power law, slope 1 means linear."""
    width, height, left, right, top, bottom = 760, 340, 64, 210, 14, 44
    x_low, x_high = _decades([x for line in series for x, _ in line.points], tight=True)
    y_low, y_high = _decades([y for line in series for _, y in line.points])
    x_scale = _LogScale(x_low, x_high, left, width - right)
    y_scale = _LogScale(y_low, y_high, height - bottom, top)
    parts = []
    for tick in _log_ticks(y_low, y_high):
        parts.append(_line(left, y_scale(tick), width - right, y_scale(tick), "grid"))
        parts.append(_text(left - 6, y_scale(tick) + 4, number(tick), "tick", "end"))
    for tick in sorted({x for line in series for x, _ in line.points}):
        parts.append(_line(x_scale(tick), top, x_scale(tick), height - bottom, "grid"))
        parts.append(_text(x_scale(tick), height - bottom + 16, number(tick), "tick", "middle"))
    places = _label_places([(line.label, y_scale(line.points[-1][1])) for line in series], top)
    for line in series:
        drawn = " ".join(f"{x_scale(x):.1f},{y_scale(y):.1f}" for x, y in line.points)
        parts.append(f"<polyline points='{drawn}' fill='none' stroke='{line.colour}' stroke-width='2'/>")
        for x, y in line.points:
            hint = escape(f"{line.label}: {number(x)} → {number(y)}")
            place = f"cx='{x_scale(x):.1f}' cy='{y_scale(y):.1f}'"
            parts.append(f"<circle {place} r='3.5' fill='{line.colour}'><title>{hint}</title></circle>")
        end_x, end_y = x_scale(line.points[-1][0]), y_scale(line.points[-1][1])
        label_y = places[line.label]
        parts.append(_line(end_x + 5, end_y, width - right + 18, label_y - 4, "leader"))
        parts.append(_text(width - right + 22, label_y, line.label, "label", colour=line.colour))
    parts.append(_text((left + width - right) / 2, height - 8, x_title, "tick", "middle"))
    parts.append(f"<g transform='rotate(-90 14 {height / 2})'>{_text(14, height / 2, y_title, 'tick', 'middle')}</g>")
    return _svg(width, height, parts)


def _text(x: float, y: float, text: str, style: str, anchor: str = "start", colour: str | None = None) -> str:
    fill = f" style='fill:{colour}'" if colour else ""
    return f"<text x='{x:.1f}' y='{y:.1f}' class='{style}' text-anchor='{anchor}'{fill}>{escape(text)}</text>"


def _line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    return f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' class='{style}'/>"


def number(value: float) -> str:
    """Short, and exact enough for an axis: 0.01, 25, 1.5 k, 10 M."""
    for size, suffix in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= size:
            return f"{value / size:.3g}{suffix}"
    return f"{value:.3g}"


def _label_places(wanted: Sequence[tuple[str, float]], top: float) -> Mapping[str, float]:
    """Labels at the ends of lines, moved apart where they would cover each other."""
    places: dict[str, float] = {}
    lowest = top
    for label, y in sorted(wanted, key=lambda entry: entry[1]):
        lowest = max(y + 4, lowest + 14)
        places[label] = lowest
    return places


def _decades(values: Sequence[float], tight: bool = False) -> tuple[float, float]:
    positive = [value for value in values if value > 0]
    if not positive:
        return 0.1, 10.0
    low, high = min(positive), max(positive)
    if tight:
        return (low, high) if low < high else (low / 2, high * 2)
    low, high = 10.0 ** math.floor(math.log10(low) + 1e-9), 10.0 ** math.ceil(math.log10(high) - 1e-9)
    return (low, high) if low < high else (low / 10, high)


def _log_ticks(low: float, high: float) -> list[float]:
    first, last = round(math.log10(low)), round(math.log10(high))
    return [10.0**power for power in range(first, last + 1)]


class _LogScale:
    """From a value to a place on the page."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        self._low, self._start = math.log10(low), start
        self._factor = (end - start) / (math.log10(high) - self._low)

    def __call__(self, value: float) -> float:
        return self._start + (math.log10(value) - self._low) * self._factor


def _svg(width: float, height: float, parts: Sequence[str]) -> str:
    body = "\n".join(parts)
    return f"<svg viewBox='0 0 {width} {height}' width='{width}' {_FONT} role='img' class='plot'>\n{body}\n</svg>"
