"""Moments inside, microseconds since 1970 in UTC, and as people see them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment_of(time: int, *, plain_times: bool) -> datetime | int:
    """A number stays one where times are plain numbers."""
    return time if plain_times else _EPOCH + timedelta(microseconds=time)


def time_of(moment: datetime) -> int:
    """Without a time zone it is in UTC."""
    known = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (known - _EPOCH) // timedelta(microseconds=1)
