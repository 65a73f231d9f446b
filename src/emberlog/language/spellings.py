"""Spells dates, timestamps and durations in ISO 8601, and decimals in digits, and reads them: what only the type of a
value tells.

A timestamp without a time zone is in UTC. Digits beyond a microsecond are refused, not cut off. Other forms of moments
are formatted and parsed by a few directives, which every engine knows alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone

from emberlog.datatypes import DATE, DURATION, INT_MAX, INT_MIN, TIMESTAMP, DataType
from emberlog.language.faults import Fault
from emberlog.language.values import CellValue, text_of

MICROSECOND = 1
SECOND = 1_000_000
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86_400 * SECOND

EPOCH = date(1970, 1, 1)
FIRST_DAY, LAST_DAY = (one.toordinal() - EPOCH.toordinal() for one in (date.min, date.max))
FIRST_MOMENT, LAST_MOMENT = FIRST_DAY * DAY, (LAST_DAY + 1) * DAY - 1
"""The calendar has the years 1 to 9999."""

LARGEST_SCALE = 18
"""Digits behind the point that a decimal of 64 bits can have."""

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


BEYOND = "the moment is outside the years 1 to 9999"


def in_calendar(time: int) -> int:
    """Returns the moment if the calendar has it."""
    if FIRST_MOMENT <= time <= LAST_MOMENT:
        return time
    raise Fault("DL515", BEYOND)


def moment_of(time: int) -> datetime:
    """Returns a timestamp as Python knows it, in UTC without saying so."""
    return datetime(1970, 1, 1) + timedelta(microseconds=time)


def moment_or_number(time: int, *, plain_times: bool = False) -> datetime | int:
    """Returns the moment, or the number itself where times are plain numbers."""
    return time if plain_times else moment_of(time).replace(tzinfo=UTC)


def written_moment(time: int) -> str:
    """Returns a moment as text files hold it: in UTC, with all its digits."""
    return f"{moment_of(time).strftime('%Y-%m-%dT%H:%M:%S.%f').zfill(26)}Z"


def shown_moment(time: int) -> str:
    """Returns a moment as people read it, or the number if no calendar goes that far."""
    return moment_of(time).isoformat(sep=" ") if FIRST_MOMENT <= time <= LAST_MOMENT else str(time)


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
    return spelled_as(value, str(type_))


def spelled_as(value: CellValue, type_: str) -> str:
    """Returns a value as `string` writes it, given the name of its type: code that goes to executors without Emberlog
    cannot hold the type itself."""
    if isinstance(value, tuple):
        name, _, inside = type_.removesuffix(">").partition("<")
        parts = _split(inside) * (len(value) if name == "list" else 1)
        return f"({', '.join(map(spelled_as, value, parts))})"
    if not isinstance(value, int):
        return text_of(value)  # a clock can be a plain number
    if type_ == "date":
        return day_of(value).isoformat() if FIRST_DAY <= value <= LAST_DAY else str(value)
    if type_ == "timestamp":
        return f"{moment_of(value).isoformat()}Z" if FIRST_MOMENT <= value <= LAST_MOMENT else str(value)
    if type_ == "duration":
        return _spelled_duration(value)
    return spelled_decimal(value, int(type_[8:-1])) if type_.startswith("decimal(") else text_of(value)


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


class MeantText(str):
    """Is the text of a value of a declared type, which stands without quotation marks."""

    __slots__ = ()


class Meant(int):
    """Is an int that stands for something else, which its type tells: a date, a moment, a duration or a decimal."""

    type: DataType

    @staticmethod
    def of(value: CellValue, type_: DataType) -> CellValue:
        """Returns the value as one that can be shown; itself, if it tells all."""
        if isinstance(value, tuple):
            parts = type_.types_of(value)
            return tuple(map(Meant.of, value, parts)) if len(parts) == len(value) else value
        if type_.is_record and isinstance(value, str):
            return MeantText(value)
        if not type_.is_told_by_type or type(value) is not int:
            return value
        meant = Meant(value)
        meant.type = type_
        return meant


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
    if not INT_MIN <= total <= INT_MAX:
        raise ValueError(text)
    return total


_DECIMAL = re.compile(r"([+-]?)([0-9]{1,40})(?:\.([0-9]*))?")


def read_decimal(text: str, scale: int) -> int:
    """Returns a decimal that a text spells; raises ValueError if it spells none, or one with more digits."""
    found = _DECIMAL.fullmatch(text)
    if found is None:
        raise ValueError(text)
    sign, whole, fraction = found[1], found[2], (found[3] or "").rstrip("0")
    value = int(sign + whole + fraction.ljust(scale, "0"))
    if len(fraction) > scale or not INT_MIN <= value <= INT_MAX:
        raise ValueError(text)
    return value


def read_cell(text: str, type_: DataType) -> int:
    """Returns the value of a type that a text spells; raises ValueError if it spells none."""
    if type_ == DATE:
        return read_date(text)
    if type_.is_decimal:
        return read_decimal(text, type_.scale or 0)
    return read_timestamp(text) if type_ == TIMESTAMP else read_duration(text)


_PATTERNS: dict[str, re.Pattern[str]] = {}
"""What is known of texts. A cache of functools would not go with the code to Spark's workers."""


