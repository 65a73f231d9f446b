"""The facts that the caller supplies, checked against the columns of the program and converted to their types."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Set

from emberlog.datatypes import (
    FLOAT,
    INT,
    INT_MAX,
    INT_MIN,
    TIMESTAMP,
    UNKNOWN,
    DataType,
    join_types,
    type_of_value,
)
from emberlog.diagnostics import EmberlogError, fail, nearest
from emberlog.semantics.model import CellValue, CheckedProgram, Column, Fact, Relation
from emberlog.source import NOWHERE, Span
from tests.oracle.expressions import shown

ARTICLES = {"int": "an"}


def check_inputs(
    checked: CheckedProgram, needed: Set[str], inputs: Mapping[str, Iterable[Fact]]
) -> dict[str, frozenset[Fact]]:
    """The facts of every needed input; raises an error for one that is missing or does not fit."""
    result = {}
    for name in checked.inputs:
        if name in needed:
            if name not in inputs:
                raise _missing(checked, name, inputs)
            result[name] = _facts_of(checked.relations[name], inputs[name])
    return result


def _facts_of(relation: Relation, given: Iterable[Fact]) -> frozenset[Fact]:
    facts = [tuple(fact) for fact in given]
    for fact in facts:
        if len(fact) != relation.arity:
            raise fail(
                "DL402",
                f"a fact of `{relation.name}` has {len(fact)} values, but the program uses {relation.arity}",
                None,
                f"the fact is {relation.name}{_shown_fact(fact)}; the program has {relation}",
            )
    columns = [
        _converted(relation, column, [fact[index] for fact in facts]) for index, column in enumerate(relation.columns)
    ]
    return frozenset(zip(*columns, strict=True)) if columns else frozenset(facts)


def _missing(checked: CheckedProgram, name: str, inputs: Mapping[str, Iterable[Fact]]) -> EmberlogError:
    notes = []
    if (given := nearest(name, inputs)) is not None:
        notes.append(f"did you mean `{given}`? facts were given for it")
    elif (other := nearest(name, checked.relations)) is not None:
        notes.append(f"did you mean `{other}`? the program has it")
    notes.append("give its facts, or write them in the program")
    place = _place(checked.relations[name])
    return fail("DL401", f"there are no facts for the relation `{name}`", place, *notes)


def _place(relation: Relation) -> Span | None:
    return None if relation.span is NOWHERE else relation.span


def _converted(relation: Relation, column: Column, values: list[CellValue]) -> list[CellValue]:
    """The values of one column in its type. A column of unknown type takes the type of its values."""
    type_ = column.type
    for value in values:
        type_of_value = _type_of(value)
        # A number may stand for a time: a stream's clock can be a plain count.
        is_time = column.type == TIMESTAMP and type_of_value in (INT, FLOAT)
        # What only the type tells is an int here.
        is_told = column.type.is_told_by_type and not column.type.parts and type_of_value == INT
        joined = column.type if is_time or is_told else join_types(type_, type_of_value)
        if not _is_in_range(value):
            raise _misfit(relation, column, value, "a 64-bit int" if isinstance(value, int) else "a finite float")
        if joined is None or (column.type.is_known and joined != column.type):
            raise _misfit(relation, column, value, f"{ARTICLES.get(type_.name, 'a')} {type_}")
        type_ = joined
    if type_ == FLOAT:
        return [_as_float(relation, column, value) for value in values]
    return values


def _as_float(relation: Relation, column: Column, value: CellValue) -> CellValue:
    """The same number as a float, and one zero."""
    if not isinstance(value, int | float):
        return value
    if float(value) != value:
        raise fail("DL506", f"{value:,} in the column `{column.name}` of `{relation.name}` has no equal float")
    return float(value) + 0.0


def _type_of(value: CellValue) -> DataType:
    match value:
        case bool() | int() | float() | str():
            return type_of_value(value)
        case _:  # null is of every type, and no input column is of pairs or lists only
            return UNKNOWN


def _is_in_range(value: CellValue) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, int) or INT_MIN <= value <= INT_MAX


def _misfit(relation: Relation, column: Column, value: CellValue, expected: str) -> EmberlogError:
    message = f"{shown(value)} in the column `{column.name}` of `{relation.name}` is not {expected}"
    # Where a declaration fixed the type it is worth showing.
    return fail("DL403", message, _place(relation) if relation.is_declared else None)


def _shown_fact(fact: Fact) -> str:
    return f"({', '.join(shown(value) for value in fact)})"
