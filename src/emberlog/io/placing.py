"""Folders of results on this machine: whole or not at all, and never over something that is there."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from emberlog.config import refuse_options
from emberlog.diagnostics import EmberlogError, fail

FORMATS = ("csv", "tsv", "parquet", "json")


def check_format(format: str, *, header: bool) -> None:
    if format not in FORMATS:
        raise fail("DL407", f"relations are not written as `{format}`", None, f"known are {', '.join(FORMATS)}")
    if header and format in ("parquet", "json"):
        refuse_options(f"the format {format}", ["header"], {"header": "leave it out: the names are always there"})


def put_in_place(target: str, write: Callable[[Path], None]) -> None:
    """Has the folder written beside its place, and puts it there when it is complete."""
    place = Path(target).absolute()
    if place.exists():
        raise is_there(target)
    unfinished = place.with_name(f".{place.name}.{uuid.uuid4().hex}.unfinished")
    try:
        unfinished.mkdir(parents=True)  # Spark would say less clearly that this is not allowed
        write(unfinished / "facts")
        (unfinished / "facts").rename(place)
    except OSError as error:
        raise is_not_written(target, (error.strerror or str(error)).lower()) from None
    finally:
        with suppress(OSError):
            shutil.rmtree(unfinished)


def is_there(target: str) -> EmberlogError:
    return fail("DL408", f"`{target}` is there already", None, "choose another folder, or take it away")


def is_not_written(target: str, reason: str) -> EmberlogError:
    return fail("DL408", f"cannot write `{target}`: {reason}")
