"""Defines the functions of lists. A list is a tuple; its elements are of one type, and none of them is null."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from emberlog.datatypes import BOOL, INT, STRING, UNKNOWN, DataType, join_types, list_of
from emberlog.language.comparisons import COMPARISONS
from emberlog.language.entry import ANY, LIST, TEXT_OR_LIST, Function, Types, always, sometimes, widest
from emberlog.language.faults import Fault
from emberlog.language.values import CellValue, kind_of

if TYPE_CHECKING:
    from emberlog.language.spark_columns import Scope, Typed


def _elements(value: CellValue) -> tuple[CellValue, ...]:
    if isinstance(value, tuple):
        return value
    raise Fault("DL403", f"{kind_of(value)} is not a list")


def _nth(values: CellValue, place: Any) -> CellValue:
    elements = _elements(values)
    if -len(elements) <= place < len(elements):
        found: CellValue = elements[place]
        return found
    raise Fault("DL502", f"there is no element {place:,} in a list of {len(elements):,}", "they are counted from 0")


def _len(value: CellValue) -> int:
    if isinstance(value, str | tuple):
        return len(value)
    raise Fault("DL403", f"{kind_of(value)} is not a string or a list")


def _is_member(value: CellValue, elements: CellValue) -> bool:
    return any(COMPARISONS["="].python(value, one) for one in _elements(elements))


def element_of(type_: DataType) -> DataType:
    """Returns the type of the elements of a list."""
    return type_.parts[0] if type_.name == "list" and type_.parts else UNKNOWN


def _longer(types: Types) -> DataType:
    return list_of(join_types(element_of(types[0]), types[1]) or UNKNOWN)


def _len_column(scope: Scope, operands: list[Typed]) -> Typed:
    from pyspark.sql import functions as F

    from emberlog.language import spark_columns as spark

    one = scope.closed(operands[0])
    size = F.length(one.column) if one.type == STRING else F.size(one.column)
    # Of null, Spark says that the size is -1.
    return spark.from_operands(F.when(one.column.isNotNull(), size.cast("long")), INT, [one], conditions=1)


def _list_column(scope: Scope, operands: list[Typed]) -> Typed:
    from pyspark.sql import functions as F

    from emberlog.language import spark_columns as spark

    if operands:
        return spark.through_python(scope, MAKE, operands)
    return spark.Typed(F.array().cast("array<string>"), list_of(UNKNOWN))


MAKE = Function(
    name="list!",
    parameters=(ANY,),
    optional=1,
    variadic=True,
    result=lambda types: list_of(widest(types)),
    signature="[X, Y, …]",
    meaning="the list of the values",
    python=lambda *values: values,
    spark=_list_column,
)
"""What the parser writes for `[X, Y]`."""

MEMBER = Function(
    name="member!",
    parameters=(ANY, LIST),
    result=always(BOOL),
    signature="X in L",
    meaning="whether X is an element of the list",
    python=_is_member,
)
"""What the parser writes for `X in L`. A relation may be called `member`."""

FUNCTIONS = (
    Function(
        name="len",
        parameters=(TEXT_OR_LIST,),
        result=always(INT),
        signature="len(S)",
        meaning="the number of characters of a text, or of elements of a list",
        python=_len,
        spark=_len_column,
        non_negative=True,
    ),
    Function(
        name="append",
        parameters=(LIST, ANY),
        result=_longer,
        signature="append(L, X)",
        meaning="the list with X behind its elements",
        python=lambda values, value: (*_elements(values), value),
    ),
    Function(
        name="prepend",
        parameters=(LIST, ANY),
        result=_longer,
        signature="prepend(L, X)",
        meaning="the list with X before its elements",
        python=lambda values, value: (value, *_elements(values)),
    ),
    Function(
        name="concat",
        parameters=(LIST, LIST),
        result=widest,
        signature="concat(L, M)",
        meaning="the elements of L, and then those of M; texts are joined by cat(S, T)",
        python=lambda one, other: (*_elements(one), *_elements(other)),
    ),
    Function(
        name="nth",
        parameters=(LIST, INT),
        result=lambda types: element_of(types[0]),
        signature="nth(L, N)",
        meaning="the element number N, counted from 0, or from -1 backwards",
        python=_nth,
        fails=sometimes,
    ),
)
