"""Walking over tokens and saying what was expected: the ground under the parsers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from emberlog.diagnostics import Diagnostics
from emberlog.source import Span
from emberlog.syntax.lexer import Token, TokenKind
from emberlog.syntax.vocabulary import LITERALS

T = TypeVar("T")

DEEPEST = 100
"""How deep parentheses and operators may nest; every later stage can recurse that far."""


class SyntaxProblem(Exception):
    """Unwinds to the statement; the diagnostic is reported already."""


class TokenReader:
    def __init__(self, tokens: list[Token], diagnostics: Diagnostics) -> None:
        self.tokens = tokens
        self.diagnostics = diagnostics
        self.index = 0
        self.depth = 0
        self.begun = 0
        """Where the statement begins that is being read."""
        self.garbled = [found.span.start for found in diagnostics.found if found.span is not None]

    def peek(self, ahead: int = 0) -> Token:
        try:
            return self.tokens[self.index + ahead]
        except IndexError:
            return self.tokens[-1]

    def previous(self) -> Token:
        return self.tokens[max(self.index - 1, 0)]

    def take(self) -> Token:
        token = self.tokens[self.index]
        if token.kind is not TokenKind.END:
            self.index += 1
        return token

    def report(self, code: str, message: str, span: Span, *notes: str) -> None:
        self.diagnostics.error(code, message, span, *notes)

    def problem(self, code: str, message: str, span: Span, *notes: str) -> SyntaxProblem:
        """Reports an error and gives the exception that skips the rest of the statement."""
        if not self.is_garbled(span):
            self.report(code, message, span, *notes)
        return SyntaxProblem()

    def is_garbled(self, span: Span) -> bool:
        """Tells whether the statement has something up to here that is no token: then what follows is no second
        error."""
        return any(self.begun <= offset <= span.end for offset in self.garbled)

    def expected(self, what: str, *notes: str) -> SyntaxProblem:
        found = self.peek()
        return self.problem("DL110", f"expected {what}, found {found.describe()}", found.span, *notes)

    def expect(self, symbol: str) -> Token:
        token = self.tokens[self.index]
        if not token.is_symbol(symbol):
            begins_value = token.kind not in (TokenKind.SYMBOL, TokenKind.END)
            raise self.expected("`,` or `)`" if symbol == ")" and begins_value else f"`{symbol}`")
        self.index += 1
        return token

    def expect_name(self, what: str) -> Token:
        if self.peek().kind is not TokenKind.NAME:
            raise self.expected(what)
        return self.take()

    def expect_relation(self, what: str) -> Token:
        name = self.expect_name(what)
        if name.is_word(*LITERALS):
            self.report(
                "DL243",
                f"`{name.text}` is a value, and cannot be the name of a relation",
                name.span,
                "`null`, `true` and `false` are values in any case; choose another name",
            )
        return name

    def separated(self, item: Callable[[], T]) -> list[T]:
        """Returns one or more items with commas between."""
        items = [item()]
        while self.tokens[self.index].is_symbol(","):
            self.index += 1
            items.append(item())
        return items

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.problem(
                "DL112",
                f"this nests deeper than {DEEPEST} levels",
                self.peek().span,
                "split it: give parts of it names with `X = …` or rules of their own",
            )

    def matching_parenthesis(self, ahead: int = 0) -> int:
        """Returns the index of the `)` that closes the `(` that many tokens ahead, or of the last token."""
        level = 0
        for index in range(self.index + ahead, len(self.tokens)):
            token = self.tokens[index]
            if token.kind is not TokenKind.SYMBOL:
                continue
            if token.text == "(":
                level += 1
            elif token.text == ")":
                level -= 1
                if level == 0:
                    return index
        return len(self.tokens) - 1
