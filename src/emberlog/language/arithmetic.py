"""Says which types the operators take, and what they give: numbers, and lengths of time."""

from __future__ import annotations

from emberlog.datatypes import DATE, DURATION, FLOAT, INT, TIMESTAMP, UNKNOWN, DataType, join_types

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
    is_unclear = UNKNOWN in (left, right) and not guesses
    if symbol == "/":
        return UNKNOWN if is_unclear and FLOAT not in (left, right) else FLOAT
    if symbol in ("div", "mod"):
        return UNKNOWN if is_unclear else INT if FLOAT not in (left, right) else None
    if UNKNOWN in (left, right):
        # One float makes it a float whatever the other is; an int says nothing about it.
        return FLOAT if FLOAT in (left, right) else UNKNOWN
    return join_types(left, right)
