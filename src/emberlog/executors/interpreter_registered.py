"""Functions and aggregates that the user registered, called from the interpreter: whatever they do wrong is a Fault."""

from __future__ import annotations

import math
from collections.abc import Callable

from emberlog.datatypes import BOOL, FLOAT, INT, INT_MAX, INT_MIN, STRING, DataType
from emberlog.executors.interpreter_faults import Fault
from emberlog.semantics.functions import Functions
from emberlog.semantics.model import CellValue

_PYTHON_TYPES: dict[DataType, type] = {INT: int, FLOAT: float, STRING: str, BOOL: bool}


def registered_scalar(functions: Functions, name: str) -> Callable[..., CellValue] | None:
    """None if the function is built in."""
    function = functions.scalars[name]
    if function.implementation is None:
        return None
    return _checked(name, function.implementation, function.result(()))


def registered_aggregate(functions: Functions, name: str) -> Callable[..., CellValue] | None:
    """A function of the list of a group's values; None if the aggregate is built in."""
    aggregate = functions.aggregates[name]
    if aggregate.implementation is None:
        return None
    return _checked(name, aggregate.implementation, aggregate.result(()))


def _checked(name: str, implementation: Callable[..., object], result: DataType) -> Callable[..., CellValue]:
    wanted = _PYTHON_TYPES.get(result)

    def called(*arguments: object) -> CellValue:
        try:
            value = implementation(*arguments)
        except Exception as error:
            raise Fault("DL505", f"the function `{name}` failed with {type(error).__name__}: {error}") from None
        if wanted is float and type(value) is int:
            value = float(value)
        if value is None:
            return None
        if wanted is not None and type(value) is not wanted:
            raise Fault("DL505", f"the function `{name}` gave a {type(value).__name__}, not {result.described}")
        if isinstance(value, int) and not INT_MIN <= value <= INT_MAX:
            raise Fault("DL502", "the result does not fit in a 64-bit int")
        if isinstance(value, float) and not math.isfinite(value):
            raise Fault("DL502", "the result is not a finite number")
        if not isinstance(value, bool | int | float | str | tuple):
            raise Fault("DL505", f"the function `{name}` gave a {type(value).__name__}, which programs do not know")
        return value

    return called
