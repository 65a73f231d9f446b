"""Errors and warnings: coded, placed in the source, with hints, all of a program at once."""

from __future__ import annotations

import difflib
import json
import sys
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from emberlog.source import Span

SHOWN_AT_MOST = 50
"""Past this many, further diagnostics are counted instead of shown."""

MANY_NAMES = 100
"""Among more than this many, a misspelt name is looked for only where its first or last letter is right."""


class Severity(Enum):
    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Note:
    """A hint; with a span it shows a second place (`the other place is here`)."""

    text: str
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Diagnostic:
    code: str
    message: str
    span: Span | None = None
    notes: tuple[Note, ...] = ()
    severity: Severity = Severity.ERROR


class EmberlogError(Exception):
    """What a person did wrong, or what their data or limits do not allow. Carries every diagnostic."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__(render(self.diagnostics))


class EmberlogWarning(UserWarning):
    """What is worth a second look in a program, its data or its answers. Carries its diagnostic."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        self.diagnostic = diagnostic
        super().__init__(render((diagnostic,)))


class InternalError(AssertionError):
    """A mistake of ours (DL9xx), never of the person's."""


@dataclass
class Diagnostics:
    """Collects what the stages of the front end find, so that a person sees it all at once."""

    found: list[Diagnostic] = field(default_factory=list)
    error_count: int = 0
    _seen: set[Diagnostic] = field(default_factory=set, repr=False)
    """The same as `found`, for texts with thousands of mistakes."""

    def error(self, code: str, message: str, span: Span | None, *notes: str | Note) -> None:
        self._add(Severity.ERROR, code, message, span, notes)

    def warning(self, code: str, message: str, span: Span | None, *notes: str | Note) -> None:
        self._add(Severity.WARNING, code, message, span, notes)

    def _add(self, severity: Severity, code: str, message: str, span: Span | None, notes: Iterable[str | Note]) -> None:
        as_notes = tuple(Note(note) if isinstance(note, str) else note for note in notes)
        diagnostic = Diagnostic(code, message, span, as_notes, severity)
        if diagnostic not in self._seen:
            self._seen.add(diagnostic)
            self.found.append(diagnostic)
            self.error_count += severity is Severity.ERROR

    def include(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Adds what an earlier stage found."""
        for one in diagnostics:
            self._add(one.severity, one.code, one.message, one.span, one.notes)

    @property
    def has_errors(self) -> bool:
        return self.error_count > 0

    def in_order(self) -> tuple[Diagnostic, ...]:
        """By place in the source; diagnostics without a place come last."""
        return tuple(sorted(self.found, key=_place))

    def raise_errors(self) -> None:
        if self.has_errors:
            raise EmberlogError(self.in_order())


def _place(diagnostic: Diagnostic) -> tuple[bool, str, int, str]:
    span = diagnostic.span
    return (span is None, span.source.name if span else "", span.start if span else 0, diagnostic.code)


def fail(code: str, message: str, span: Span | None = None, *notes: str | Note) -> EmberlogError:
    """One error, ready to be raised."""
    diagnostics = Diagnostics()
    diagnostics.error(code, message, span, *notes)
    return EmberlogError(diagnostics.found)


def warn(diagnostics: Iterable[Diagnostic]) -> None:
    """Tells warnings as Python does, at the line of the person who called Emberlog. Whoever made warnings errors gets
    the first of them as an exception."""
    for diagnostic in diagnostics:
        warnings.warn(EmberlogWarning(diagnostic), stacklevel=_frames_of_ours())


def _frames_of_ours() -> int:
    """Counts the frames between the caller of this function and the first one that is not Emberlog's."""
    depth = 1
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in _BETWEEN:
        frame = frame.f_back
        depth += 1
    return depth


_BETWEEN = {"emberlog", "contextlib", "functools"}
"""Packages whose frames stand between a warning and the person that it is for."""


def nearest(name: str, candidates: Iterable[str], *, sure: bool = False) -> str | None:
    """The candidate that `name` was probably meant to be, or None; `sure` asks for hardly any difference."""
    others = sorted({candidate for candidate in candidates if candidate != name})
    for candidate in others:
        if candidate.lower() == name.lower():
            return candidate
    if len(others) > MANY_NAMES:
        others = [other for other in others if other[:1] == name[:1] or other[-1:] == name[-1:]]
        others = [other for other in others if abs(len(other) - len(name)) <= 2]
    # Short names differ by a large share of their letters when one letter differs.
    cutoff = 0.85 if sure else 0.6 if len(name) <= 4 else 0.75
    matches = difflib.get_close_matches(name, others, n=1, cutoff=cutoff)
    return matches[0] if matches else None


def is_slip(name: str, other: str) -> bool:
    """Tells whether one long name is another with a letter too many, too few, wrong or in its neighbour's place."""
    longer, shorter = (name, other) if len(name) >= len(other) else (other, name)
    if len(shorter) < 4 or len(longer) - len(shorter) > 1:
        return False
    place = next((i for i, (a, b) in enumerate(zip(longer, shorter, strict=False)) if a != b), len(shorter))
    if len(longer) > len(shorter):
        return longer[place + 1 :] == shorter[place:] and not longer[place].isdigit() and longer[place] != "_"
    if longer[place + 1 :] == shorter[place + 1 :]:  # `input_a` and `input_b` are meant
        return 0 < place < len(longer) - 1 and not (longer[place].isdigit() or shorter[place].isdigit())
    swapped = longer[:place] + longer[place + 1 : place + 2] + longer[place : place + 1] + longer[place + 2 :]
    return swapped == shorter and not longer[place].isdigit()


class Palette(Enum):
    """What colours mean; `PLAIN` text has none."""

    ERROR = "\x1b[1;31m"
    WARNING = "\x1b[1;33m"
    FRAME = "\x1b[34m"
    BOLD = "\x1b[1m"
    RESET = "\x1b[0m"


def printable(text: str) -> str:
    """Returns the text without what a terminal obeys: control characters, and those that turn the direction of writing.
    Each becomes one character, so that places stay where they are; line breaks and tabs are kept."""
    return text.translate(_PRINTED)


_PRINTED = {
    **{code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"},
    0x7F: 0x2421,
    **dict.fromkeys(
        (*range(0x80, 0xA0), 0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)), 0xFFFD
    ),
    **dict.fromkeys(range(0xD800, 0xE000), 0xFFFD),  # halves of characters, which no stream can write
}


def render(diagnostics: Sequence[Diagnostic], *, colour: bool = False) -> str:
    """The diagnostics as a person reads them, without a final line break."""

    def paint(text: str, palette: Palette) -> str:
        return f"{palette.value}{text}{Palette.RESET.value}" if colour else text

    if len(diagnostics) > SHOWN_AT_MOST:  # what keeps the program from running is shown first
        diagnostics = sorted(diagnostics, key=lambda diagnostic: diagnostic.severity is not Severity.ERROR)
    blocks = [_render_one(diagnostic, paint) for diagnostic in diagnostics[:SHOWN_AT_MOST]]
    hidden = len(diagnostics) - SHOWN_AT_MOST
    if hidden > 0:
        blocks.append(f"… and {hidden:,} more")
    return "\n\n".join(blocks)


def _render_one(diagnostic: Diagnostic, paint: Any) -> str:
    palette = Palette.ERROR if diagnostic.severity is Severity.ERROR else Palette.WARNING
    head = paint(f"{diagnostic.severity.value}[{diagnostic.code}]", palette)
    lines = [f"{head}: {paint(printable(diagnostic.message), Palette.BOLD)}"]
    if diagnostic.span is not None:
        lines += _excerpt(diagnostic.span, paint, palette)
    for note in diagnostic.notes:
        lines.append(f"  {paint('=', Palette.FRAME)} {printable(note.text)}")
        if note.span is not None:
            lines += _excerpt(note.span, paint, Palette.FRAME)
    return "\n".join(lines)


def _excerpt(span: Span, paint: Any, palette: Palette) -> list[str]:
    """The source line with carets below; a span over several lines shows its first."""
    begin, finish = span.begin, span.finish
    raw = span.source.line(begin.line)
    shift = 0
    if len(raw) > 160:  # show the neighbourhood of the place in a very long line
        shift = max(0, begin.column - 1 - 60)
    text = printable(raw[shift : shift + 160].replace("\t", " "))
    first = begin.column - 1 - shift
    last = finish.column - 1 - shift if finish.line == begin.line else len(text)
    carets = "^" * max(1, min(last, len(text)) - first)
    number = str(begin.line)
    margin = " " * len(number)
    return [
        f"{margin} {paint('┌', Palette.FRAME)} {printable(span.source.name)}:{begin.line}:{begin.column}",
        f"{paint(number + ' │', Palette.FRAME)} {text.rstrip()}",
        f"{margin} {paint('│', Palette.FRAME)} {' ' * first}{paint(carets, palette)}",
    ]


def summarize(diagnostics: Sequence[Diagnostic]) -> str:
    """`2 errors, 1 warning`, or the empty string."""
    parts = []
    for severity in Severity:
        count = sum(diagnostic.severity is severity for diagnostic in diagnostics)
        if count:
            parts.append(f"{count:,} {severity.value}{'' if count == 1 else 's'}")
    return ", ".join(parts)


def to_json(diagnostics: Sequence[Diagnostic]) -> str:
    """The form for editors: one object per diagnostic, places counted from 1."""
    return json.dumps([_as_object(diagnostic) for diagnostic in diagnostics], indent=2, ensure_ascii=False)


def _as_object(diagnostic: Diagnostic) -> dict[str, Any]:
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
        "range": _range(diagnostic.span),
        "notes": [{"text": note.text, "range": _range(note.span)} for note in diagnostic.notes],
    }


def _range(span: Span | None) -> dict[str, Any] | None:
    if span is None:
        return None
    return {
        "file": span.source.name,
        "start": span.begin._asdict(),
        "end": span.finish._asdict(),
    }


def was_interrupted(error: BaseException) -> bool:
    """Tells whether Ctrl-C is behind an error. In the middle of a word to the JVM it can come out as an error of the
    bridge, which stumbles over it."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__context__
    return cause is not None
