"""Results of a local run written to folders, in the layout in which Spark writes them: a folder for each relation."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from emberlog.datatypes import STRING, TIMESTAMP, DataType
from emberlog.io.facts import write_facts
from emberlog.io.local_relation import LocalRelation
from emberlog.io.placing import check_format, put_in_place
from emberlog.semantics.model import CellValue, Column

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


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
        lines = (json.dumps(row, ensure_ascii=False, default=datetime.isoformat) for row in rows)
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    else:
        is_time = [type_ == TIMESTAMP and not relation.plain_times for type_ in relation.types]
        types = [STRING if moment else type_ for type_, moment in zip(relation.types, is_time, strict=True)]
        columns = [Column(name, type_) for name, type_ in zip(relation.columns, types, strict=True)]
        write_facts(file, (_texts(row, relation) for row in relation.facts), columns, header=header)


def _texts(row: tuple[CellValue, ...], relation: LocalRelation) -> tuple[CellValue, ...]:
    """The row with its moments as text, in UTC."""
    if relation.plain_times:
        return row
    return tuple(_moment(value, type_) for value, type_ in zip(row, relation.types, strict=True))


def _moment(value: CellValue, type_: DataType) -> CellValue:
    if type_ != TIMESTAMP or not isinstance(value, int):
        return value
    return f"{(_EPOCH + timedelta(microseconds=value)).strftime('%Y-%m-%dT%H:%M:%S.%f')}Z"
