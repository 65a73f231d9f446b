"""Functions that Spark runs in Python: those that the user registered, and the few that only Python gets right.

Functions inside functions are sent to the executors by value, so these need no Emberlog there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from emberlog.datatypes import BOOL, FLOAT, INT, STRING, DataType
from emberlog.executors.dataframe.faults import fault_text
from emberlog.io.spark_types import spark_type

Udf = Callable[..., Column]


def _udf(function: Callable[..., Any], result: DataType) -> Udf:
    """Spark takes calls of Python for cheap and writes them into every place that reads their result: a chain of them
    would double with every link. What may be different each time, it leaves where it is."""
    udf: Any = F.udf(function, spark_type(result), useArrow=True)
    return udf.asNondeterministic()  # type: ignore[no-any-return]


@cache
def float_text_udf() -> Udf:
    """The shortest text that reads back as the same float, as Python writes it. Java's looks different."""

    def float_text(value: float | None) -> str | None:
        return None if value is None else repr(value)

    return _udf(float_text, STRING)


@cache
def rounding_udf() -> Udf:
    """Rounds to a number of digits that Spark only takes as a constant. Halves go away from zero."""

    def rounded(value: float | None, digits: int | None) -> float | None:
        from decimal import ROUND_HALF_UP, Context, Decimal

        if value is None or digits is None:
            return None
        places = max(-400, min(400, digits))
        exact = Context(prec=800)
        return float(Decimal(repr(value)).quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP, context=exact))

    return _udf(rounded, FLOAT)


def scalar_udf(name: str, implementation: Callable[..., object], result: DataType, rules: str | None) -> Udf:
    """A registered function of one row. It is not called where an argument is null, and the result is null there."""
    checked = _checked(name, implementation, result, rules)

    def one_row(*arguments: Any) -> Any:
        return None if None in arguments else checked(*arguments)

    return _udf(one_row, result)


def aggregate_udf(name: str, implementation: Callable[..., object], result: DataType, rules: str | None) -> Udf:
    """A registered aggregate: a function of the list of a group's values. Without any values it is null."""
    checked = _checked(name, implementation, result, rules)

    def one_group(values: Any) -> Any:
        return None if values is None or len(values) == 0 else checked(list(values))

    return _udf(one_group, result)


def _checked(name: str, implementation: Callable[..., object], result: DataType, rules: str | None) -> Udf:
    """The function, with its failures and with results that are no values of the language made into faults."""
    wanted: Any = {INT: int, FLOAT: float, STRING: str, BOOL: bool}.get(result)
    failed = fault_text("DL505", f"the function `{name}` failed with \0", rules)
    article = "an" if result == INT else "a"
    misfit = fault_text("DL505", f"the function `{name}` gave a \0, not {article} {result}", rules)
    overflow = fault_text("DL502", "the result does not fit in a 64-bit int", rules)
    not_finite = fault_text("DL502", "the result is not a finite number", rules)

    def called(*arguments: Any) -> Any:
        import math

        try:
            value = implementation(*arguments)
        except Exception as error:
            raise ValueError(failed.replace("\0", f"{type(error).__name__}: {error}")) from None
        if wanted is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if value is None or wanted is None:
            return value
        if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
            raise ValueError(misfit.replace("\0", type(value).__name__))
        if wanted is int and not -(2**63) <= value < 2**63:
            raise ValueError(overflow)
        if wanted is float and not math.isfinite(value):
            raise ValueError(not_finite)
        return value

    return called
