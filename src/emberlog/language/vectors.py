"""Evaluates operations over vectors: the values of many rows at once, where there is none, and where there is null."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from emberlog.datatypes import BOOL, FLOAT, DataType
from emberlog.language.comparisons import Comparison
from emberlog.language.conversions import row_by_row
from emberlog.language.entry import Function

Mask: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Vector:
    """Holds the values of an expression, one for each row. Where a mask is set, the value there means nothing."""

    values: npt.NDArray[Any]
    bad: Mask | None = None
    """The rows for which there is no value."""
    null: Mask | None = None

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.values.dtype


_DTYPES: dict[DataType, Any] = {FLOAT: np.float64, BOOL: np.bool_}


def dtype_of(type_: DataType) -> Any:
    """Returns how values of a type are kept: numbers and truth values as themselves, all others as objects."""
    return np.int64 if type_.is_whole else _DTYPES.get(type_, object)


def apply(function: Function, operands: Sequence[Vector], types: Sequence[DataType]) -> Vector:
    """Returns the values of a function of these operands."""
    if function.masked is not None:
        return Vector(*function.masked(*operands))
    columns = [one.values for one in operands]
    if function.widens(types):
        columns = [column.astype(np.float64) if column.dtype.kind == "i" else column for column in columns]
    null, missing_values = either_of(one.null for one in operands), missing_of(operands)
    missing = either(missing_values, null)
    with np.errstate(all="ignore"):
        if function.vector is not None and not (missing is not None and columns[0].dtype == object):
            values, bad = function.vector(*columns)
        else:
            values, bad, given = _row_by_row(function, columns, types, missing)
            null = either(null, given)
    bad = either(bad, missing_values)
    if bad is not None and null is not None:
        bad = bad & ~null
    return Vector(values, bad, null)


def _row_by_row(
    function: Function, columns: Sequence[npt.NDArray[Any]], types: Sequence[DataType], missing: Mask | None
) -> tuple[npt.NDArray[Any], Mask | None, Mask | None]:
    """Returns the values, where there is none, and where the function itself gives null."""
    dtype = dtype_of(function.result(types))
    compute = row_by_row(function.python, object if function.is_registered else dtype)
    if missing is None:
        values, bad = compute(*columns)
    else:
        there = ~missing
        found, wrong = compute(*(column[there] for column in columns))
        values, bad = np.zeros(len(missing), found.dtype), np.zeros(len(missing), np.bool_)
        values[there] = found
        if wrong is not None:
            bad[there] = wrong
    if not function.is_registered:
        return values, bad, None
    null = np.fromiter((value is None for value in values), np.bool_, len(values))
    if not null.any():
        return values.astype(dtype, copy=False), bad, None
    values[null] = "" if dtype is object else 0
    return values.astype(dtype, copy=False), bad, null


def compare(comparison: Comparison, left: Vector, right: Vector) -> Vector:
    """Returns for which rows a comparison holds; with a null on a side it never does. Where a side has no value it
    cannot be told, null or not on the other side."""
    null = either(left.null, right.null)
    bad = either(left.bad, right.bad)
    if left.dtype == object and (null is not None or bad is not None):
        there = ~either(null, bad)  # type: ignore[operator]
        holds = np.zeros(len(there), np.bool_)
        holds[there] = comparison.vector(left.values[there], right.values[there])
    else:
        holds = comparison.vector(left.values, right.values)
    return Vector(holds if null is None else holds & ~null, bad)


def missing_of(operands: Sequence[Vector]) -> Mask | None:
    """Returns the rows for which an operand has no value."""
    return either_of(one.bad for one in operands)


def either(one: Mask | None, other: Mask | None) -> Mask | None:
    """Returns the rows of one mask or the other; None is no row."""
    if one is None or other is None:
        return other if one is None else one
    return one | other


def either_of(masks: Any) -> Mask | None:
    return reduce(either, masks, None)
