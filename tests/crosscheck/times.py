"""The oracle's dates, timestamps, durations and decimals: those of Python, with what docs/language.md says of them.

A timestamp is a datetime in UTC that does not say so. A decimal carries its scale as its exponent.
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

Timed: TypeAlias = date | datetime | timedelta

MICROSECOND = timedelta(microseconds=1)
DAY = timedelta(days=1)
EPOCH = datetime(1970, 1, 1)


class Beyond(Exception):
    """A moment is not in the calendar."""


class NotWholeDays(Exception):
    """A date and a duration that is not of whole days give no date."""


class NotSpelled(Exception):
    """A text spells no moment."""


def microseconds(duration: timedelta) -> int:
    return duration // MICROSECOND


def midnight(moment: Timed) -> datetime:
    """A moment as a timestamp."""
    assert isinstance(moment, date)
    return moment if isinstance(moment, datetime) else datetime(moment.year, moment.month, moment.day)


def moved(moment: date, duration: timedelta) -> date:
    """A moment that is later by a duration, of the same type."""
    try:
        later = midnight(moment) + duration
    except OverflowError:
        raise Beyond from None
    if isinstance(moment, datetime):
        return later
    if duration % DAY:
        raise NotWholeDays
    return later.date()


def whole(moment: date) -> int:
    """What `int` gives: days, or microseconds, since 1970."""
    if isinstance(moment, datetime):
        return microseconds(moment - EPOCH)
    return (midnight(moment) - EPOCH) // DAY


def from_microseconds(number: int) -> datetime:
    try:
        return EPOCH + number * MICROSECOND
    except OverflowError:
        raise Beyond from None


def add_months(moment: date, months: int) -> date:
    number = moment.year * 12 + moment.month - 1 + months
    year, month = number // 12, number % 12 + 1
    if not 1 <= year <= 9999:
        raise Beyond
    return moment.replace(year=year, month=month, day=min(moment.day, monthrange(year, month)[1]))


UNITS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second")


def truncated(moment: date, unit: str) -> date:
    start = midnight(moment)
    zeros = {"microsecond": 0, "second": 0, "minute": 0, "hour": 0}
    if unit in ("second", "minute", "hour"):
        kept = ("second", "minute", "hour")[("second", "minute", "hour").index(unit) :]
        start = start.replace(**{name: 0 for name in zeros if name not in kept})  # type: ignore[arg-type]
    else:
        start = start.replace(**zeros)  # type: ignore[arg-type]
    match unit:
        case "year":
            start = start.replace(month=1, day=1)
        case "quarter":
            start = start.replace(month=(1, 4, 7, 10)[(start.month - 1) // 3], day=1)
        case "month":
            start = start.replace(day=1)
        case "week":
            start = datetime.fromordinal(start.toordinal() - (start.isoweekday() - 1))
        case _:
            pass
    return start if isinstance(moment, datetime) else start.date()


def field(moment: date, name: str) -> int:
    known = midnight(moment)
    match name:
        case "weekday":
            return known.isoweekday()
        case "day_of_year":
            return known.toordinal() - datetime(known.year, 1, 1).toordinal() + 1
        case "week":
            return known.isocalendar()[1]
        case _:
            return int(getattr(known, name))


# --- text -----------------------------------------------------------------------------------------------------------


def spelled(value: Timed | Decimal) -> str:
    match value:
        case datetime():
            return f"{value.isoformat()}Z"
        case date():
            return value.isoformat()
        case timedelta():
            return _spelled_duration(value)
        case Decimal():
            return f"{value:f}"


def _spelled_duration(value: timedelta) -> str:
    size = abs(value)
    hours, rest = divmod(size.seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    exact = str(Decimal(seconds) + Decimal(size.microseconds) / 10**6)
    exact = exact.rstrip("0").rstrip(".") if "." in exact else exact
    if "E" in exact:  # a few microseconds
        exact = f"{Decimal(exact):f}"
    clock = "".join(
        f"{amount}{letter}" for amount, letter in ((hours, "H"), (minutes, "M"), (exact, "S")) if str(amount) != "0"
    )
    days = f"{size.days}D" if size.days else ""
    text = f"P{days}T{clock}" if clock else f"P{days}" if days else "PT0S"
    return f"-{text}" if value < timedelta(0) else text


FORMATS = {
    "%Y-%m-%d": r"(?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2})",
    "%d.%m.%Y %H:%M": r"(?P<day>\d{2})\.(?P<month>\d{2})\.(?P<year>\d{4}) (?P<hour>\d{2}):(?P<minute>\d{2})",
    "%Y%m%d%H%M%S%f": (
        r"(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})"
        r"(?P<hour>\d{2})(?P<minute>\d{2})(?P<second>\d{2})(?P<microsecond>\d{6})"
    ),
    "%H:%M%%": r"(?P<hour>\d{2}):(?P<minute>\d{2})%",
    "%Y": r"(?P<year>\d{4})",
}
"""Those that can be read, with what they look like."""
WRITTEN = (*FORMATS, "%j", "%u/%V", "day %d", "%%Y")


def formatted(moment: date, format: str) -> str:
    known = midnight(moment)
    parts = {
        "%Y": f"{known.year:04}",
        "%j": f"{field(known, 'day_of_year'):03}",
        "%u": str(known.isoweekday()),
        "%V": f"{field(known, 'week'):02}",
        "%f": f"{known.microsecond:06}",
        "%%": "%",
        **dict(zip(("%m", "%d", "%H", "%M", "%S"), known.strftime("%m %d %H %M %S").split(), strict=True)),
    }
    return "".join(parts.get(part, part) for part in re.split("(%.)", format))


def parsed(text: str, format: str) -> datetime:
    found = re.fullmatch(FORMATS[format], text, re.ASCII)
    if found is None:
        raise NotSpelled
    try:
        return EPOCH.replace(**{name: int(digits) for name, digits in found.groupdict().items()})  # type: ignore[arg-type]
    except ValueError:
        raise NotSpelled from None


def read_timestamp(text: str) -> datetime:
    """Reads what Python reads, of the forms that programs of a test have."""
    if not re.match(r"\d{4}-\d{2}-\d{2}", text, re.ASCII):
        raise NotSpelled
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo is None else found.astimezone(UTC)).replace(tzinfo=None)
    except (ValueError, OverflowError):
        raise NotSpelled from None


def read_date(text: str) -> date:
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", text, re.ASCII):
        raise NotSpelled
    return read_timestamp(text).date()


# --- decimals -------------------------------------------------------------------------------------------------------


def scale_of(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    return -exponent


def decimal_of(exact: Fraction, scale: int) -> Decimal | None:
    """The nearest decimal of a scale, halves away from zero; None if it does not fit in 64 bits."""
    scaled = abs(exact) * 10**scale
    number = int(scaled + Fraction(1, 2))
    number = number if exact >= 0 else -number
    if not -(2**63) <= number < 2**63:
        return None
    return Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -scale))
