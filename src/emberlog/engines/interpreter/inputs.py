"""The facts that the caller gives to the interpreter, checked and converted to the types of the plan."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from emberlog.datatypes import BOOL, FLOAT, INT, INT_MAX, INT_MIN, STRING, TIMESTAMP, DataType
from emberlog.diagnostics import EmberlogError, fail, nearest
from emberlog.language.values import shown
from emberlog.logical.nodes import Field
from emberlog.semantics.model import CellValue, Fact

_PYTHON_TYPES: Mapping[DataType, tuple[type, ...]] = {
    INT: (int,),
    FLOAT: (float, int),
    STRING: (str,),
    BOOL: (bool,),
    TIMESTAMP: (int, float),
}


def read_input(name: str, columns: Sequence[Field], inputs: Mapping[str, Iterable[Fact]]) -> frozenset[Fact]:
    if name not in inputs:
        guess = nearest(name, inputs)
        notes = [f"did you mean `{guess}`? facts were given for it"] if guess else []
        raise fail("DL401", f"there are no facts for the relation `{name}`", None, *notes)
    facts = [tuple(fact) for fact in inputs[name]]
    for fact in facts:
        if len(fact) != len(columns):
            raise fail(
                "DL402",
                f"a fact of `{name}` has {len(fact)} values, but the program uses {len(columns)}",
                None,
                f"the fact is {name}({', '.join(map(shown, fact))})",
            )
    by_column = [_column(name, field, [fact[i] for fact in facts]) for i, field in enumerate(columns)]
    return frozenset(zip(*by_column, strict=True))


def _column(name: str, field: Field, values: Sequence[CellValue]) -> Sequence[CellValue]:
    is_float = field.type == FLOAT or (not field.type.is_known and any(type(value) is float for value in values))
    accepted = _PYTHON_TYPES.get(FLOAT if is_float else field.type)
    for value in values:
        if value is None or accepted is None:
            continue
        if type(value) not in accepted or not _is_in_range(value):
            raise _misfit(name, field, value)
    return [_as_float(name, field, value) for value in values] if is_float else values


def _as_float(name: str, field: Field, value: CellValue) -> CellValue:
    """The same number as a float, with one zero."""
    if not isinstance(value, int | float):
        return value
    if float(value) != value:
        raise fail("DL506", f"{value:,} in the column `{field.name}` of `{name}` has no equal float")
    return float(value) + 0.0


def _is_in_range(value: CellValue) -> bool:
    match value:
        case float():
            return math.isfinite(value)
        case int():
            return INT_MIN <= value <= INT_MAX
        case _:
            return True


def _misfit(name: str, field: Field, value: CellValue) -> EmberlogError:
    return fail("DL403", f"{shown(value)} in the column `{field.name}` of `{name}` does not fit its type {field.type}")
