"""Defines conversions between types, and pairs."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from emberlog.datatypes import BOOL, DATE, DURATION, FLOAT, INT, STRING, TIMESTAMP, UNKNOWN, DataType, pair_of
from emberlog.language.entry import ANY, ORDERED, PAIR, Constants, Function, Types, always, sometimes
from emberlog.language.faults import Fault
from emberlog.language.numbers import to_ints
from emberlog.language.values import CellValue, Number, in_range, kind_of, narrowed, number, text_of, widened

if TYPE_CHECKING:
    from emberlog.language.entry import Bad, Vector
    from emberlog.language.spark_columns import Scope, Typed

BLANKS = " \t\n\r\f\v"
"""What may stand around a number in text."""

_WHOLE = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def _to_int(value: CellValue) -> Number:
    match value:
        case str():
            spelled = value.strip(BLANKS)
            if not _WHOLE.fullmatch(spelled):
                raise Fault("DL503", f'"{value}" is not an int')
            # Longer texts cannot fit anyway, and Python refuses to read very long ones.
            return in_range(int(spelled) if len(spelled.lstrip("+-0")) < 30 else 2**64)
        case bool():
            return int(value)
        case _:
            return in_range(math.trunc(number(value)))


def _to_float(value: CellValue) -> Number:
    match value:
        case str():
            spelled = value.strip(BLANKS)
            if not _DECIMAL.fullmatch(spelled):
                raise Fault("DL503", f'"{value}" is not a number')
            return in_range(float(spelled))
        case bool():
            return float(value)
        case _:
            return in_range(float(number(value)))


def _part_of(index: int) -> Callable[[CellValue], CellValue]:
    def part(value: CellValue) -> CellValue:
        if isinstance(value, tuple) and len(value) == 2:
            return value[index]
        raise Fault("DL403", f"{kind_of(value)} is not a pair made by encd")

    return part


# --- vectors --------------------------------------------------------------------------------------------------------


def _int_vector(values: Vector) -> tuple[Vector, Bad]:
    import numpy as np

    if values.dtype.kind == "f":
        return to_ints(np.trunc(values))
    return (values.astype(np.int64), None) if values.dtype.kind in "ib" else row_by_row(_to_int, np.int64)(values)


def _float_vector(values: Vector) -> tuple[Vector, Bad]:
    import numpy as np

    if values.dtype.kind in "ifb":
        return values.astype(np.float64), None
    return row_by_row(_to_float, np.float64)(values)


def _widened_vector(values: Vector) -> tuple[Vector, Bad]:
    import numpy as np

    result = values.astype(np.float64)
    if not len(values) or max(abs(int(values.min())), abs(int(values.max()))) <= 2**53:
        return result, None
    # The largest ints round up to a float that no int is equal to.
    back = np.where(result < 2.0**63, result, 0.0).astype(np.int64)
    bad = back != values
    return result, bad if bad.any() else None


def _narrowed_vector(values: Vector) -> tuple[Vector, Bad]:
    import numpy as np

    result, far = to_ints(np.trunc(values))
    bad = np.trunc(values) != values
    bad = bad if far is None else bad | far
    return result, bad if bad.any() else None


def row_by_row(function: Callable[..., Any], dtype: Any) -> Callable[..., tuple[Vector, Bad]]:
    """Returns the form over vectors of a function that only Python computes."""

    def computed(*columns: Vector) -> tuple[Vector, Bad]:
        import numpy as np

        rows = len(columns[0])
        result, bad = np.zeros(rows, dtype), np.zeros(rows, np.bool_)
        for place, arguments in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
            try:
                result[place] = function(*arguments)
            except Fault:
                bad[place] = True
        return result, bad if bad.any() else None

    return computed


# --- columns of Spark -----------------------------------------------------------------------------------------------


def _string_column(scope: Scope, operands: list[Typed]) -> Typed:
    from emberlog.language import spark_columns as spark

    (one,) = operands
    if one.type in (INT, BOOL, STRING):
        one = scope.closed(one)
        return spark.from_operands(one.column.cast("string"), STRING, [one])
    return spark.through_python(scope, TO_STRING, operands)


def _float_column(scope: Scope, operands: list[Typed]) -> Typed:
    from emberlog.language import spark_columns as spark

    (one,) = operands
    if one.type == FLOAT:
        return one
    if one.type == INT:
        return replace(one, column=one.column.cast("double"), type=FLOAT, is_simple=False, constant=None)
    one = scope.bound(one)
    if one.type == BOOL:
        return spark.from_operands(one.column.cast("double"), FLOAT, [one])
    return spark.read_text(one, f"[{BLANKS}]*(?:{_DECIMAL.pattern})[{BLANKS}]*", FLOAT, '" is not a number')


def _int_column(scope: Scope, operands: list[Typed]) -> Typed:
    from emberlog.language import spark_columns as spark

    (one,) = operands
    if one.type.is_whole:
        return replace(one, type=INT, constant=None)
    one = scope.bound(one)
    if one.type == FLOAT:
        return spark.whole(one.column, one)
    if one.type == BOOL:
        return spark.from_operands(one.column.cast("long"), INT, [one])
    return spark.read_text(one, f"[{BLANKS}]*{_WHOLE.pattern}[{BLANKS}]*", INT, '" is not an int')


def _widened_column(scope: Scope, operands: list[Typed]) -> Typed:
    from emberlog.language import spark_columns as spark

    return spark.widened(scope.bound(operands[0]))


def _narrowed_column(scope: Scope, operands: list[Typed]) -> Typed:
    from emberlog.language import spark_columns as spark

    return spark.narrowed(scope.bound(operands[0]))


def _pair_column(scope: Scope, operands: list[Typed]) -> Typed:
    from emberlog.language import spark_columns as spark

    return spark.paired(scope, operands)


def _part_column(index: int) -> Callable[[Scope, list[Typed]], Typed]:
    def compiled(_scope: Scope, operands: list[Typed]) -> Typed:
        from emberlog.language import spark_columns as spark

        return spark.part_of(operands[0], index)

    return compiled


# --- the entries ----------------------------------------------------------------------------------------------------


def _reads(total: tuple[DataType, ...]) -> Callable[[Types, Constants], bool]:
    """Returns the test for conversions that fail but for values of some types."""
    return lambda types, _constants: types[0] not in total


def _part_type(index: int) -> Callable[[Types], DataType]:
    return lambda types: types[0].parts[index] if types[0].name == "pair" and types[0].parts else UNKNOWN


TO_STRING = Function(
    name="to_string",
    parameters=(ANY,),
    result=always(STRING),
    signature="to_string(X)",
    meaning="X as text; of a float the shortest text that reads back as the same float, of moments and durations that "
    "of ISO 8601",
    python=text_of,
    spark=_string_column,
)

TO_NUMBER = Function(
    name="to_number",
    parameters=(STRING,),
    result=always(FLOAT),
    signature="to_number(S)",
    meaning="the number that S spells, as a float; other text is an error",
    python=_to_float,
    vector=_float_vector,
    spark=_float_column,
    fails=sometimes,
)

FUNCTIONS = (
    TO_STRING,
    TO_NUMBER,
    Function(
        name="int",
        parameters=(ANY,),
        result=always(INT),
        signature="int(X)",
        meaning="X as an int: a float loses its fraction, text is read, a timestamp and a duration count "
        "microseconds, a date days since 1970",
        python=_to_int,
        vector=_int_vector,
        spark=_int_column,
        fails=_reads((INT, BOOL, DATE, TIMESTAMP, DURATION)),
        rises=True,
        keeps_sign=True,
    ),
    Function(
        name="float",
        parameters=(ANY,),
        result=always(FLOAT),
        signature="float(X)",
        meaning="X as a float, the nearest one to a large int: text is read",
        python=_to_float,
        vector=_float_vector,
        spark=_float_column,
        fails=_reads((INT, FLOAT, BOOL)),
        rises=True,
        keeps_sign=True,
    ),
    replace(TO_STRING, name="string", signature="string(X)", meaning="the same as to_string"),
    Function(
        name="encd",
        parameters=(ORDERED, ORDERED),
        result=lambda types: pair_of(types[0], types[1]),
        signature="encd(D, C)",
        meaning="D and C as one value, ordered by D and then by C",
        python=lambda first, second: (first, second),
        spark=_pair_column,
    ),
    Function(
        name="decd_first",
        parameters=(PAIR,),
        result=_part_type(0),
        signature="decd_first(P)",
        meaning="the D of a pair made by encd",
        python=_part_of(0),
        spark=_part_column(0),
        rises=True,
    ),
    Function(
        name="decd_second",
        parameters=(PAIR,),
        result=_part_type(1),
        signature="decd_second(P)",
        meaning="the C of a pair made by encd",
        python=_part_of(1),
        spark=_part_column(1),
    ),
)

WIDEN = Function(
    name="float!",
    parameters=(INT,),
    result=always(FLOAT),
    signature="float!(X)",
    meaning="the float that is equal to the int, where a column is of floats; an error if there is none",
    python=widened,
    vector=_widened_vector,
    spark=_widened_column,
    fails=sometimes,
    rises=True,
    keeps_sign=True,
)
"""What the type checker writes where an int goes into a column of floats. Programs cannot write it."""

NARROW = Function(
    name="int!",
    parameters=(FLOAT,),
    result=always(INT),
    signature="int!(X)",
    meaning="the int that is equal to the float, where a float is looked for among ints; an error if there is none",
    python=narrowed,
    vector=_narrowed_vector,
    spark=_narrowed_column,
    fails=sometimes,
    rises=True,
    keeps_sign=True,
)
"""What the type checker writes where a float is looked for in a column of ints. Programs cannot write it."""