def _split(text: str) -> list[str]:
    """Returns the types that commas separate, those inside others left alone."""
    parts, depth, begun = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and not depth:
            parts.append(text[begun:place].strip())
            begun = place + 1
    return [*parts, text[begun:].strip()]


# --- other forms of moments -----------------------------------------------------------------------------------------

DIRECTIVES: dict[str, tuple[str, str, Callable[[datetime], str]]] = {
    "Y": ("the year, four digits", "[0-9]{4}", lambda moment: f"{moment.year:04}"),
    "m": ("the month, 01 to 12", "[0-9]{2}", lambda moment: f"{moment.month:02}"),
    "d": ("the day of the month, 01 to 31", "[0-9]{2}", lambda moment: f"{moment.day:02}"),
    "H": ("the hour, 00 to 23", "[0-9]{2}", lambda moment: f"{moment.hour:02}"),
    "M": ("the minute", "[0-9]{2}", lambda moment: f"{moment.minute:02}"),
    "S": ("the second", "[0-9]{2}", lambda moment: f"{moment.second:02}"),
    "f": ("the microsecond, six digits", "[0-9]{6}", lambda moment: f"{moment.microsecond:06}"),
    "j": ("the day of the year, 001 to 366", "[0-9]{3}", lambda moment: f"{moment.timetuple().tm_yday:03}"),
    "u": ("the weekday, 1 (Monday) to 7", "[1-7]", lambda moment: str(moment.isoweekday())),
    "V": ("the week of ISO 8601, 01 to 53", "[0-9]{2}", lambda moment: f"{moment.isocalendar().week:02}"),
    "%": ("a percent sign", "%", lambda _moment: "%"),
}
"""By their letter: what it stands for, what it looks like, and how it is written."""

_READ = "YmdHMSf%"
"""What text can be parsed by; the others do not tell the day by themselves."""

_DIRECTIVE = re.compile(r"%(.?)", re.DOTALL)


def format_error(format: str, *, to_read: bool) -> str | None:
    """Returns what is wrong with a format, or None."""
    known = _READ if to_read else "".join(DIRECTIVES)
    for found in _DIRECTIVE.finditer(format):
        if not found[1] or found[1] not in known:
            return f"known are {', '.join('%' + letter for letter in known)}"
    return None


def formatted(time: int, format: str) -> str:
    """Returns a moment as the format says."""
    in_calendar(time)
    _check(format, to_read=False)
    moment = moment_of(time)
    return _DIRECTIVE.sub(lambda found: DIRECTIVES[found[1]][2](moment), format)


def parsed(text: str, format: str) -> int:
    """Returns the moment that a text spells in the format; what the format leaves out is the first there is."""
    _check(format, to_read=True)
    if format not in _PATTERNS:
        _PATTERNS[format] = _pattern(format)
    found = _PATTERNS[format].fullmatch(text)
    given = found.groupdict() if found else {}
    try:
        if not found:
            raise ValueError
        year, month, day = int(given.get("Y", 1970)), int(given.get("m", 1)), int(given.get("d", 1))
        hour, minute, second, fraction = (int(given.get(letter, 0)) for letter in "HMSf")
        moment = datetime(year, month, day, hour, minute, second, fraction)
    except ValueError:
        raise Fault("DL516", f'"{text}" is not a moment in the format "{format}"') from None
    return time_of(moment)


def _check(format: str, *, to_read: bool) -> None:
    complaint = format_error(format, to_read=to_read)
    if complaint:
        raise Fault("DL516", f'"{format}" is not a format of a moment', complaint)


def _pattern(format: str) -> re.Pattern[str]:
    pieces, end, seen = [], 0, set[str]()
    for found in _DIRECTIVE.finditer(format):
        letter = found[1]
        pieces.append(re.escape(format[end : found.start()]))
        looks = DIRECTIVES[letter][1]
        if letter == "%":
            pieces.append(looks)
        elif letter in seen:
            pieces.append(f"(?P={letter})")
        else:
            pieces.append(f"(?P<{letter}>{looks})")
            seen.add(letter)
        end = found.end()
    return re.compile("".join(pieces) + re.escape(format[end:]), re.DOTALL)
