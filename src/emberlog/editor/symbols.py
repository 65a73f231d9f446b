"""Finds out what each word of a program stands for: a relation, a variable, a function and so on.

Statements that can be read say it themselves, by their tree. Of one that is being written, the words around a word
tell: whoever types wants to be helped in just that statement.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import assert_never

from emberlog.datatypes import TYPE_NAMES
from emberlog.language.registry import PROCEDURES, SCALAR_FUNCTIONS
from emberlog.source import Span
from emberlog.syntax import ast
from emberlog.syntax.expression_parser import INFIX_TESTS
from emberlog.syntax.lexer import Token, TokenKind
from emberlog.syntax.vocabulary import AGGREGATE_NAMES, LITERALS

KEYWORDS = ("declare", "relation", "stream", "query", "window", "aggregate", "not", "and", "or", "div", "mod")
"""Words of the grammar, in any case."""


class SymbolKind(Enum):
    RELATION = "relation"
    VARIABLE = "variable"
    PARAMETER = "parameter"
    FUNCTION = "function"
    AGGREGATE = "aggregate"
    ANNOTATION = "annotation"
    COLUMN = "column"
    TYPE = "type"
    KEYWORD = "keyword"
    CONSTANT = "constant"
    LABEL = "label"


@dataclass(frozen=True, slots=True)
class Symbol:
    """A word of a program, and what it stands for."""

    kind: SymbolKind
    name: str
    span: Span
    statement: int
    """The index of the stretch of text that it stands in: a variable is the same in one of them only."""
    is_definition: bool = False
    """Whether a relation is declared or defined here."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A statement, or text that could not be read as one."""

    start: int
    end: int
    statement: ast.Statement | None


def stretches_of(program: ast.Program, tokens: list[Token]) -> list[Stretch]:
    """Returns the statements in the order of the text, with what lies between them and could not be read."""
    found = [Stretch(one.span.start, one.span.end, one) for one in program.statements]
    found += _unread(sorted(found, key=lambda one: one.start), tokens)
    return sorted(found, key=lambda one: one.start)


def _unread(statements: list[Stretch], tokens: list[Token]) -> Iterator[Stretch]:
    starts = [one.start for one in statements]
    begun: Token | None = None
    last: Token | None = None
    for token in tokens:
        index = bisect_right(starts, token.span.start) - 1
        is_read = index >= 0 and token.span.start < statements[index].end
        is_new = begun is not None and token.span.begin.column == 1
        if begun is not None and last is not None and (is_read or is_new or token.kind is TokenKind.END):
            yield Stretch(begun.span.start, last.span.end, None)
            begun = None
        if is_read or token.kind is TokenKind.END:
            continue
        begun, last = begun or token, token
        if token.is_symbol(".", "?"):
            yield Stretch(begun.span.start, token.span.end, None)
            begun = None


def symbols_of(program: ast.Program, tokens: list[Token], stretches: list[Stretch]) -> list[Symbol]:
    """Returns all words of a program that stand for something, in the order of the text."""
    marks = _marks(program)
    relations = {name for kind, name, _ in marks.values() if kind is SymbolKind.RELATION}
    starts = [one.start for one in stretches]
    found: list[Symbol] = []
    for index, token in enumerate(tokens):
        if token.kind not in (TokenKind.NAME, TokenKind.PARAMETER):
            continue
        place = bisect_right(starts, token.span.start) - 1
        mark = marks.get(token.span.start)
        if mark is None:
            is_broken = place < 0 or stretches[place].statement is None
            mark = _guess(tokens, index, relations, is_broken=is_broken, begins=starts[place] if place >= 0 else 0)
        if mark is not None:
            kind, name, is_definition = mark
            found.append(Symbol(kind, name, token.span, place, is_definition))
    return found


_Mark = tuple[SymbolKind, str, bool]


def _marks(program: ast.Program) -> Mapping[int, _Mark]:
    """Returns what the trees of statements say, by offset."""
    marks: dict[int, _Mark] = {}
    defined = {
        name
        for statement in program.statements
        for name in (
            [head.predicate for head in statement.heads]
            if isinstance(statement, ast.Rule)
            else [statement.predicate]
            if isinstance(statement, ast.Declaration)
            else []
        )
    }
    for statement in program.statements:
        match statement:
            case ast.Rule():
                for head in statement.heads:
                    marks[head.name_span.start] = SymbolKind.RELATION, head.predicate, True
                    marks.update(_of_expressions(head.terms))
                if statement.body is not None:
                    marks.update(_of_parts(statement.body.parts, defined))
            case ast.Query(atom):
                marks[atom.name_span.start] = SymbolKind.RELATION, atom.predicate, False
                marks.update(_of_expressions(atom.terms))
            case ast.Declaration():
                marks[statement.name_span.start] = SymbolKind.RELATION, statement.predicate, True
                for column in statement.columns:
                    written = column.span.text
                    place = 0 if written.startswith((column.name, f"`{column.name}`")) else written.find(column.name)
                    marks[column.span.start + max(place, 0)] = SymbolKind.COLUMN, column.name, True
            case ast.Subsumption(worse, better, body):
                for head in (worse, better):
                    marks[head.name_span.start] = SymbolKind.RELATION, head.predicate, False
                    marks.update(_of_expressions(head.terms))
                marks.update(_of_parts(body.parts if body else (), defined))
            case ast.TypeDeclaration(name=name):
                marks[statement.span.start] = SymbolKind.KEYWORD, "type", False
                marks[statement.name_span.start] = SymbolKind.TYPE, name, True
                for branch in statement.branches:
                    marks[branch.span.start] = SymbolKind.TYPE, branch.name, True
            case ast.ProgramOption():
                pass
            case _:
                assert_never(statement)
    return marks


