"""Defines the functions that take nulls, and those that choose: `is_null`, `coalesce` and `if`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from emberlog.datatypes import BOOL
from emberlog.language.comparisons import COMPARISONS
from emberlog.language.entry import ANY, ORDERED, Function, Types, always, widest
from emberlog.language.values import CellValue

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from emberlog.language.entry import Bad, Vector
    from emberlog.language.spark_columns import Scope, Typed
    from emberlog.language.vectors import Vector as Masked


def _coalesce(*arguments: Callable[[], CellValue]) -> CellValue:
    return next((found for argument in arguments if (found := argument()) is not None), None)


def _if(
    condition: Callable[[], CellValue], first: Callable[[], CellValue], second: Callable[[], CellValue]
) -> CellValue:
    return first() if condition() is True else second()


# --- vectors --------------------------------------------------------------------------------------------------------


def _is_null_vector(one: Masked) -> tuple[Vector, Bad, Bad]:
    import numpy as np

    return np.zeros(len(one.values), np.bool_) if one.null is None else one.null, one.bad, None


def _coalesce_vectors(*operands: Masked) -> tuple[Vector, Bad, Bad]:
    *others, last = operands
    values, bad, null = last.values, last.bad, last.null
    for one in reversed(others):
        there = ~_mask(one.null, len(values))
        values, bad, null = _either(there, one, values, bad, null)
    return values, bad, null


def _if_vectors(condition: Masked, first: Masked, second: Masked) -> tuple[Vector, Bad, Bad]:
    rows = len(condition.values)
    holds = condition.values.astype(bool) & ~_mask(condition.null, rows) & ~_mask(condition.bad, rows)
    values, bad, null = _either(holds, first, second.values, second.bad, second.null)
    if condition.bad is not None:
        bad = _mask(bad, rows) | condition.bad
        null = None if null is None else null & ~condition.bad
    return values, bad, null


def _either(here: npt.NDArray[np.bool_], one: Masked, values: Vector, bad: Bad, null: Bad) -> tuple[Vector, Bad, Bad]:
    """Returns the one vector where it is chosen, and the other elsewhere."""
    import numpy as np

    def chosen(own: Bad, other: Bad) -> Bad:
        if own is None and other is None:
            return None
        return np.where(here, _mask(own, len(here)), _mask(other, len(here)))

    if one.values.dtype == object or values.dtype == object:  # numpy would take a pair for a row
        both = values.astype(object)
        both[here] = one.values.astype(object)[here]
    else:
        both = np.where(here, one.values, values)
    return both, chosen(one.bad, bad), chosen(one.null, null)


def _mask(mask: Bad, rows: int) -> npt.NDArray[np.bool_]:
    import numpy as np

    return np.zeros(rows, np.bool_) if mask is None else mask


# --- columns of Spark -----------------------------------------------------------------------------------------------


def _is_null_column(scope: Scope, operands: list[Typed]) -> Typed:
    from emberlog.language import spark_columns as spark

    return spark.is_null(scope.bound(operands[0]))


# --- the entries ----------------------------------------------------------------------------------------------------


def _branches(types: Types) -> Any:
    return widest(types[1:])


COALESCE = Function(
    name="coalesce",
    parameters=(ANY, ANY),
    result=widest,
    signature="coalesce(X, Y, …)",
    meaning="the first argument that is not null; those behind it are not computed",
    python=_coalesce,
    masked=_coalesce_vectors,
    takes_nulls=True,
    is_lazy=True,
    is_mixed=True,
    variadic=True,
)

IF = Function(
    name="if",
    parameters=(BOOL, ANY, ANY),
    result=_branches,
    signature="if(Condition, X, Y)",
    meaning="X if the condition holds, and Y if it does not or is null; the other one is not computed",
    python=_if,
    masked=_if_vectors,
    takes_nulls=True,
    is_lazy=True,
)


def _comparison(symbol: str) -> Function:
    """Returns a comparison as a function, for what `if` tests."""
    one = COMPARISONS[symbol]
    return Function(
        name=symbol,
        parameters=(ORDERED, ORDERED) if one.is_ordered else (ANY, ANY),
        result=always(BOOL),
        signature=f"X {symbol} Y",
        meaning=one.meaning,
        python=one.python,
        vector=lambda left, right: (one.vector(left, right), None),
        spark=lambda scope, operands: one.spark(scope, *operands),
    )


def _is_one_of(value: CellValue, *others: CellValue) -> bool:
    return any(COMPARISONS["="].python(value, other) for other in others)


def _one_of_vectors(values: Vector, *others: Vector) -> tuple[Vector, Bad]:
    import numpy as np

    return np.logical_or.reduce([COMPARISONS["="].vector(values, other) for other in others]), None


def _one_of_column(scope: Scope, operands: list[Typed]) -> Typed:
    from emberlog.language import spark_columns as spark

    return spark.one_of(scope, *operands)


ONE_OF = Function(
    name="in!",
    parameters=(ANY, ANY),
    result=always(BOOL),
    signature="X in (…)",
    meaning="whether X is one of the values",
    python=_is_one_of,
    vector=_one_of_vectors,
    spark=_one_of_column,
    variadic=True,
)


def _not_column(_scope: Scope, operands: list[Typed]) -> Typed:
    from emberlog.language import spark_columns as spark

    return spark.from_operands(~operands[0].column, BOOL, operands)


NOT = Function(
    name="not!",
    parameters=(BOOL,),
    result=always(BOOL),
    signature="not X",
    meaning="whether X is false",
    python=lambda value: not value,
    vector=lambda values: (~values.astype(bool), None),
    spark=_not_column,
)

TESTS = (*map(_comparison, COMPARISONS), ONE_OF, NOT)
"""What the parser writes into the condition of an `if`. Programs cannot write them elsewhere."""

FUNCTIONS = (
    Function(
        name="is_null",
        parameters=(ANY,),
        result=always(BOOL),
        signature="is_null(X)",
        meaning="whether X is null",
        python=lambda value: value is None,
        masked=_is_null_vector,
        spark=_is_null_column,
        takes_nulls=True,
    ),
    COALESCE,
    IF,
)
