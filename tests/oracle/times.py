"""Moments and lengths of time, computed with Python's own calendar: no code of `src` is used."""

from __future__ import annotations

import calendar
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

from tests.oracle import decimals

_EPOCH = datetime(1970, 1, 1)


class OutOfCalendar(Exception):
    """A moment is before the year 1 or behind the year 9999."""


class NoMoment(Exception):
    """A text, a format or a unit is none; it says which."""


class NotWholeDays(Exception):
    """A date and a duration give no date."""


def moment(time: int) -> datetime:
    """The moment of so many microseconds."""
    try:
        return _EPOCH + timedelta(microseconds=time)
    except OverflowError:
        raise OutOfCalendar from None


def number(found: datetime) -> int:
    """The microseconds of a moment."""
    return (found - _EPOCH) // timedelta(microseconds=1)


def _later(time: int, duration: int) -> int:
    try:
        return number(_EPOCH + (timedelta(microseconds=time) + timedelta(microseconds=duration)))
    except OverflowError:
        raise OutOfCalendar from None


def _midnight(day: int) -> int:
    try:
        return number(_EPOCH + timedelta(days=day))
    except OverflowError:
        raise OutOfCalendar from None


def _whole_day(time: int) -> int:
    found = timedelta(microseconds=time)
    if found.seconds or found.microseconds:
        raise NotWholeDays
    return found.days


