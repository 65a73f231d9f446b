"""Defines the comparisons. Numbers compare as the numbers that they are, text by code points, `false` is less than
`true`, pairs compare part by part, and nothing agrees with null."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from emberlog.language.faults import Fault
from emberlog.language.values import CellValue, kind_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from emberlog.language.entry import Vector
    from emberlog.language.spark_columns import Scope, Typed


@dataclass(frozen=True, slots=True)
class Comparison:
    """Describes a comparison and its implementations."""

    symbol: str
    meaning: str
    compare: Callable[[Any, Any], Any]
    """Python's own operator, which is numpy's, too."""
    is_ordered: bool = True
    """Whether the values need an order."""

    def python(self, left: CellValue, right: CellValue) -> bool:
        """Tells whether the comparison holds."""
        if left is None or right is None:
            return False
        if type(left) is not type(right) and not {type(left), type(right)} <= {int, float}:
            if self.is_ordered:
                raise Fault("DL403", f"{kind_of(left)} and {kind_of(right)} have no order")
            return self.symbol == "!="  # in Python, true equals 1
        return bool(self.compare(left, right))

    def vector(self, left: Vector, right: Vector) -> npt.NDArray[np.bool_]:
        """Tells for which rows the comparison holds."""
        if left.dtype.kind == "i" and right.dtype.kind == "f":
            return self.compare(_order_of_numbers(left, right), 0)  # type: ignore[no-any-return]
        if left.dtype.kind == "f" and right.dtype.kind == "i":
            return self.compare(0, _order_of_numbers(right, left))  # type: ignore[no-any-return]
        return self.compare(left, right)  # type: ignore[no-any-return]

    def spark(self, scope: Scope, left: Typed, right: Typed) -> Typed:
        """Returns the comparison as a column that is null where a side has no value."""
        from emberlog.language import spark_columns as spark

        return spark.compared(scope, self.compare, left, right)


def _order_of_numbers(whole: Vector, real: Vector) -> Vector:
    """Returns -1, 0 or 1 for an int that is less than, equal to or greater than a float. As floats, numbers that differ
    can only become equal: then the ints decide, for such a float has no fraction where ints are rounded."""
    import numpy as np

    near = whole.astype(np.float64)
    order = np.sign(near - real).astype(np.int64)
    unclear = (order == 0) & (np.abs(near) >= 2.0**53)
    if unclear.any():
        places = np.flatnonzero(unclear)
        order[places] = [
            (a > b) - (a < b) for a, b in zip(whole[places].tolist(), map(int, real[places].tolist()), strict=True)
        ]
    return order


COMPARISONS = {
    one.symbol: one
    for one in (
        Comparison("=", "equal", operator.eq, is_ordered=False),
        Comparison("!=", "not equal", operator.ne, is_ordered=False),
        Comparison("<", "less", operator.lt),
        Comparison("<=", "less or equal", operator.le),
        Comparison(">", "greater", operator.gt),
        Comparison(">=", "greater or equal", operator.ge),
    )
}
"""By the symbols of the syntax tree."""
