"""Decimals, computed with Python's own: no code of `src` is used. A power of ten tells a scale."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_UP, Decimal, InvalidOperation, localcontext
from typing import Any


class NoNumber(Exception):
    """A text spells no number."""


class TooLarge(Exception):
    """The int that stands for a decimal does not fit in 64 bits."""


class MoreDigits(Exception):
    """A decimal has digits that a smaller scale has no place for."""


def value_of(number: Any, factor: int) -> Decimal:
    """The number that an int stands for, or a float in all its digits."""
    with localcontext() as context:
        context.prec = 1200
        return Decimal(number) / factor


def number_of(value: Decimal, factor: int) -> int:
    """The int that stands for a number, halves away from zero."""
    with localcontext() as context:
        context.prec = 1200
        found = int((value * factor).to_integral_value(ROUND_HALF_UP))
    if not -(2**63) <= found < 2**63:
        raise TooLarge
    return found


def spelled(number: int, scale: int) -> str:
    """All digits of the scale."""
    return f"{value_of(number, 10**scale):.{scale}f}"


def _whole(number: int, factor: int, how: int) -> int:
    modes = (ROUND_DOWN, ROUND_FLOOR, ROUND_CEILING, ROUND_HALF_UP)
    return int(value_of(number, factor).to_integral_value(modes[how]))


def _order(left: Any, left_factor: int, right: Any, right_factor: int) -> int:
    one, other = value_of(left, left_factor), value_of(right, right_factor)
    return 0 if one == other else 1 if one > other else -1


def _decimal(value: Any, factor: int, target: int) -> int:
    if isinstance(value, str):
        text = value.strip(" \t\n\r\f\v")
        try:
            found = Decimal(text)
        except InvalidOperation:
            raise NoNumber from None
        if not text.isascii() or "_" in text or not found.is_finite() or any(map(str.isspace, text)):
            raise NoNumber
        if found and found.adjusted() > 40:
            raise TooLarge
        return number_of(found if found.adjusted() > -40 else Decimal(0), target)
    return number_of(Decimal(repr(value)) if isinstance(value, float) else value_of(value, factor), target)


def _unscaled(number: int, factor: int) -> int:
    found = value_of(number, factor)
    if found != found.to_integral_value():
        raise MoreDigits
    return int(found)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "scaled!": lambda number, factor: number_of(Decimal(number), factor),
    "unscaled!": _unscaled,
    "float_of!": lambda number, factor: float(value_of(number, factor)),
    "whole!": _whole,
    "order!": _order,
    "decimal!": _decimal,
}