def _truncate(time: int, unit: str) -> int:
    found = moment(time)
    fields = {"year": 1, "month": 2, "day": 3, "hour": 4, "minute": 5, "second": 6}
    if unit == "week":
        day = found.date().toordinal() - found.date().weekday()
        return number(datetime.combine(date.fromordinal(day), datetime.min.time()))
    if unit == "quarter":
        return number(datetime(found.year, (found.month - 1) // 3 * 3 + 1, 1))
    if unit not in fields:
        raise NoMoment
    names = list(fields)
    later = {name: 1 if name in ("month", "day") else 0 for name in names[names.index(unit) + 1 :]}
    return number(found.replace(**later, microsecond=0))  # type: ignore[arg-type]


def _add_months(time: int, months: int) -> int:
    found = moment(time)
    month = found.year * 12 + found.month - 1 + months
    if not 12 <= month < 120_000:
        raise OutOfCalendar
    year, place = month // 12, month % 12 + 1
    return number(found.replace(year=year, month=place, day=min(found.day, calendar.monthrange(year, place)[1])))


def _by_python(letter: str) -> Callable[[datetime], str]:
    return lambda one: one.strftime("%" + letter)


def _format(time: int, format: str) -> str:
    directives: dict[str, Callable[[datetime], str]] = {
        "Y": lambda one: str(one.year).rjust(4, "0"),
        "u": lambda one: str(one.isoweekday()),
        "V": lambda one: str(one.isocalendar()[1]).rjust(2, "0"),
        "%": lambda _: "%",
        **{letter: _by_python(letter) for letter in "mdHMSfj"},
    }
    found = moment(time)
    pieces = format.split("%")
    result, index = pieces[0], 1
    while index < len(pieces):
        piece = pieces[index]
        if not piece:  # two percent signs, or one at the end
            if index + 1 >= len(pieces):
                raise NoMoment
            result += "%" + pieces[index + 1]
            index += 2
            continue
        if piece[0] not in directives:
            raise NoMoment
        result += "\0" + piece
        index += 1
    written, *others = result.split("\0")
    return written + "".join(directives[one[0]](found) + one[1:] for one in others)


def _clock(hour: int, minute: int, second: int, microsecond: int) -> timedelta:
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError
    return timedelta(hours=hour, minutes=minute, seconds=second, microseconds=microsecond)


def _parse(text: str, format: str) -> int:
    given = {"Y": 1970, "m": 1, "d": 1, "H": 0, "M": 0, "S": 0, "f": 0}
    widths = {"Y": 4, "m": 2, "d": 2, "H": 2, "M": 2, "S": 2, "f": 6}
    seen: dict[str, str] = {}
    place = index = 0
    matches = True
    while index < len(format):
        letter = format[index]
        if letter != "%":
            matches = matches and text[place : place + 1] == letter
            place, index = place + 1, index + 1
            continue
        directive = format[index + 1 : index + 2]
        index += 2
        if directive == "%":
            matches = matches and text[place : place + 1] == "%"
            place += 1
            continue
        if directive not in widths or not directive:
            raise NoMoment
        digits = text[place : place + widths[directive]]
        place += widths[directive]
        if len(digits) < widths[directive] or not (digits.isascii() and digits.isdigit()):
            matches = False
            continue
        matches = matches and seen.setdefault(directive, digits) == digits
        given[directive] = int(digits)
    if not matches or place != len(text):
        raise NoMoment
    try:
        year, month, day, *clock = given.values()
        return number(datetime(year, month, day) + _clock(*clock))
    except ValueError:
        raise NoMoment from None


def _read_timestamp(text: str) -> int:
    plain = text.replace(",", ".")
    has_form = len(plain) >= 10 and plain[4] == plain[7] == "-" and plain.isascii() and plain[:4].isdigit()
    has_form = has_form and (len(plain) == 10 or (plain[10] in "T " and plain[13:14] == ":" and len(plain) >= 16))
    if not has_form:
        raise NoMoment
    day, clock = plain[:10], plain[11:]
    zone = ""
    for sign in "Z+-":
        if sign in clock:
            zone = clock[clock.index(sign) :]
            clock = clock[: clock.index(sign)].removesuffix(" ")
    if clock.count(".") and len(clock.split(".")[1].rstrip("0")) > 6:
        raise NoMoment
    whole, _, fraction = clock.partition(".")
    if "." in clock and (not fraction.isdigit() or whole.count(":") != 2):
        raise NoMoment
    try:
        found = (
            datetime.fromisoformat(f"{day}T{whole or '00:00'}.{fraction[:6].ljust(6, '0')}{zone}")
            if fraction
            else (datetime.fromisoformat(f"{day}T{whole or '00:00'}{zone}"))
        )
        return number(found.astimezone(UTC).replace(tzinfo=None)) if found.tzinfo else number(found)
    except (ValueError, OverflowError):
        raise NoMoment from None


def _read_date(text: str) -> int:
    if len(text) != 10 or not text.isascii() or text[4] + text[7] != "--":
        raise NoMoment
    try:
        return (date.fromisoformat(text) - _EPOCH.date()).days
    except ValueError:
        raise NoMoment from None


def spelled(value: Any, type_: str) -> str:
    """A value of the type that is named, as text."""
    if type_ == "date":
        return str(_EPOCH.date() + timedelta(days=value))
    if type_ == "timestamp":
        try:
            return moment(value).isoformat() + "Z"
        except OutOfCalendar:
            return str(value)
    if type_.startswith("decimal"):
        return decimals.spelled(value, int(type_[8:-1]))
    assert type_ == "duration"
    left = abs(timedelta(microseconds=value))
    hours, minutes = left.seconds // 3600, left.seconds % 3600 // 60
    seconds = f"{left.seconds % 60}.{left.microseconds:06}".rstrip("0").rstrip(".")
    clock = f"{hours}H" * (hours > 0) + f"{minutes}M" * (minutes > 0) + f"{seconds}S" * (seconds != "0")
    text = "P" + f"{left.days}D" * (left.days > 0) + f"T{clock}" * bool(clock)
    return f"{'-' if value < 0 else ''}{'PT0S' if text == 'P' else text}"


def _of_either(read: Callable[[str], int], take: Callable[[int], int]) -> Callable[[Any], int]:
    return lambda value: read(value) if isinstance(value, str) else take(value)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "year": lambda time: moment(time).year,
    "month": lambda time: moment(time).month,
    "day": lambda time: moment(time).day,
    "hour": lambda time: moment(time).hour,
    "minute": lambda time: moment(time).minute,
    "second": lambda time: moment(time).second,
    "weekday": lambda time: moment(time).weekday() + 1,
    "day_of_year": lambda time: int(moment(time).strftime("%j")),
    "week": lambda time: moment(time).isocalendar()[1],
    "truncate": _truncate,
    "add_months": _add_months,
    "format_time": _format,
    "parse_time": _parse,
    "parse_date": lambda text, format: (moment(_parse(text, format)).date() - _EPOCH.date()).days,
    "date": _of_either(_read_date, lambda time: (moment(time).date() - _EPOCH.date()).days),
    "timestamp": _of_either(_read_timestamp, lambda time: number(moment(time))),
    "seconds": lambda duration: timedelta(microseconds=duration) / timedelta(seconds=1),
    "timestamp!": _midnight,
    "later!": _later,
    "earlier!": lambda time, duration: _later(time, -duration),
    "whole_day!": _whole_day,
    "text!": spelled,
}
