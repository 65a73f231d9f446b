"""What is known of one text of a program: its words, what they stand for, their types, and what is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from threading import RLock

from emberlog.datatypes import UNKNOWN, DataType, join_types
from emberlog.diagnostics import Diagnostic, Diagnostics
from emberlog.dialects import parse_tolerantly, tokenize
from emberlog.editor.symbols import Stretch, Symbol, SymbolKind, stretches_of, symbols_of
from emberlog.editor.undisturbed import without_collections
from emberlog.semantics.analysis import Examination, examine
from emberlog.source import Source, Span
from emberlog.syntax import ast
from emberlog.syntax.lexer import Token, TokenKind

_MARKS = ("//", "%", "#", "/*")


class ProgramView:
    """Finds out what is asked for, once, and at the first question; several threads may ask."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._lock = RLock()

    @property
    def text(self) -> str:
        return self.source.text

    @cached_property
    def program(self) -> ast.Program:
        with self._lock, without_collections():
            return parse_tolerantly(self.source)

    @cached_property
    def examination(self) -> Examination:
        with self._lock, without_collections():
            return examine(self.program)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        return self.examination.diagnostics

    @cached_property
    def tokens(self) -> list[Token]:
        with self._lock:
            return tokenize(self.source, Diagnostics())[0]

    @cached_property
    def stretches(self) -> list[Stretch]:
        return stretches_of(self.program, self.tokens)

    @cached_property
    def symbols(self) -> list[Symbol]:
        with self._lock:
            return symbols_of(self.program, self.tokens, self.stretches)

    def at(self, offset: int) -> Symbol | None:
        """Returns the word at a place, or the one that ends there."""
        touching = [one for one in self.symbols if one.span.start <= offset <= one.span.end]
        return touching[-1] if touching else None

    def stretch_at(self, offset: int) -> int:
        """Returns the index of the statement at a place, or before it; -1 before the first."""
        return sum(one.start <= offset for one in self.stretches) - 1

    def is_in_comment_or_text(self, offset: int) -> bool:
        """Tells whether a place is inside a comment or a text, where no word stands for anything."""
        if any(one.span.start < offset <= one.span.end for one in self.program.comments):
            return True
        return any(one.kind is TokenKind.STRING and one.span.start < offset < one.span.end for one in self.tokens)

    # --- words that stand for the same --------------------------------------------------------------------------------

    def occurrences(self, symbol: Symbol) -> list[Symbol]:
        """Returns the words that stand for the same thing, in the order of the text."""
        is_local = symbol.kind is SymbolKind.VARIABLE
        return [
            one
            for one in self.symbols
            if one.kind is symbol.kind
            and one.name == symbol.name
            and (not is_local or one.statement == symbol.statement)
        ]

    def definitions(self, symbol: Symbol) -> list[Symbol]:
        """Returns where a relation is declared, or else its rules and facts; of a variable or a parameter, where it
        stands first: in the body, which gives a variable its value."""
        found = self.occurrences(symbol)
        match symbol.kind:
            case SymbolKind.RELATION:
                declared = [one for one in found if isinstance(self._statement(one), ast.Declaration)]
                return declared or [one for one in found if one.is_definition]
            case SymbolKind.VARIABLE:
                statement = self._statement(symbol)
                body = statement.body if isinstance(statement, ast.Rule) else None
                return [one for one in found if body is None or one.span.start >= body.span.start][:1] or found[:1]
            case SymbolKind.PARAMETER:
                return found[:1]
            case _:
                return []

    def _statement(self, symbol: Symbol) -> ast.Statement | None:
        return self.stretches[symbol.statement].statement if symbol.statement >= 0 else None

    # --- what is known of them ----------------------------------------------------------------------------------------

    def type_of(self, variable: Symbol) -> DataType:
        """Returns the type of a variable in its rule."""
        stretch = self.stretches[variable.statement]
        found = UNKNOWN
        for rule in self.examination.rules:
            if rule.statement is not None and stretch.start <= rule.statement.head.span.start < stretch.end:
                found = join_types(found, rule.types.get(variable.name, UNKNOWN)) or found
        return found if found.is_known else self._type_by_atoms(variable)

    def _type_by_atoms(self, variable: Symbol) -> DataType:
        """Returns the type of a variable in a rule that has errors: that of a column where it stands alone."""
        found = UNKNOWN
        indices = {token.span.start: index for index, token in enumerate(self.tokens)}
        for symbol in self.symbols:
            relation = self.examination.relations.get(symbol.name)
            if symbol.kind is SymbolKind.RELATION and symbol.statement == variable.statement and relation is not None:
                arguments = list(_arguments(self.tokens, indices[symbol.span.start] + 1))
                for argument, column in zip(arguments, relation.columns, strict=False):
                    if argument == [variable.name]:
                        found = join_types(found, column.type) or found
        return found

    def rules_of(self, relation: str) -> Iterator[ast.Rule]:
        """Yields the rules and facts of a relation, as they are written."""
        for statement in self.program.statements:
            if isinstance(statement, ast.Rule) and any(head.predicate == relation for head in statement.heads):
                yield statement

    @cached_property
    def _comments_by_last_line(self) -> Mapping[int, ast.Comment]:
        return {one.span.finish.line: one for one in self.program.comments if not one.trailing}

    def documentation(self, relation: str) -> str:
        """Returns the comment above the declaration of a relation, or above the first rule that has one."""
        statements: list[ast.Statement] = [
            one for one in self.program.statements if isinstance(one, ast.Declaration) and one.predicate == relation
        ]
        for statement in [*statements, *self.rules_of(relation)]:
            if found := self._comment_above(statement.span):
                return found
        return ""

    def _comment_above(self, span: Span) -> str:
        lines: list[str] = []
        line = span.begin.line - 1
        while (comment := self._comments_by_last_line.get(line)) is not None:
            lines = [*_plain(comment.text), *lines]
            line = comment.span.begin.line - 1
        return "\n".join(lines).strip()


def _arguments(tokens: list[Token], index: int) -> Iterator[list[str]]:
    """Yields the words of each argument between parentheses, of which the first is at an index."""
    depth = 0
    argument: list[str] = []
    for token in tokens[index:]:
        depth += token.is_symbol("(", "[") - token.is_symbol(")", "]")
        if depth < 1 or token.is_symbol(".", ":-") or token.kind is TokenKind.END:
            break
        if depth == 1 and token.is_symbol("(", ","):
            if token.is_symbol(","):
                yield argument
            argument = []
        else:
            argument.append(token.text)
    yield argument


def _plain(comment: str) -> list[str]:
    """Returns the lines of a comment without its marks."""
    if comment.startswith("/*"):
        return [line.strip().removeprefix("*").strip() for line in comment[2:].removesuffix("*/").splitlines()]
    mark = next(one for one in _MARKS if comment.startswith(one))
    return [comment.lstrip(mark[0]).strip()]
