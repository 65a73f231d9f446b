"""Completes programs that are written line by line, in a terminal or in the cell of a notebook."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from emberlog.editor.completion import Proposal, proposals
from emberlog.editor.symbols import SymbolKind
from emberlog.editor.view import ProgramView
from emberlog.source import Source
from emberlog.syntax.lexer import TokenKind

_BEGUN = re.compile(r"[$@]?\w*\Z")

_BEHIND = {SymbolKind.RELATION: "(", SymbolKind.FUNCTION: "(", SymbolKind.AGGREGATE: "<"}


@dataclass(frozen=True, slots=True)
class Word:
    text: str
    """What is written: a relation or a function with its parenthesis."""
    kind: str
    about: str = ""


def begun_word(text: str) -> str:
    """Returns the word at the end of a text that is being written."""
    found = _BEGUN.search(text)
    return found.group() if found else ""


def words_for(
    text: str, offset: int, relations: Iterable[str] = (), parameters: Iterable[str] = ()
) -> tuple[str, list[Word]]:
    """Returns the word that is begun at a place of a text, and what may go on with it. `relations` and `parameters` are
    those that are known beside the text; they come first."""
    begun = begun_word(text[:offset])
    view = ProgramView(Source("cell", text))
    if view.is_in_comment_or_text(offset) or _is_in_open_text(view, offset):
        return begun, []
    words = [
        *(Word(f"{name}(", "relation") for name in relations),
        *(Word(f"${name}", "parameter") for name in parameters),
        *(_word(one) for one in proposals(view, offset) if one.label != begun),  # the begun word is in the text, too
    ]
    by_text = {word.text: word for word in reversed(words)}  # the first of each counts
    fitting = [text for text in dict.fromkeys(word.text for word in words) if text.startswith(begun) and text != begun]
    return begun, [by_text[text] for text in fitting]


def _is_in_open_text(view: ProgramView, offset: int) -> bool:
    """Tells whether a place is in a text that is still being written, and has no end yet."""
    texts = (one.span.text for one in view.tokens if one.kind is TokenKind.STRING and one.span.end == offset)
    return any(len(text) == 1 or text[-1] != text[0] for text in texts)


def _word(one: Proposal) -> Word:
    mark = "@" if one.kind is SymbolKind.ANNOTATION else ""
    return Word(f"{mark}{one.label}{_BEHIND.get(one.kind, '')}", one.kind.name.lower(), one.detail or one.documentation)
