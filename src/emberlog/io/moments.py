"""Converts moments between microseconds since 1970 in UTC, which programs know, and what people see."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment_of(time: int, *, plain_times: bool = False) -> datetime | int:
    """Returns the moment, or the number itself where times are plain numbers."""
    return time if plain_times else _EPOCH + timedelta(microseconds=time)


def time_of(moment: datetime) -> int:
    """Returns the microseconds of a moment, which is in UTC if it has no time zone."""
    known = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (known - _EPOCH) // timedelta(microseconds=1)


def written_moment(time: int) -> str:
    """Returns a moment as text files hold it: in UTC, with all its digits."""
    return f"{(_EPOCH + timedelta(microseconds=time)).strftime('%Y-%m-%dT%H:%M:%S.%f')}Z"


def shown_moment(time: int) -> str:
    """Returns a moment as people read it, or the number if no calendar goes that far."""
    try:
        return (_EPOCH + timedelta(microseconds=time)).replace(tzinfo=None).isoformat(sep=" ")
    except OverflowError:
        return str(time)