def _of_parts(parts: Iterable[ast.BodyPart], defined: set[str]) -> Iterator[tuple[int, _Mark]]:
    for part in parts:
        match part:
            case ast.Atom(name, terms):
                is_built_in = name not in defined and (name in PROCEDURES or name in SCALAR_FUNCTIONS)
                if not name.endswith("!"):
                    kind = SymbolKind.FUNCTION if is_built_in else SymbolKind.RELATION
                    yield part.name_span.start, (kind, name, False)
                yield from _of_expressions(terms)
            case ast.Comparison(_, left, right):
                yield from _of_expressions((left, right))
            case ast.Disjunction(alternatives):
                for alternative in alternatives:
                    yield from _of_parts(alternative.parts, defined)
            case ast.Negation(body):
                yield from _of_parts(body.parts, defined)
            case ast.Aggregation(_, value, aggregate, body):
                yield from _of_expressions((value, aggregate))
                yield from _of_parts(body.parts, defined)
            case _:
                assert_never(part)


def _of_expressions(terms: Iterable[ast.HeadTerm]) -> Iterator[tuple[int, _Mark]]:
    for term in terms:
        match term:
            case ast.Variable(name, span):
                yield span.start, (SymbolKind.VARIABLE, name, False)
            case ast.Unary(operand):
                yield from _of_expressions((operand,))
            case ast.Binary(_, left, right):
                yield from _of_expressions((left, right))
            case ast.Call(name, arguments, span):
                if name.startswith("$"):
                    yield span.start, (SymbolKind.PARAMETER, name[1:], False)
                elif span.text.startswith(name):  # `[X, Y]` and conditions are calls, too, and have no name
                    yield span.start, (SymbolKind.FUNCTION, name, False)
                yield from _of_expressions(arguments)
            case ast.AggregateTerm(name, arguments, span):
                yield span.start, (SymbolKind.AGGREGATE, name, False)
                yield from _of_expressions(arguments)
            case ast.Constant() | ast.Parameter() | ast.Wildcard():
                pass
            case _:
                assert_never(term)


def _guess(tokens: list[Token], index: int, relations: set[str], *, is_broken: bool, begins: int) -> _Mark | None:
    """Returns what a word stands for by the words beside it."""
    token, after = tokens[index], tokens[index + 1]
    before = tokens[index - 1] if index else None
    lower = token.text.lower()
    if token.kind is TokenKind.PARAMETER:
        return SymbolKind.PARAMETER, token.text, False
    if before is not None and before.is_symbol("@"):
        return SymbolKind.ANNOTATION, token.text, False
    if token.is_quoted:
        return SymbolKind.RELATION, token.text, False
    if lower in LITERALS:
        return SymbolKind.CONSTANT, lower, False
    if after.is_symbol("(", "<") and (is_broken or after.is_symbol("<")) and token.text not in relations:
        if lower in AGGREGATE_NAMES and (after.is_symbol("<") or token.text not in SCALAR_FUNCTIONS):
            return SymbolKind.AGGREGATE, AGGREGATE_NAMES[lower], False
        if after.is_symbol("(") and (token.text in SCALAR_FUNCTIONS or token.text in PROCEDURES):
            return SymbolKind.FUNCTION, token.text, False
    if lower in (*KEYWORDS, *INFIX_TESTS) and not after.is_symbol(":"):
        return SymbolKind.KEYWORD, lower, False
    if before is not None and before.is_word("aggregate") and lower in AGGREGATE_NAMES:
        return SymbolKind.AGGREGATE, AGGREGATE_NAMES[lower], False
    if after.is_symbol(":"):
        is_label = token.span.start == begins
        return (SymbolKind.LABEL if is_label else SymbolKind.COLUMN), token.text, False
    if lower in TYPE_NAMES or lower == "decimal":
        return SymbolKind.TYPE, lower, False
    if not is_broken:
        return None  # a unit of time, or a column whose name is written in another way
    if after.is_symbol("("):
        return SymbolKind.RELATION, token.text, token.span.start == begins
    return None if token.text == "_" else (SymbolKind.VARIABLE, token.text, False)
