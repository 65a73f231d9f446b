"""Spells dates, timestamps and durations in ISO 8601, and decimals in digits, and reads them: what only the type of a
value tells.

A timestamp without a time zone is in UTC. Digits beyond a microsecond are refused, not cut off.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone
from functools import cache

from emberlog.datatypes import DATE, DURATION, TIMESTAMP, TYPE_NAMES, DataType, decimal_of
from emberlog.language.values import CellValue, text_of

MICROSECOND = 1
SECOND = 1_000_000
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86_400 * SECOND

EPOCH = date(1970, 1, 1)
FIRST_DAY, LAST_DAY = (one.toordinal() - EPOCH.toordinal() for one in (date.min, date.max))
FIRST_MOMENT, LAST_MOMENT = FIRST_DAY * DAY, (LAST_DAY + 1) * DAY - 1
"""The calendar has the years 1 to 9999."""

UNITS = {"days": DAY, "hours": HOUR, "minutes": MINUTE, "seconds": SECOND, "milliseconds": 1000, "microseconds": 1}
"""Of durations, in microseconds; the largest first."""

_DATE = r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
_DAY = re.compile(_DATE)
_MOMENT = re.compile(
    rf"{_DATE}(?:[T ]([0-9]{{2}}):([0-9]{{2}})(?::([0-9]{{2}})(?:[.,]([0-9]{{1,6}})0*)?)?"
    r"(?: ?(Z|[+-][0-9]{2}(?::?[0-9]{2})?))?)?"
)
_DURATION = re.compile(
    r"([+-])?P(?:([0-9]+)W)?(?:([0-9]+)D)?"
    r"(?:T(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+)(?:[.,]([0-9]{1,6})0*)?S)?)?"
)


def moment_of(time: int) -> datetime:
    """Returns a timestamp as Python knows it, in UTC without saying so."""
    return datetime(1970, 1, 1) + timedelta(microseconds=time)


def time_of(moment: datetime) -> int:
    """Returns the microseconds of a moment, which is in UTC if it has no time zone."""
    known = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (known - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def day_of(day: int) -> date:
    return EPOCH + timedelta(days=day)


def days_of(day: date) -> int:
    return day.toordinal() - EPOCH.toordinal()


# --- writing --------------------------------------------------------------------------------------------------------


def spelled(value: CellValue, type_: DataType) -> str:
    """Returns a value as `string` writes it."""
    if value is None or not type_.is_told_by_type:
        return text_of(value)
    if isinstance(value, tuple):
        parts = type_.parts * len(value) if type_.name == "list" else type_.parts
        return f"({', '.join(spelled(one, part) for one, part in zip(value, parts, strict=True))})"
    if not isinstance(value, int):
        return text_of(value)  # a clock can be a plain number
    if type_ == DATE:
        return day_of(value).isoformat() if FIRST_DAY <= value <= LAST_DAY else str(value)
    if type_ == TIMESTAMP:
        return f"{moment_of(value).isoformat()}Z" if FIRST_MOMENT <= value <= LAST_MOMENT else str(value)
    if type_ == DURATION:
        return _spelled_duration(value)
    return spelled_decimal(value, type_.scale or 0)


def _spelled_duration(value: int) -> str:
    days, rest = divmod(abs(value), DAY)
    hours, rest = divmod(rest, HOUR)
    minutes, rest = divmod(rest, MINUTE)
    seconds, fraction = divmod(rest, SECOND)
    of_seconds = f"{seconds}.{fraction:06}".rstrip("0").rstrip(".") if fraction else str(seconds)
    of_time = "".join(
        f"{amount}{letter}"
        for amount, letter in ((hours, "H"), (minutes, "M"), (of_seconds, "S"))
        if amount not in (0, "0")
    )
    text = f"P{days}D" if days else "P"
    text += f"T{of_time}" if of_time else ("" if days else "T0S")
    return f"-{text}" if value < 0 else text


def spelled_decimal(value: int, scale: int) -> str:
    """Returns a decimal with all digits of its scale: `0.10`."""
    digits = str(abs(value)).rjust(scale + 1, "0")
    text = f"{digits[:-scale]}.{digits[-scale:]}" if scale else digits
    return f"-{text}" if value < 0 else text


def literal(value: int, type_: DataType) -> str:
    """Returns a value as programs write it: `date "2026-01-05"`, `3 days`, `0.10m`."""
    if type_ == DATE:
        return f'date "{spelled(value, type_)}"'
    if type_ == TIMESTAMP:
        return f'timestamp "{spelled(value, type_).replace("T", " ").removesuffix("Z")}"'
    if type_ == DURATION:
        unit = next(name for name, size in UNITS.items() if value % size == 0)
        amount = value // UNITS[unit]
        return f"{amount} {unit if abs(amount) != 1 else unit[:-1]}"
    return f"{spelled_decimal(value, type_.scale or 0)}m"


# --- reading --------------------------------------------------------------------------------------------------------


def read_date(text: str) -> int:
    """Returns the day that a text spells; raises ValueError if it spells none."""
    found = _DAY.fullmatch(text)
    if found is None:
        raise ValueError(text)
    return days_of(date(*map(int, found.groups())))


def read_timestamp(text: str) -> int:
    """Returns the moment that a text spells, a day being its midnight; raises ValueError if it spells none."""
    found = _MOMENT.fullmatch(text)
    if found is None:
        raise ValueError(text)
    *numbers, fraction, zone = found.groups()
    year, month, day, hour, minute, second = (int(number or 0) for number in numbers)
    moment = datetime(year, month, day, hour, minute, second, int((fraction or "0").ljust(6, "0")), _zone(zone))
    time = time_of(moment)
    if not FIRST_MOMENT <= time <= LAST_MOMENT:
        raise ValueError(text)
    return time


def _zone(text: str | None) -> timezone:
    if text is None or text == "Z":
        return UTC
    hours, minutes = int(text[1:3]), int(text[-2:]) if len(text) > 3 else 0
    if hours > 23 or minutes > 59:
        raise ValueError(text)
    return timezone((-1 if text[0] == "-" else 1) * timedelta(hours=hours, minutes=minutes))


def read_duration(text: str) -> int:
    """Returns the duration that a text of ISO 8601 spells, such as `P3DT2H`; raises ValueError if it spells none."""
    found = _DURATION.fullmatch(text)
    if found is None or text[-1] in "PT":
        raise ValueError(text)
    sign, *amounts, fraction = found.groups()
    sizes = (7 * DAY, DAY, HOUR, MINUTE, SECOND)
    total = sum(int(amount or 0) * size for amount, size in zip(amounts, sizes, strict=True))
    total += int((fraction or "0").ljust(6, "0"))
    total = -total if sign == "-" else total
    if not -(2**63) <= total < 2**63:
        raise ValueError(text)
    return total


def read_cell(text: str, type_: DataType) -> int:
    """Returns the value of a type that a text spells; raises ValueError if it spells none."""
    if type_ == DATE:
        return read_date(text)
    return read_timestamp(text) if type_ == TIMESTAMP else read_duration(text)


@cache
def type_named(text: str) -> DataType:
    """Returns the type that is written so, which may be a pair or a list of others."""
    if text.endswith(">"):
        name, _, inside = text[:-1].partition("<")
        return DataType(name, tuple(map(type_named, _split(inside))))
    if text.startswith("decimal("):
        return decimal_of(int(text[8:-1]))
    return TYPE_NAMES.get(text, DataType(text))


def _split(text: str) -> list[str]:
    """Returns the types that commas separate, those inside others left alone."""
    parts, depth, begun = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and not depth:
            parts.append(text[begun:place].strip())
            begun = place + 1
    return [*parts, text[begun:].strip()]
