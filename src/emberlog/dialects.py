"""Reads programs in the language that they are written in: ours, or Soufflé's."""

from __future__ import annotations

import re
from collections.abc import Sequence

from emberlog.diagnostics import Diagnostics, fail
from emberlog.source import Source
from emberlog.syntax import ast, lexer, parser
from emberlog.syntax.lexer import Token
from emberlog.syntax.souffle import lexer as of_souffle
from emberlog.syntax.souffle.translate import parse_souffle

EMBERLOG = "emberlog"
SOUFFLE = "souffle"
DIALECTS = (EMBERLOG, SOUFFLE)

_DIRECTIVE = (
    r"^[ \t]*(?:\.(?:decl|type|comp|init|input|output|printsize|limitsize|pragma|functor|include|once)\b"
    r'|#[ \t]*include[ \t]*["<])'
)
"""What no statement of ours begins with."""

_DIRECTIVE_ANYWHERE = re.compile(_DIRECTIVE, re.MULTILINE)
_TEXT_OR_COMMENT_OR_DIRECTIVE = re.compile(
    rf'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?(?:\*/|\Z)|(?P<directive>{_DIRECTIVE})', re.MULTILINE | re.DOTALL
)


def dialect_of(text: str) -> str:
    """Returns the language that a text can only be in: that of Soufflé if a directive of its stands outside of comments
    and texts."""
    if not _DIRECTIVE_ANYWHERE.search(text):
        return EMBERLOG
    found = _TEXT_OR_COMMENT_OR_DIRECTIVE.finditer(text)
    return SOUFFLE if any(one["directive"] for one in found) else EMBERLOG


def tokenize(source: Source, diagnostics: Diagnostics) -> tuple[list[Token], list[ast.Comment]]:
    """Returns the tokens of a text in either language, the last of kind END, and its comments."""
    if dialect_of(source.text) == SOUFFLE:
        return of_souffle.tokenize(source, diagnostics)
    return lexer.tokenize(source, diagnostics)


def parse_tolerantly(source: Source, dialect: str | None = None, include: Sequence[str] = ()) -> ast.Program:
    """Returns the statements that could be read, and what is wrong with the others; the analysis raises it. Without a
    dialect, that of the text. `include` are folders of files that it may include."""
    if (dialect or dialect_of(source.text)) == SOUFFLE:
        return parse_souffle(source, include)
    if include:
        hint = "leave the folders out: only programs of Soufflé include files"
        raise fail("DL336", f"`{source.name}` includes nothing", None, hint)
    return parser.parse_tolerantly(source)
