"""The types of columns and values."""

from __future__ import annotations

from collections.abc import Mapping, Sized
from dataclasses import dataclass, field
from typing import assert_never


@dataclass(frozen=True, slots=True)
class Branch:
    """One form of the values of a declared type: `Node(left: Tree, right: Tree)`."""

    name: str
    fields: tuple[tuple[str, DataType], ...]
    opening: str
    """How its values begin as text: `$Node(`; all of the text of a branch without fields."""


@dataclass(frozen=True, slots=True)
class Named:
    """What a program declares of a type, beside how its values are kept."""

    name: str
    above: tuple[str, ...] = field(default=(), compare=False)
    """The types whose subtype it is, the nearest first."""
    least: int | None = field(default=None, compare=False)
    greatest: int | None = field(default=None, compare=False)
    """The bounds of whole numbers; None where there is no other than that of 64 bits."""
    scope: Mapping[str, tuple[Branch, ...]] = field(default_factory=dict, compare=False, repr=False)
    """The branches of all types of the program: fields of one may be of any other, and of the same."""

    @property
    def branches(self) -> tuple[Branch, ...]:
        return self.scope.get(self.name, ())


@dataclass(frozen=True, slots=True)
class DataType:
    """A type; `parts` are the element types of a pair or a list, `scale` the digits behind the point of a decimal.

    Two types are equal if their values are kept and computed alike, whatever the program calls them: the values of a
    subtype are those of its base, and the values of a record are texts, `$Node($Leaf(1), $Leaf(2))`. Only the type
    checker looks at names."""

    name: str
    parts: tuple[DataType, ...] = ()
    scale: int | None = None
    named: Named | None = field(default=None, compare=False)

    def __eq__(self, other: object) -> bool:
        # Nearly all types are one of a few objects, and types are compared all the time.
        if self is other:
            return True
        if not isinstance(other, DataType):
            return NotImplemented
        return self.name == other.name and self.parts == other.parts and self.scale == other.scale

    def __str__(self) -> str:
        if self.named is not None:
            return self.named.name
        if self.scale is not None:
            return f"{self.name}({self.scale})"
        if not self.parts:
            return self.name
        return f"{self.name}<{', '.join(map(str, self.parts))}>"

    @property
    def described(self) -> str:
        """With its article: `an int`, `a string`."""
        return f"{'an' if str(self)[0] in 'aeiAEIO' else 'a'} {self}"

    @property
    def is_record(self) -> bool:
        """Tells whether values have fields, in one of several branches."""
        return self.named is not None and bool(self.named.branches)

    @property
    def bounds(self) -> tuple[int, int] | None:
        """Returns the least and the greatest value of a declared type of ints that has not all of them."""
        if self.named is None or (self.named.least is None and self.named.greatest is None):
            return None
        least, greatest = self.named.least, self.named.greatest
        return INT_MIN if least is None else least, INT_MAX if greatest is None else greatest

    @property
    def underlying(self) -> DataType:
        """Returns the type without the name that a program gives it; that of a record is a part of what it is."""
        if self.named is None or self.is_record:
            return self
        return DataType(self.name, self.parts, self.scale)

    @property
    def is_numeric(self) -> bool:
        return self.name in ("int", "float") or self.scale is not None

    @property
    def is_decimal(self) -> bool:
        return self.scale is not None

    @property
    def is_whole(self) -> bool:
        """Whether values are ints while a program runs: ints themselves, moments, durations and decimals."""
        return self in (INT, DATE, TIMESTAMP, DURATION) or self.is_decimal

    @property
    def is_told_by_type(self) -> bool:
        """Whether only the type tells what a value means: it is an int that stands for something, or holds such."""
        return (self.is_whole and self != INT) or any(part.is_told_by_type for part in self.parts)

    @property
    def is_known(self) -> bool:
        return self is not UNKNOWN and self.name != "unknown" and all(part.is_known for part in self.parts)

    @property
    def is_coded(self) -> bool:
        """Tells whether workers keep values as codes: texts, and pairs and lists by how they are spelled."""
        return self == STRING or bool(self.parts)

    def types_of(self, parts: Sized) -> tuple[DataType, ...]:
        """Returns the types of the parts of a value: two of a pair, one for each element of a list."""
        return self.parts * len(parts) if self.name == "list" else self.parts

    @property
    def depth(self) -> int:
        return 1 + max((part.depth for part in self.parts), default=0)


