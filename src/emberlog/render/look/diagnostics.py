"""Shows errors and warnings with the place in the text that they are about."""

from __future__ import annotations

from collections.abc import Sequence

from emberlog.diagnostics import SHOWN_AT_MOST, Diagnostic, Severity, excerpt, printable, summarize
from emberlog.render.look.components import badge, card, faint, paragraph
from emberlog.render.look.html import Html, element, joined
from emberlog.source import Span


def diagnostics_card(found: Sequence[Diagnostic]) -> Html:
    """Shows all of them under their number; what is worth a card of its own."""
    return card(element("strong", summarize(found)), diagnostics_list(found))


def diagnostics_list(found: Sequence[Diagnostic]) -> Html:
    shown = sorted(found, key=lambda one: one.severity is not Severity.ERROR)[:SHOWN_AT_MOST]
    hidden = len(found) - len(shown)
    more = [paragraph(f"… and {hidden:,} more", is_faint=True)] if hidden else []
    return joined((*map(_diagnostic, shown), *more))


def _diagnostic(one: Diagnostic) -> Html:
    is_error = one.severity is Severity.ERROR
    code = badge(f"{one.severity.value} {one.code}", "red" if is_error else "ember")
    notes = [
        element("li", printable(note.text), *([_place(note.span)] if note.span is not None else []))
        for note in one.notes
    ]
    return element(
        "div",
        element("p", code, " ", element("strong", printable(one.message))),
        *([_place(one.span)] if one.span is not None else []),
        *([element("ul", *notes)] if notes else []),
        class_="em-diagnostic" if is_error else "em-diagnostic em-warning",
        role="group",
    )


def _place(span: Span) -> Html:
    shown = excerpt(span)
    margin = f"{shown.line} │ "
    carets = element("span", shown.carets, class_="em-caret")
    text = f"{margin}{shown.text}\n{' ' * (len(margin) + shown.shift)}"
    return joined((element("div", faint(shown.place)), element("pre", text, carets, tabindex="0")))
