"""Shows a program as HTML: line numbers, the rules' names in the margin, colours by the kind of word."""

from __future__ import annotations

from collections.abc import Iterator

from emberlog.diagnostics import Diagnostics
from emberlog.render.pictures.svg import escape
from emberlog.semantics.model import CheckedProgram
from emberlog.source import Source
from emberlog.syntax.lexer import Token, TokenKind, tokenize

LINES_SHOWN = 2_000
"""A program may carry a great many facts; a page with all of them would show nothing."""

_CLASSES = {TokenKind.STRING: "text", TokenKind.INT: "number", TokenKind.FLOAT: "number", TokenKind.PARAMETER: "given"}


def program_listing(checked: CheckedProgram) -> str:
    source = checked.program.source
    lines = _coloured(source).split("\n")
    if lines and not lines[-1]:
        lines.pop()
    names = _rules_by_line(checked)
    inside = _rule_of_line(checked)
    rows = [
        _row(number, names.get(number, []), inside.get(number), line)
        for number, line in enumerate(lines[:LINES_SHOWN], start=1)
    ]
    if len(lines) > LINES_SHOWN:
        rows.append(f'<tr><td></td><td></td><td class="why">… {len(lines) - LINES_SHOWN:,} more lines</td></tr>')
    return '<table class="listing">\n' + "\n".join(rows) + "\n</table>"


def _row(number: int, names: list[str], rule: str | None, line: str) -> str:
    link = f' data-rule="{escape(rule)}"' if rule else ""
    margin = ", ".join(map(escape, names))
    return (
        f'<tr{link}><td class="line">{number}</td><td class="rule-name">{margin}</td><td><code>{line}</code></td></tr>'
    )


def _rules_by_line(checked: CheckedProgram) -> dict[int, list[str]]:
    """Returns the lines in which heads of rules stand, and the rules there; alternatives go by their common name."""
    found: dict[int, list[str]] = {}
    for name, first, _ in _rule_places(checked):
        names = found.setdefault(first, [])
        if name not in names:
            names.append(name)
    return found


def _rule_of_line(checked: CheckedProgram) -> dict[int, str]:
    return {line: name for name, first, last in _rule_places(checked) for line in range(first, last + 1)}


def _rule_places(checked: CheckedProgram) -> Iterator[tuple[str, int, int]]:
    for rule in checked.rules:
        if rule.statement is not None:
            head, whole = rule.statement.head.span, rule.statement.span
            yield rule.name.split(".")[0], head.begin.line, whole.finish.line


def _coloured(source: Source) -> str:
    """Returns the text with its words in spans, none of which goes over the end of a line."""
    tokens, comments = tokenize(source, Diagnostics())
    pieces = [(comment.span, "comment") for comment in comments]
    pieces += [(token.span, kind) for token in tokens if (kind := _kind(token))]
    parts: list[str] = []
    done = 0
    for span, kind in sorted(pieces, key=lambda piece: piece[0].start):
        parts.append(escape(source.text[done : span.start]))
        parts.append("\n".join(f'<span class="{kind}">{escape(line)}</span>' for line in span.text.split("\n")))
        done = span.end
    parts.append(escape(source.text[done:]))
    return "".join(parts)


def _kind(token: Token) -> str | None:
    if token.is_symbol(":-", "<-"):
        return "arrow"
    return _CLASSES.get(token.kind)
