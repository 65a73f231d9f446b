"""Formats moments, and parses them, by a few directives that every engine knows alike."""

from __future__ import annotations

import re
from datetime import date, datetime
from functools import cache

from emberlog.language.faults import Fault
from emberlog.language.spellings import FIRST_MOMENT, LAST_MOMENT, moment_of, time_of

DIRECTIVES = {
    "Y": ("the year, four digits", "[0-9]{4}"),
    "m": ("the month, 01 to 12", "[0-9]{2}"),
    "d": ("the day of the month, 01 to 31", "[0-9]{2}"),
    "H": ("the hour, 00 to 23", "[0-9]{2}"),
    "M": ("the minute", "[0-9]{2}"),
    "S": ("the second", "[0-9]{2}"),
    "f": ("the microsecond, six digits", "[0-9]{6}"),
    "j": ("the day of the year, 001 to 366", "[0-9]{3}"),
    "u": ("the weekday, 1 (Monday) to 7", "[1-7]"),
    "V": ("the week of ISO 8601, 01 to 53", "[0-9]{2}"),
    "%": ("a percent sign", "%"),
}
"""By their letter: what it stands for, and what it looks like."""

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
    if not FIRST_MOMENT <= time <= LAST_MOMENT:
        raise Fault("DL515", "the moment is outside the years 1 to 9999")
    _check(format, to_read=False)
    moment = moment_of(time)

    def written(found: re.Match[str]) -> str:
        match found[1]:
            case "Y":
                return f"{moment.year:04}"
            case "m":
                return f"{moment.month:02}"
            case "d":
                return f"{moment.day:02}"
            case "H":
                return f"{moment.hour:02}"
            case "M":
                return f"{moment.minute:02}"
            case "S":
                return f"{moment.second:02}"
            case "f":
                return f"{moment.microsecond:06}"
            case "j":
                return f"{moment.toordinal() - date(moment.year, 1, 1).toordinal() + 1:03}"
            case "u":
                return str(moment.isoweekday())
            case "V":
                return f"{moment.isocalendar().week:02}"
            case _:
                return "%"

    return _DIRECTIVE.sub(written, format)


def parsed(text: str, format: str) -> int:
    """Returns the moment that a text spells in the format; what the format leaves out is the first there is."""
    _check(format, to_read=True)
    found = _pattern(format).fullmatch(text)
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


@cache
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
