"""From the text of a program in Soufflé's language to tokens."""

from __future__ import annotations

import re

from emberlog.datatypes import INT_MAX
from emberlog.diagnostics import Diagnostics
from emberlog.source import Source, Span
from emberlog.syntax.ast import Comment
from emberlog.syntax.lexer import Token, TokenKind

_TOKEN = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<comment>//[^\n]*|/\*.*?\*/)
    | (?P<open>/\*)
    | (?P<line>\#[^\n]*)
    | (?P<float>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)
    | (?P<based>0[xX][0-9a-fA-F]+|0[bB][01]+)u?
    | (?P<int>\d+)u?
    | (?P<name>[^\W\d?][\w?]*|\?[\w?]+)
    | (?P<string>"(?:[^"\\\n]|\\.)*")
    | (?P<symbol>:-|<:|<=|>=|!=|[.,;:?()<>=!+\-*/%^\[\]{}|$@])
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}


def tokenize(source: Source, diagnostics: Diagnostics) -> tuple[list[Token], list[Comment]]:
    """Returns the tokens of the text, the last of kind END, and its comments."""
    tokens: list[Token] = []
    comments: list[Comment] = []
    offset, text = 0, source.text

    def add(kind: TokenKind, written: str, value: int | float | str | None = None) -> None:
        tokens.append(Token(kind, written, span, value))

    while offset < len(text):
        match = _TOKEN.match(text, offset)
        if match is None and text[offset] == '"':
            end = text.find("\n", offset)
            span = Span(source, offset, len(text) if end < 0 else end)
            diagnostics.error("DL102", "this string has no end on its line", span, 'close it with "')
            add(TokenKind.STRING, "", "")
            offset = span.end
            continue
        if match is None:
            span = Span(source, offset, offset + 1)
            diagnostics.error("DL101", f"`{text[offset]}` has no meaning here", span)
            offset += 1
            continue
        kind, found = match.lastgroup, match.group()
        span = Span(source, offset, match.end())
        offset = match.end()
        match kind:
            case "space":
                pass
            case "comment":
                on_line = bool(tokens) and tokens[-1].span.finish.line == span.begin.line
                comments.append(Comment(found, on_line, span))
            case "open":
                diagnostics.error("DL103", "this comment has no end", span, "close it with `*/`")
                offset = len(text)
            case "line":
                if not re.match(r"#\s*(line\b|\d)", found):
                    hint = "run it through the C preprocessor first: cpp -P program.dl"
                    diagnostics.error("DL123", "this line is for the C preprocessor", span, hint)
            case "float":
                add(TokenKind.FLOAT, found, float(found))
            case "based" | "int":
                value = int(found.rstrip("u"), 0) if kind == "based" else int(found.rstrip("u"))
                if value > INT_MAX + 1:
                    hint = "write it as a float, `1.0e20`, or as text if nothing is computed with it"
                    diagnostics.error("DL105", "this number does not fit into a 64-bit int", span, hint)
                    value = 0
                add(TokenKind.INT, found, value)
            case "name":
                add(TokenKind.NAME, found)
            case "string":
                add(TokenKind.STRING, "", _unescaped(found[1:-1]))
            case _:
                add(TokenKind.SYMBOL, found)
    span = Span(source, len(text), len(text))
    add(TokenKind.END, "")
    return tokens, comments


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text, flags=re.DOTALL)
