"""Errors and warnings: coded, placed in the source, with hints, all of a program at once."""

from __future__ import annotations

import difflib
import json
import os
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from emberlog.shown import Shown
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
class Diagnostic(Shown):
    code: str
    message: str
    span: Span | None = None
    notes: tuple[Note, ...] = ()
    severity: Severity = Severity.ERROR


class EmberlogError(Shown, Exception):
    """What a person did wrong, or what their data or limits do not allow. Carries every diagnostic."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__(render(self.diagnostics))

    def _render_traceback_(self) -> list[str]:
        """Returns what IPython shows of the error, in any notebook: the diagnostics, and no frames of ours."""
        return _shown_by_ipython(self, self.diagnostics)


class EmberlogWarning(Shown, UserWarning):
    """What is worth a second look in a program, its data or its answers. Carries its diagnostic."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        self.diagnostic = diagnostic
        super().__init__(render((diagnostic,)))

    def _render_traceback_(self) -> list[str]:
        """Returns what IPython shows where warnings are errors."""
        return _shown_by_ipython(self, (self.diagnostic,))


class Interrupted(KeyboardInterrupt):
    """Says that Ctrl-C, or the stop button of a notebook, ended a run."""

    def _render_traceback_(self) -> list[str]:
        """Returns what IPython shows of it: no frames, as nothing went wrong."""
        return [str(self)]


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
    while frame.f_back is not None and _package(frame.f_globals) in _BETWEEN:
        frame = frame.f_back
        depth += 1
    return depth


_BETWEEN = {"emberlog", "contextlib", "functools"}
"""Packages whose frames stand between a warning and the person that it is for."""


def _shown_by_ipython(error: BaseException, diagnostics: Sequence[Diagnostic]) -> list[str]:
    """Returns the diagnostics, and the function of the person's that called Emberlog, if it is not the cell itself."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    lines = [render(diagnostics, colour=str(getattr(shell, "colors", "nocolor")).lower() != "nocolor")]
    callers = []
    trace = error.__traceback__
    while trace is not None and (root := _package(trace.tb_frame.f_globals)) != "emberlog":
        if root not in _RUNS_CELLS:
            callers.append((trace.tb_frame.f_code, trace.tb_lineno))
        trace = trace.tb_next
    if len(callers) > 1:
        code, line = callers[-1]
        place = f" of {code.co_filename}" if os.path.exists(code.co_filename) else ""  # a cell has no file
        lines.append(f"  called by {code.co_name}, line {line:,}{place}")
    return lines


_RUNS_CELLS = {"IPython", "ipykernel"}


def _package(names: Mapping[str, Any]) -> str:
    return str(names.get("__name__", "")).split(".")[0]


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


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Holds what is shown of a place in a text: its first line, with carets below what is meant."""

    place: str
    """`reach.dl:4:22`"""
    line: int
    text: str
    shift: int
    """Characters before the carets."""
    carets: str


def excerpt(span: Span) -> Excerpt:
    """Returns the source line of a span; a span over several lines shows its first."""
    begin, finish = span.begin, span.finish
    raw = span.source.line(begin.line)
    cut = 0
    if len(raw) > 160:  # show the neighbourhood of the place in a very long line
        cut = max(0, begin.column - 1 - 60)
    text = printable(raw[cut : cut + 160].replace("\t", " "))
    first = begin.column - 1 - cut
    last = finish.column - 1 - cut if finish.line == begin.line else len(text)
    carets = "^" * max(1, min(last, len(text)) - first)
    place = f"{printable(span.source.name)}:{begin.line}:{begin.column}"
    return Excerpt(place, begin.line, text.rstrip(), first, carets)


def _excerpt(span: Span, paint: Any, palette: Palette) -> list[str]:
    """The source line with carets below."""
    shown = excerpt(span)
    number = str(shown.line)
    margin = " " * len(number)
    return [
        f"{margin} {paint('┌', Palette.FRAME)} {shown.place}",
        f"{paint(number + ' │', Palette.FRAME)} {shown.text}",
        f"{margin} {paint('│', Palette.FRAME)} {' ' * shown.shift}{paint(shown.carets, palette)}",
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


@contextmanager
def interrupts_told() -> Iterator[None]:
    """Makes an interrupt, in whatever form it comes, one that says after which time it came."""
    since = time.monotonic()
    try:
        yield
    except BaseException as error:
        if not was_interrupted(error):
            raise
        seconds = time.monotonic() - since
        raise Interrupted(f"interrupted after {seconds:,.1f} s; what was there before still is") from None


def was_interrupted(error: BaseException) -> bool:
    """Tells whether Ctrl-C is behind an error. In the middle of a word to the JVM it can come out as an error of the
    bridge, which stumbles over it."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__context__
    return cause is not None
