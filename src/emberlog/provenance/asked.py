"""Reads what a person asks about: a relation, and values that the relation can have."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import TypeAlias

from emberlog.datatypes import BOOL, FLOAT, STRING, UNKNOWN, DataType
from emberlog.diagnostics import EmberlogError, fail, nearest
from emberlog.io.python_rows import cell_of
from emberlog.language.spellings import read_cell
from emberlog.provenance.facts import FactBase
from emberlog.render.wording import pattern_text
from emberlog.semantics.model import CellValue, Column, Fact, Relation
from emberlog.semantics.rewriting.plain_rules import HOLDS
from emberlog.source import Source
from emberlog.syntax import ast
from emberlog.syntax.parser import parse
from emberlog.syntax.printer import print_expression

_OF_INSTANCE = re.compile(r"^(\w+(?:\.\w+)+)(?=\s*\()")
"""A relation of a component's instance, `graph.edge`, as programs of Soufflé write it."""

Asked: TypeAlias = Sequence[object] | Mapping[str, object]
"""The values of a fact in the order of its columns, or by their names; None, and what has no name, is any value."""


def asked_in_text(text: str) -> tuple[str, Asked]:
    """Reads a fact as people write it, `hcc(4, 1)`, `hcc(4, X)` or `hcc(node: 4)`, in which None stands for any value.
    Raises DL441 if the text is no fact."""
    plain = _OF_INSTANCE.sub(r"`\1`", text.strip().rstrip(".?"))
    try:
        statements = parse(Source("<fact>", f"{plain}?")).statements
    except EmberlogError:
        statements = ()
    match statements:
        case (ast.Query(ast.Atom(predicate, terms) as atom),):
            values = tuple(_constant(term, text) for term in terms)
            return predicate, dict(zip(atom.names, values, strict=True)) if atom.names else values
        case _:
            raise _no_fact(text)


def _constant(term: ast.Expression, text: str) -> ast.Value | None:
    match term:
        case ast.Constant(None):
            raise fail(
                "DL441", f"`{text}` asks for null, which nothing agrees with", None, "`_` is any value, null too"
            )
        case ast.Constant(value):
            return value
        case ast.Unary(ast.Constant(int() | float() as number)):
            return -number
        case ast.Variable() | ast.Wildcard():
            return None
        case ast.Call(function) if function.startswith("$") and not ast.variables_of(term):
            return print_expression(term)
        case ast.Parameter():  # a branch without fields
            return print_expression(term)
        case _:
            raise _no_fact(text)


def _no_fact(text: str) -> EmberlogError:
    hint = "write a relation and constants, tc(1, 4); a variable or _ is any value"
    return fail("DL441", f"`{text}` is not a fact", None, hint)


def asked_relation(known: Sequence[str], relation: str) -> str:
    """Returns the relation; raises DL401 if the run does not have it."""
    if relation in known:
        return relation
    guess = nearest(relation, known)
    hint = f"did you mean `{guess}`?" if guess else f"it has {', '.join(known)}"
    raise fail("DL401", f"the run has no relation `{relation}`", None, hint)


def asked_pattern(relation: Relation, values: Asked) -> tuple[CellValue, ...]:
    """Returns one value per column, in the types of the columns; None is any value."""
    if isinstance(values, Mapping):
        names = [column.name for column in relation.columns]
        for name in values:
            if name not in names:
                guess = nearest(str(name), names)
                hint = f"did you mean `{guess}`?" if guess else f"its columns are {', '.join(names)}"
                raise fail("DL441", f"`{relation.name}` has no column `{name}`", None, hint)
        values = tuple(values.get(name) for name in names)
    if not values and relation.columns == (Column(HOLDS, BOOL),):
        values = (None,)
    if len(values) != relation.arity:
        raise fail(
            "DL441",
            f"`{relation}` has {relation.arity:,} columns, and {len(values):,} values are given",
            None,
            "None stands for any value",
        )
    return tuple(
        None if value is None else _value(relation.name, column.name, column.type, value)
        for column, value in zip(relation.columns, values, strict=True)
    )


def _value(relation: str, column: str, type_: DataType, value: object) -> CellValue:
    if type_.is_told_by_type and not type_.parts and not isinstance(value, int):
        return _told_by_type(relation, column, type_, value)
    if type_ == FLOAT and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type_.parts and isinstance(value, Sequence) and not isinstance(value, str):
        parts = zip(type_.types_of(value), value, strict=True)
        return tuple(_value(relation, column, part, one) for part, one in parts)
    expected = int if type_.is_whole else {FLOAT: float, STRING: str, BOOL: bool}.get(type_, object)
    if not isinstance(value, expected) or (expected is int and isinstance(value, bool)):
        raise fail("DL441", f"the column `{column}` of `{relation}` has values of type {type_}, not {value!r}")
    return value  # type: ignore[return-value]


def _told_by_type(relation: str, column: str, type_: DataType, value: object) -> CellValue:
    """Returns a moment, a length of time or a decimal that is given as such, or as text."""
    try:
        is_text = isinstance(value, str) or type_.is_decimal
        cell, found = (read_cell(str(value), type_), type_) if is_text else cell_of(value)
    except ValueError:
        cell, found = None, UNKNOWN
    if found != type_:
        raise fail("DL441", f"the column `{column}` of `{relation}` has values of type {type_}, not {value!r}")
    return cell


def moment_in(text: str) -> datetime | None:
    """Reads a moment such as `2026-03-02 08:05:00`; None if it is none."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def asked_fact(base: FactBase, relation: str, pattern: tuple[CellValue, ...]) -> Fact:
    """Returns the one fact that agrees with the pattern."""
    return only_fact(relation, pattern, _agreeing(base, relation, pattern))


def only_fact(relation: str, pattern: tuple[CellValue, ...], agreeing: Iterable[Fact]) -> Fact:
    """Returns the one fact there is; raises an error if there is none, or if there are several."""
    found = tuple(islice(agreeing, 2))
    if not found:
        raise fail(
            "DL442",
            f"there is no fact {pattern_text(relation, pattern)}",
            None,
            "`why_not`, or `emberlog why-not`, tells what is missing for it",
        )
    if len(found) > 1:
        examples = " and ".join(pattern_text(relation, fact) for fact in found)
        raise fail("DL443", f"several facts agree with {pattern_text(relation, pattern)}", None, f"{examples}, say")
    return found[0]


def refuse_present(base: FactBase, relation: str, pattern: tuple[CellValue, ...]) -> None:
    """Raises DL445 if a fact agrees with the pattern, because it cannot be refuted."""
    found = next(_agreeing(base, relation, pattern), None)
    if found is not None:
        raise fail("DL445", f"the fact {pattern_text(relation, found)} is there", None, "why tells where it comes from")


def _agreeing(base: FactBase, relation: str, pattern: tuple[CellValue, ...]) -> Iterator[Fact]:
    """Finds the facts that agree with the pattern, each once."""
    wanted = {column: value for column, value in enumerate(pattern) if value is not None}
    seen: set[Fact] = set()
    for fact in base.find(relation, wanted).facts:
        if all(fact[column] == value for column, value in wanted.items()) and fact not in seen:
            seen.add(fact)
            yield fact