INT = DataType("int")
FLOAT = DataType("float")
STRING = DataType("string")
BOOL = DataType("bool")
TIMESTAMP = DataType("timestamp")
"""A moment: microseconds since 1970 in UTC."""
DATE = DataType("date")
"""A day: days since 1970."""
DURATION = DataType("duration")
"""A length of time: microseconds."""
UNKNOWN = DataType("unknown")
"""The type of a column about which nothing is known before the data is there."""

INT_MIN, INT_MAX = -(2**63), 2**63 - 1

FIRST, SECOND = "first", "second"
"""The fields of a struct that is a pair, in Spark and in Arrow."""

UNSIGNED = DataType("int", named=Named("unsigned", (), 0))
INT32 = DataType("int", named=Named("int32", (), -(2**31), 2**31 - 1))
UNSIGNED32 = DataType("int", named=Named("unsigned32", ("unsigned",), 0, 2**32 - 1))
"""Ints within bounds: a value for such a column that is outside of them is an error."""

TYPE_NAMES = {
    "int": INT,
    "integer": INT,
    "long": INT,
    "number": INT,
    "float": FLOAT,
    "double": FLOAT,
    "string": STRING,
    "symbol": STRING,
    "bool": BOOL,
    "boolean": BOOL,
    "timestamp": TIMESTAMP,
    "date": DATE,
    "duration": DURATION,
    "unsigned": UNSIGNED,
    "int32": INT32,
    "unsigned32": UNSIGNED32,
}
"""Every spelling of a type that a declaration accepts, in lower case."""


def type_of_value(value: bool | int | float | str | None) -> DataType:
    """Returns the type of a constant; that of null depends on where it stands."""
    match value:
        case None:
            return UNKNOWN
        case bool():
            return BOOL
        case int():
            return INT
        case float():
            return FLOAT
        case str():
            return STRING
    assert_never(value)


def pair_of(first: DataType, second: DataType) -> DataType:
    """The type of `encd(first, second)`: ordered by `first`, then by `second`."""
    return DataType("pair", (first, second))


def decimal_of(scale: int) -> DataType:
    """The type of decimals with so many digits behind the point: a value is kept as an int, times 10 to the scale."""
    return DataType("decimal", (), scale)


def list_of(element: DataType) -> DataType:
    """The type of `collect<element>`."""
    return DataType("list", (element,))


def _joined_decimals(left: DataType, right: DataType) -> DataType | None:
    """Returns the decimal with the larger scale; an int has the scale 0, and a float is no decimal."""
    if not all(one.is_decimal or one == INT for one in (left, right)):
        return None
    return decimal_of(max(left.scale or 0, right.scale or 0))


def _joined_names(left: DataType, right: DataType) -> DataType | None:
    """Returns the narrowest of the declared types that holds the values of both, which are kept alike."""
    if left.named == right.named:
        return left
    if left.is_record or right.is_record:
        return None
    names = [(one.named.name, *one.named.above) if one.named else () for one in (left, right)]
    if names[0] and names[0][0] in names[1]:
        return left
    return right if names[1] and names[1][0] in names[0] else left.underlying


def join_types(left: DataType, right: DataType) -> DataType | None:
    """The narrowest type that holds both, or None: unknown gives way, int widens to float."""
    if left is right:
        return left
    if left == right and not left.parts:
        return _joined_names(left, right)
    if left == UNKNOWN:
        return right
    if right == UNKNOWN:
        return left
    if left.is_decimal or right.is_decimal:
        return _joined_decimals(left, right)
    if left.is_numeric and right.is_numeric:
        return FLOAT
    if left.name == right.name and len(left.parts) == len(right.parts):
        parts = [join_types(a, b) for a, b in zip(left.parts, right.parts, strict=True)]
        known = tuple(part for part in parts if part is not None)
        return DataType(left.name, known) if len(known) == len(parts) and parts else None
    return None
