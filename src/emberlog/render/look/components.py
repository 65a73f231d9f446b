"""Has the parts that pages, notebook cards and the studio are made of. Texts that they are given are shown as texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from emberlog.render.look.html import Html, element, joined

MOST_COLUMNS = 200
"""More values than this share a column of a chart, which shows the largest of them."""


def card(title: str, *inside: str, badges: Iterable[Html] = (), note: str = "") -> Html:
    """Shows a thing: its name, what it is in a few words, and whatever is told about it."""
    name = title if isinstance(title, Html) else element("code", title)
    said = [element("span", note, class_="em-faint")] if note else []
    return element("div", element("div", name, *badges, *said, class_="em-title"), *inside, class_="em-card")


def fold(summary: str, *inside: str, is_open: bool = False, anchor: str | None = None) -> Html:
    """Hides something behind a line that opens by mouse and by keyboard, without a script."""
    return element("details", element("summary", summary), *inside, class_="em-fold", open=is_open, id=anchor)


def badge(text: str, colour: str = "faint") -> Html:
    """Shows a word or two that stand out; the colour is one of the inks."""
    return element("span", text, class_="em-badge", style=f"color: var(--{colour})")


def faint(text: str) -> Html:
    return element("span", text, class_="em-faint")


def paragraph(*inside: str, is_faint: bool = False) -> Html:
    return element("p", *inside, class_="em-faint" if is_faint else None)


def keys(pairs: Iterable[tuple[str, str]]) -> Html:
    """Lists names and what they stand for."""
    return element(
        "dl", *(joined((element("dt", key), element("dd", value))) for key, value in pairs), class_="em-keys"
    )


def preformatted(text: str) -> Html:
    return element("pre", text, tabindex="0")


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numbers: Iterable[int] = (),
    caption: str = "",
    kind: str = "",
) -> Html:
    """Shows rows; `numbers` are the places of columns that are written to the right."""
    right = set(numbers)

    def cells(name: str, row: Sequence[str]) -> Html:
        scope = "col" if name == "th" else None
        one = [
            element(name, cell, class_="em-number" if place in right else None, scope=scope)
            for place, cell in enumerate(row)
        ]
        return element("tr", *one)

    parts = [element("caption", caption)] if caption else []
    if any(head):
        parts.append(element("thead", cells("th", head)))
    body = element("tbody", *(cells("td", row) for row in rows))
    label = caption or "table"
    return element(
        "div",
        element("table", *parts, body, class_=kind or None),
        class_="em-scroll",
        tabindex="0",
        role="region",
        aria_label=label,
    )


WIDEST_COLUMN = 47
"""Pixels that a column of a chart has at most, with the gap beside it."""


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: str = ""
    is_number: bool = False


def facts(
    columns: Sequence[Column], rows: Sequence[Sequence[str | None]], total: int | None, *, hint: str = ""
) -> Html:
    """Shows the first facts of a relation, and how many it has; None is a null. `hint` says how to see the others."""
    head = [joined((one.name, element("span", one.type, class_="em-type") if one.type else Html())) for one in columns]
    null = element("span", "null", class_="em-null")
    numbers = [place for place, one in enumerate(columns) if one.is_number]
    shown = table(
        head, [[null if cell is None else cell for cell in row] for row in rows], numbers=numbers, kind="em-facts"
    )
    if total is not None and len(rows) >= total:
        return shown
    shown_of = f"the first {len(rows):,}" if total is None else f"{len(rows):,} of {total:,} shown"
    return joined((shown, paragraph(f"{shown_of}; {hint}" if hint else shown_of, is_faint=True)))


@dataclass(frozen=True, slots=True)
class Bar:
    label: str
    value: float
    shown: str
    """The value as a person reads it."""
    part: float = 0.0
    """How much of the value is drawn in the second colour."""
    rule: str | None = None
    """The rule that it is about: what belongs to it is marked together."""


def bars(entries: Sequence[Bar], *, largest: float | None = None) -> Html:
    """Draws amounts as bars below each other, each with its label and its value."""
    most = largest or max((one.value for one in entries), default=0.0) or 1.0
    return element("ul", *(_bar(one, most) for one in entries), class_="em-bars")


def _bar(one: Bar, most: float) -> Html:
    amount = [element("span", style=f"width: {100 * one.value / most:.2f}%")] if one.value else []
    if one.part:
        amount.append(element("span", class_="em-part", style=f"width: {100 * one.part / most:.2f}%"))
    return element(
        "li",
        element("span", one.label, class_="em-label"),
        element("span", one.shown, class_="em-value"),
        element("span", *amount, class_="em-track", aria_hidden="true"),
        data_rule=one.rule,
    )


def legend(amount: str, part: str) -> Html:
    """Says what the two colours of bars stand for."""
    named = ((amount, "em-key"), (part, "em-key em-part"))
    entries = (element("span", element("span", class_=kind, aria_hidden="true"), " ", text) for text, kind in named)
    return element("p", *entries, class_="em-legend")


def columns(values: Sequence[float], shown: Sequence[str], *, first: str, last: str, largest: str) -> Html:
    """Draws a column for each value, from left to right. `shown` are what pointing at a column says; `first` and `last`
    stand below the ends, and `largest` says how much the highest column is."""
    size = -(-len(values) // MOST_COLUMNS) or 1
    most = max(values, default=0.0) or 1.0
    drawn = []
    for start in range(0, len(values), size):
        value, tip = max(zip(values[start : start + size], shown[start : start + size], strict=True))
        drawn.append(element("li", title=tip, style=f"height: {max(100 * value / most, 0.8):.2f}%"))
    ends = [element("span", first), *([element("span", last)] if len(values) > 1 else [])]
    return element(
        "figure",
        element("p", f"highest: {largest}", class_="em-scale"),
        element("ul", *drawn, class_="em-columns", aria_hidden="true"),
        element("p", *ends, class_="em-scale"),
        style=f"max-width: {max(len(drawn), 4) * WIDEST_COLUMN}px",  # so that `last` stands below the last one
    )
