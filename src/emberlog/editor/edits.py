"""Changes of a program that an editor makes: renaming, formatting, and what hints of diagnostics say."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from emberlog.diagnostics import Diagnostic, EmberlogError, Severity, fail
from emberlog.editor.symbols import Symbol, SymbolKind
from emberlog.editor.view import ProgramView
from emberlog.source import Source
from emberlog.syntax.canonical_form import canonical_text


@dataclass(frozen=True, slots=True)
class Edit:
    """Puts a text into the place of the characters `[start, end)`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Action:
    """A change that mends a diagnostic."""

    title: str
    diagnostic: Diagnostic
    edit: Edit
    is_preferred: bool = False
    """Whether it is what was most likely meant."""


RENAMED = (SymbolKind.RELATION, SymbolKind.VARIABLE, SymbolKind.PARAMETER)


def applied(text: str, edits: list[Edit]) -> str:
    """Returns the text with edits that do not overlap."""
    for edit in sorted(edits, key=lambda one: one.start, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


# --- renaming -------------------------------------------------------------------------------------------------------


def renamed(view: ProgramView, symbol: Symbol, name: str) -> list[Edit]:
    """Returns the edits that give a relation, a variable or a parameter another name; raises EmberlogError if that
    would not be the same program."""
    name = name.strip()
    if symbol.kind not in RENAMED:
        raise fail("DL219", f"`{symbol.span.text}` cannot be renamed: it is a part of the language")
    if symbol.kind is SymbolKind.PARAMETER:
        name = f"${name.removeprefix('$')}"
    places = view.occurrences(symbol)
    edits = [Edit(one.span.start, one.span.end, name) for one in places]
    plain = name.removeprefix("$").strip("`")
    is_local = symbol.kind is SymbolKind.VARIABLE
    taken = {
        one.name
        for one in view.symbols
        if one.kind is symbol.kind and one.name != symbol.name and (not is_local or one.statement == symbol.statement)
    }
    if plain in taken:
        raise fail("DL219", f"`{plain}` is the name of another {symbol.kind.value} already")
    after = ProgramView(Source(view.source.name, applied(view.text, edits)))
    moved = [one.kind for one in after.symbols] == [one.kind for one in view.symbols]
    wanted = {id(one) for one in places}
    pairs = zip(view.symbols, after.symbols, strict=False)
    kept = moved and all(new.name == (plain if id(old) in wanted else old.name) for old, new in pairs)
    if not kept or _errors(after) > _errors(view):
        raise fail("DL219", f"`{name}` cannot be the name of a {symbol.kind.value}")
    return edits


def _errors(view: ProgramView) -> int:
    return sum(one.severity is Severity.ERROR for one in view.diagnostics)


# --- formatting -----------------------------------------------------------------------------------------------------


MOST_COMPARED = 5_000
"""Lines; a longer program is written anew as a whole where anything in it changes."""


def formatted(source: Source) -> list[Edit]:
    """Returns the edits, whole lines, that bring a program into its canonical form; none if it has syntax errors."""
    try:
        wanted = canonical_text(source)
    except EmberlogError:
        return []
    old, new = source.text.splitlines(keepends=True), wanted.splitlines(keepends=True)
    starts = [0]
    for line in old:
        starts.append(starts[-1] + len(line))
    if max(len(old), len(new)) > MOST_COMPARED:
        return [Edit(0, len(source.text), wanted)] if old != new else []
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    return [
        Edit(starts[first], starts[last], "".join(new[begin:end]))
        for tag, first, last, begin, end in matcher.get_opcodes()
        if tag != "equal"
    ]


# --- hints ----------------------------------------------------------------------------------------------------------

_DID_YOU_MEAN = re.compile(r"did you mean (?:`([^`]+)`|(@\w+))\?")
_IN_BACKQUOTES = re.compile(r"`([^`]+)`")
_DECLARATION = re.compile(r"a declaration is written `(declare .+)`", re.DOTALL)
_FOR_CHARACTERS = {"&": ",", "|": ";", "\\": "!", "\u2013": "-", "\u2014": "-", "\u2212": "-"}
_FOR_CHARACTERS |= dict.fromkeys("\u201c\u201d\u201e", '"') | dict.fromkeys("\u2018\u2019", "'")


def actions(view: ProgramView, start: int, end: int) -> list[Action]:
    """Returns what hints say that a machine can do, for diagnostics that touch a range."""
    return [
        action
        for diagnostic in view.diagnostics
        if diagnostic.span is not None and diagnostic.span.start <= end and start <= diagnostic.span.end
        for action in _actions_of(diagnostic)
    ]


def _actions_of(diagnostic: Diagnostic) -> Iterator[Action]:
    span = diagnostic.span
    assert span is not None
    for note in diagnostic.notes:
        if match := _DID_YOU_MEAN.search(note.text):
            meant = match.group(1) or match.group(2)
            if (edit := _word_replaced(diagnostic, meant)) is not None:
                yield Action(f"Change to `{meant}`", diagnostic, edit, is_preferred=True)
        if match := _DECLARATION.search(note.text):
            written = match.group(1)
            rest = written.removeprefix("declare ").removesuffix(".")
            place = span.source.text.find(rest, span.end)
            if place >= 0:
                edit = Edit(span.start, place + len(rest), written)
                yield Action("Write it as a declaration", diagnostic, edit, is_preferred=True)
    match diagnostic.code:
        case "DL111" if any("put `.` behind it" in note.text for note in diagnostic.notes):
            yield Action("Put `.` behind it", diagnostic, Edit(span.end, span.end, "."), is_preferred=True)
        case "DL290":
            yield Action("Write `_`", diagnostic, Edit(span.start, span.end, "_"))
            if span.text[:1].islower():
                yield Action("Make it a text", diagnostic, Edit(span.start, span.end, f'"{span.text}"'))
        case "DL101" if span.text[:1] in _FOR_CHARACTERS:
            wanted = _FOR_CHARACTERS[span.text[0]]
            yield Action(f"Write `{wanted}`", diagnostic, Edit(span.start, span.end, wanted), is_preferred=True)
        case _:
            pass


def _word_replaced(diagnostic: Diagnostic, meant: str) -> Edit | None:
    """Returns the edit that puts what was meant into the place of the word that the message names."""
    span = diagnostic.span
    named = _IN_BACKQUOTES.search(diagnostic.message)
    if span is None or named is None:
        return None
    word = named.group(1)
    found = re.search(rf"(?<!\w){re.escape(word)}(?!\w)", span.text)
    if found is None:
        return None
    return Edit(span.start + found.start(), span.start + found.end(), meant)
