"""Shows a program as HTML: line numbers, the rules' names in the margin, colours by the kind of word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from emberlog.diagnostics import Diagnostics
from emberlog.dialects import tokenize
from emberlog.render.look.html import Html, element, joined
from emberlog.semantics.model import CheckedProgram
from emberlog.source import Source
from emberlog.syntax.lexer import Token, TokenKind

LINES_SHOWN = 2_000
"""A program may carry a great many facts; a page with all of them would show nothing."""

_CLASSES = {
    TokenKind.STRING: "em-text",
    TokenKind.INT: "em-digits",
    TokenKind.FLOAT: "em-digits",
    TokenKind.DECIMAL: "em-digits",
    TokenKind.PARAMETER: "em-given",
}


def program_listing(checked: CheckedProgram, most: int = LINES_SHOWN) -> Html:
    """Shows a program with the names of its rules."""
    return _listing(checked.program.source, _rules_by_line(checked), _rule_of_line(checked), most)


def text_listing(source: Source, most: int = LINES_SHOWN) -> Html:
    """Shows the text of a program, which may have mistakes."""
    return _listing(source, {}, {}, most)


def _listing(source: Source, names: Mapping[int, list[str]], inside: Mapping[int, str], most: int) -> Html:
    lines = coloured_lines(source)
    rows = [
        _row(number, names.get(number, []), inside.get(number), line)
        for number, line in enumerate(lines[:most], start=1)
    ]
    if len(lines) > most:
        more = element("td", f"… {len(lines) - most:,} more lines", class_="em-faint")
        rows.append(element("tr", element("td"), element("td"), more))
    return element("div", element("table", element("tbody", *rows), class_="em-listing"), class_="em-card")


def _row(number: int, names: list[str], rule: str | None, line: Html) -> Html:
    return element(
        "tr",
        element("td", f"{number}", class_="em-line"),
        element("td", ", ".join(names), class_="em-rule"),
        element("td", element("code", line)),
        data_rule=rule,
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


def coloured_lines(source: Source) -> list[Html]:
    """Returns the lines of a text with its words in spans, none of which goes over the end of a line."""
    tokens, comments = tokenize(source, Diagnostics())
    pieces = [(comment.span, "em-comment") for comment in comments]
    pieces += [(token.span, kind) for token in tokens if (kind := _kind(token))]
    lines: list[list[Html | str]] = [[]]

    def add(text: str, kind: str | None) -> None:
        for number, line in enumerate(text.split("\n")):
            if number:
                lines.append([])
            lines[-1].append(element("span", line, class_=kind) if kind else line)

    done = 0
    for span, kind in sorted(pieces, key=lambda piece: piece[0].start):
        add(source.text[done : span.start], None)
        add(span.text, kind)
        done = span.end
    add(source.text[done:], None)
    if len(lines) > 1 and not any(lines[-1]):
        lines.pop()
    return [joined(line) for line in lines]


def _kind(token: Token) -> str | None:
    if token.is_symbol(":-", "<-"):
        return "em-arrow"
    return _CLASSES.get(token.kind)
