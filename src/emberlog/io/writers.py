"""Writes results to folders of this machine: whole or not at all, and never over something that is there.

Each relation gets a folder of its own, as Spark would write it.
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

from emberlog.config import refuse_options
from emberlog.datatypes import DURATION, STRING, TIMESTAMP
from emberlog.diagnostics import EmberlogError, fail
from emberlog.io.facts import write_facts
from emberlog.io.local_relation import LocalRelation
from emberlog.io.paths import reason_of
from emberlog.language.spellings import spelled, written_moment
from emberlog.semantics.model import Column

FORMATS = ("csv", "tsv", "parquet", "json")


def write_relations(
    relations: Mapping[str, LocalRelation], folder: str | os.PathLike[str], format: str = "csv", *, header: bool = False
) -> None:
    """Writes the facts of each relation into a folder of its name in this one, which must not be there yet."""
    check_format(format, header=header)

    def write(place: Path) -> None:
        place.mkdir()
        for name, relation in relations.items():
            (place / name).mkdir()
            _write(relation, place / name / f"facts.{format}", format, header=header)

    put_in_place(os.fspath(folder), write)


def _write(relation: LocalRelation, file: Path, format: str, *, header: bool) -> None:
    if format == "parquet":
        import pyarrow.parquet

        pyarrow.parquet.write_table(relation.to_arrow(), file)
    elif format == "json":
        rows = relation.to_arrow().to_pylist()
        lines = (json.dumps(row, ensure_ascii=False, default=_json_of) for row in rows)
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    else:
        is_time = [type_ == TIMESTAMP and not relation.plain_times for type_ in relation.types]
        types = [STRING if moment else type_ for type_, moment in zip(relation.types, is_time, strict=True)]
        columns = [Column(name, type_) for name, type_ in zip(relation.columns, types, strict=True)]
        facts = (
            tuple(
                written_moment(value) if moment and isinstance(value, int) else value
                for value, moment in zip(row, is_time, strict=True)
            )
            for row in relation.facts
        )
        write_facts(file, facts, columns, header=header)


def _json_of(value: object) -> str:
    """Returns a moment, a day, a length of time or a decimal as text, for JSON has none of them."""
    if isinstance(value, timedelta):
        return spelled(value // timedelta(microseconds=1), DURATION)
    if isinstance(value, Decimal):
        return f"{value:f}"
    return value.isoformat() if isinstance(value, date) else str(value)  # a datetime is a date


def check_format(format: str, *, header: bool) -> None:
    """Raises an error for a format that is not known, or for a header where there is none."""
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
        raise is_not_written(target, reason_of(error)) from None
    finally:
        with suppress(OSError):
            shutil.rmtree(unfinished)


def is_there(target: str) -> EmberlogError:
    """Returns the error for a folder that would be written over."""
    return fail("DL408", f"`{target}` is there already", None, "choose another folder, or take it away")


def is_not_written(target: str, reason: str) -> EmberlogError:
    """Returns the error for a folder that could not be written."""
    return fail("DL408", f"cannot write `{target}`: {reason}")
