"""Defines what an entry of the language holds: types, laws, documentation, and one implementation per backend.

Backends are plain Python (the interpreter, constants, proofs), vectors of numpy (the workers), and columns of Spark. A
function needs the first; where another is left out, that backend calls the Python one for each row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from emberlog.datatypes import DATE, DURATION, FLOAT, INT, TIMESTAMP, UNKNOWN, DataType, decimal_of, join_types
from emberlog.language.spellings import LARGEST_SCALE
from emberlog.language.values import CellValue

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from emberlog.language.spark_columns import Scope, Typed

    Vector: TypeAlias = npt.NDArray[Any]
    Bad: TypeAlias = npt.NDArray[np.bool_] | None

ANY = DataType("any")
NUMBER = DataType("number")
ORDERED = DataType("ordered")
PAIR = DataType("pair")
LIST = DataType("list")
TEXT_OR_LIST = DataType("string or list")
"""Stand-ins for several types in a signature: any type, int or float, anything but a list, any pair, any list."""


def one_of(*types: DataType) -> DataType:
    """Returns the stand-in for a few types."""
    return DataType("one of", types)


Types: TypeAlias = Sequence[DataType]
Constants: TypeAlias = Sequence[object]
"""The values of the arguments that are constants; UNSET for the others."""

UNSET = object()


def always(result: DataType) -> Callable[[Types], DataType]:
    """Returns the rule for a function that has the same result type for all arguments."""
    return lambda _: result


def widest(types: Types) -> DataType:
    """Returns the narrowest type that holds values of all types."""
    found = UNKNOWN
    for one in types:
        found = join_types(found, one) or UNKNOWN
    return found


def never(_types: Types, _constants: Constants) -> bool:
    """Tells that a function has a value for all arguments."""
    return False


def sometimes(_types: Types, _constants: Constants) -> bool:
    """Tells that a function has no value for some arguments."""
    return True


def of_ints(types: Types, _constants: Constants) -> bool:
    """Tells that a function can leave the range of ints, and has a value for all floats."""
    return FLOAT not in types


def of_floats(types: Types, _constants: Constants) -> bool:
    """Tells that a function can leave the range of ints where it gets a float."""
    return FLOAT in types or UNKNOWN in types


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """Describes a scalar function or an operator. Null in an argument gives null, and nobody is called, unless it
    takes nulls."""

    name: str
    parameters: tuple[DataType, ...]
    result: Callable[[Types], DataType]
    signature: str
    """How documentation writes a call."""
    meaning: str
    python: Callable[..., CellValue]
    """Computes the value of arguments that are not null; raises a Fault if there is none. What is lazy gets each
    argument as a function without arguments."""
    vector: Callable[..., tuple[Vector, Bad]] | None = None
    """Computes the values of whole arrays, and tells where there is none."""
    spark: Callable[[Scope, list[Typed]], Typed] | None = None
    """Makes a column of Spark from those of the arguments."""
    masked: Callable[..., tuple[Vector, Bad, Bad]] | None = None
    """For what takes nulls: the values, where there is none and where there is null, from vectors with such masks."""
    fails: Callable[[Types, Constants], bool] = never
    """Tells whether some arguments of these types have no value. A wrong False loses errors, a wrong True only time."""
    leaves_range: bool = False
    """Law: it fails only where the result would be out of range."""
    takes_nulls: bool = False
    """Law: it is called although an argument is null, and its value need not be null then."""
    is_lazy: bool = False
    """Law: its value is that of one of its arguments, and those that are not chosen are not met: they cannot fail."""
    is_real: bool = False
    """Whether ints are widened to floats before the function sees them."""
    is_mixed: bool = False
    """Whether ints are widened to floats where another argument is a float."""
    variadic: bool = False
    """Whether the last parameter may be repeated."""
    optional: int = 0
    """How many of the last parameters may be left out."""
    rises: bool = False
    """Law: the value never falls while arguments rise."""
    non_negative: bool = False
    """Law: no value is below zero."""
    keeps_sign: bool = False
    """Law: of an argument that is not negative the value is not negative."""
    commutative: bool = False
    """Law: the order of the arguments does not matter."""
    ulps: int = 0
    """How far values of different backends may be apart, in units in the last place."""
    is_registered: bool = False
    """Whether the user brought it: its Python code can do anything."""

    def accepts(self, count: int) -> bool:
        if self.variadic:
            return count >= len(self.parameters) - self.optional
        return len(self.parameters) - self.optional <= count <= len(self.parameters)

    def parameter(self, index: int) -> DataType:
        return self.parameters[min(index, len(self.parameters) - 1)]

    def widens(self, types: Types) -> bool:
        """Tells whether the function takes floats where it is given ints."""
        return self.is_real or (self.is_mixed and FLOAT in types)

    @property
    def precision(self) -> str:
        """Says how exact the value is, as documentation puts it."""
        return f"within {self.ulps} units in the last place" if self.ulps else "exact"


# --- what operators take and give ------------------------------------------------------------------------------------

_OF_TIME: dict[tuple[str, DataType, DataType], DataType] = {
    ("+", TIMESTAMP, DURATION): TIMESTAMP,
    ("+", DURATION, TIMESTAMP): TIMESTAMP,
    ("+", DATE, DURATION): DATE,
    ("+", DURATION, DATE): DATE,
    ("+", DURATION, DURATION): DURATION,
    ("-", TIMESTAMP, DURATION): TIMESTAMP,
    ("-", DATE, DURATION): DATE,
    ("-", TIMESTAMP, TIMESTAMP): DURATION,
    ("-", DATE, DATE): DURATION,
    ("-", TIMESTAMP, DATE): DURATION,
    ("-", DATE, TIMESTAMP): DURATION,
    ("-", DURATION, DURATION): DURATION,
    ("*", DURATION, INT): DURATION,
    ("*", INT, DURATION): DURATION,
    ("/", DURATION, INT): DURATION,
    ("/", DURATION, DURATION): FLOAT,
    ("div", DURATION, INT): DURATION,
    ("div", DURATION, DURATION): INT,
    ("mod", DURATION, DURATION): DURATION,
}
"""`/` of a duration and an int is cut off towards zero, as `div` is."""

OF_TIME = (DATE, TIMESTAMP, DURATION)


def arithmetic_type(symbol: str, left: DataType, right: DataType, *, guesses: bool = True) -> DataType | None:
    """Returns the type of the result, unknown if the operands do not tell it, and None if they do not fit. `guesses`,
    what is not known counts as a number."""
    if left in OF_TIME or right in OF_TIME:
        if left.is_known and right.is_known:
            return _OF_TIME.get((symbol, left, right))
        given = {
            result
            for (one, *types), result in _OF_TIME.items()
            if one == symbol and all(own in (wanted, UNKNOWN) for own, wanted in zip((left, right), types, strict=True))
        }
        return None if not given else given.pop() if len(given) == 1 else UNKNOWN
    if not all(one.is_numeric or not one.is_known for one in (left, right)):
        return None
    if (left.is_decimal or right.is_decimal) and left.is_known and right.is_known:
        return _with_decimals(symbol, left, right)
    is_unclear = UNKNOWN in (left, right) and not guesses
    if (left.is_decimal or right.is_decimal) and symbol in ("div", "mod"):
        return None
    if symbol == "/":
        return UNKNOWN if is_unclear and FLOAT not in (left, right) else FLOAT
    if symbol in ("div", "mod"):
        return UNKNOWN if is_unclear else INT if FLOAT not in (left, right) else None
    if UNKNOWN in (left, right):
        # One float makes it a float whatever the other is; an int says nothing about it.
        return FLOAT if FLOAT in (left, right) else UNKNOWN
    return join_types(left, right)


def _with_decimals(symbol: str, left: DataType, right: DataType) -> DataType | None:
    """Returns the type of an operation of which a side is a decimal; an int is one of scale 0."""
    if symbol == "/" or FLOAT in (left, right):
        return None if symbol in ("div", "mod") else FLOAT
    scales = left.scale or 0, right.scale or 0
    if symbol in ("+", "-"):
        return decimal_of(max(scales))
    return decimal_of(sum(scales)) if symbol == "*" and sum(scales) <= LARGEST_SCALE else None
