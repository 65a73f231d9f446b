"""Takes texts with values inside apart: `f"{From} to {To}"` is a text, a value, a text and a value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from emberlog.diagnostics import Diagnostics
from emberlog.source import Source, Span
from emberlog.syntax.lexer import Token, tokenize

_PIECE = re.compile(
    r"""(?P<brace>\{\{|\}\})
      | \{(?P<value>[^{}]*[^{}\s][^{}]*)\}
      | (?P<stray>[{}])
      | (?P<plain>(?:[^{}\\]|\\.)+)""",
    re.DOTALL | re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class ValueInside:
    """A value in braces: its tokens, the last of kind END, at their places in the whole text."""

    tokens: list[Token]


@dataclass(frozen=True, slots=True)
class StrayBrace:
    span: Span


def pieces_of(string: Token, diagnostics: Diagnostics) -> Iterator[str | ValueInside | StrayBrace]:
    """Yields what stands in a string that is formatted, from left to right; `{{` and `}}` are braces."""
    source, start = string.span.source, string.span.start + 1
    quote, raw = string.span.text[0], string.span.text[1:-1]
    plain = ""
    for piece in _PIECE.finditer(raw):
        if piece["brace"]:
            plain += piece[0][0]
        elif piece["plain"]:
            plain += _read(piece[0], quote)
        else:
            if plain:
                yield plain
                plain = ""
            place = Span(source, start + piece.start(), start + piece.end())
            yield StrayBrace(place) if piece["stray"] else ValueInside(_tokens(piece["value"], place, diagnostics))
    if plain:
        yield plain


def _read(written: str, quote: str) -> str:
    """Returns a text without its escapes; what is wrong with these was told when the whole string was read."""
    tokens, _ = tokenize(Source("", f"{quote}{written}{quote}"), Diagnostics())
    return str(tokens[0].value)


def _tokens(written: str, braces: Span, diagnostics: Diagnostics) -> list[Token]:
    found = Diagnostics()
    tokens, _ = tokenize(Source(braces.source.name, written), found)

    def in_text(span: Span) -> Span:
        return Span(braces.source, braces.start + 1 + span.start, braces.start + 1 + span.end)

    for one in found.found:
        diagnostics.error(one.code, one.message, None if one.span is None else in_text(one.span), *one.notes)
    return [token._replace(span=in_text(token.span)) for token in tokens]
