"""Converts moments between microseconds since 1970 in UTC, which programs know, and what people see."""

from __future__ import annotations

from datetime import UTC, datetime

from emberlog.language import spellings
from emberlog.language.spellings import FIRST_MOMENT, LAST_MOMENT


def moment_of(time: int, *, plain_times: bool = False) -> datetime | int:
    """Returns the moment, or the number itself where times are plain numbers."""
    return time if plain_times else spellings.moment_of(time).replace(tzinfo=UTC)


def written_moment(time: int) -> str:
    """Returns a moment as text files hold it: in UTC, with all its digits."""
    return f"{spellings.moment_of(time).strftime('%Y-%m-%dT%H:%M:%S.%f').zfill(26)}Z"


def shown_moment(time: int) -> str:
    """Returns a moment as people read it, or the number if no calendar goes that far."""
    if not FIRST_MOMENT <= time <= LAST_MOMENT:
        return str(time)
    return spellings.moment_of(time).isoformat(sep=" ")
