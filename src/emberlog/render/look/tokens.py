"""Holds the colours of every page, card and picture, on light and on dark paper, and the fonts."""

from __future__ import annotations

from dataclasses import dataclass

SANS = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'
MONO = 'ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace'


@dataclass(frozen=True, slots=True)
class Colour:
    light: str
    dark: str


PAPERS = {
    "paper": Colour("#fbfbfa", "#14171b"),
    "panel": Colour("#ffffff", "#1a1e23"),
    "marked": Colour("#fdf0e3", "#33251a"),
}
"""What texts stand on."""

INKS = {
    "ink": Colour("#1d242c", "#e8ecf0"),
    "faint": Colour("#5a6572", "#a3adb9"),
    "ember": Colour("#a34f0d", "#f5b27a"),
    "blue": Colour("#1f5a96", "#9cc7f2"),
    "green": Colour("#256a3f", "#93d3aa"),
    "red": Colour("#a4343a", "#f0a0a4"),
    "violet": Colour("#5d3d92", "#c9b2ef"),
}
"""What texts are written in. Each can be read on each paper: their contrast is 4.5 or more."""

SHAPES = {
    "amount": Colour("#5b8fc7", "#4f86bd"),
    "part": Colour("#d9762b", "#d07a36"),
    "edge": Colour("#87919e", "#76818e"),
}
"""Bars, and borders of what can be used. Their contrast to each paper is 3 or more, but for bars on marked paper."""

LINES = {"line": Colour("#dfe3e8", "#2f363f")}
"""What only divides."""

TOKENS = {**PAPERS, **INKS, **SHAPES, **LINES}


def declarations() -> str:
    """Returns them as custom properties of CSS. `color-scheme` says which of the two holds."""
    colours = "".join(f"--{name}:light-dark({one.light},{one.dark});" for name, one in TOKENS.items())
    return f"{colours}--sans:{SANS};--mono:{MONO};"
