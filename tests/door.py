"""Tables that go through every source people have, and what comes in and goes out: for the table of docs/api.md, and
for random tables that are compared cell by cell.

A table is one of Arrow, from which each source is made by what its own world has for it: pandas by pandas, JSON by
`json`, text by `str`. What comes out is compared with what Arrow itself says of its cells.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import emberlog

PAIR = pa.struct([("first", pa.int64()), ("second", pa.string())])

TYPES: dict[str, tuple[pa.DataType, tuple[Any, ...]]] = {
    "int": (pa.int64(), (1, -(2**63))),
    "float": (pa.float64(), (0.5, 1e300)),
    "string": (pa.string(), ('a, "b"', "😀")),
    "bool": (pa.bool_(), (True, False)),
    "timestamp": (
        pa.timestamp("us", "UTC"),
        (datetime(2026, 11, 16, 8, 30, tzinfo=UTC), datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC)),
    ),
    "date": (pa.date32(), (date(2026, 11, 16), date(1, 1, 1))),
    "duration": (pa.duration("us"), (timedelta(days=3, microseconds=1), timedelta(seconds=-1))),
    "decimal": (pa.decimal128(18, 2), (Decimal("0.10"), Decimal("-90071992547409.93"))),
    "list": (pa.list_(pa.int64()), ([1, 2, 3], [])),
    "pair": (PAIR, ({"first": 1, "second": "x"}, {"first": 2, "second": ""})),
}
"""By the name of each type of the language: what Arrow calls it, and values."""

DECLARED = ("int", "float", "string", "bool", "timestamp", "date", "decimal")
"""Types that a text file can hold, if the program declares them. A decimal is a float in JSON."""


class Stream:
    """Stands for polars, DuckDB and whoever else hands out its rows as Arrow."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


# --- sources --------------------------------------------------------------------------------------------------------


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    return [
        tuple(tuple(one.values()) if isinstance(one, dict) else one for one in row.values())
        for row in table.to_pylist()
    ]


def as_list(table: pa.Table, _folder: Path) -> object:
    return rows_of(table)


def as_dict(table: pa.Table, _folder: Path) -> object:
    return dict(zip(table.column_names, map(list, zip(*rows_of(table), strict=True)), strict=True))


def as_pandas(table: pa.Table, _folder: Path) -> object:
    # In the types of pandas that can hold nulls: whole floats beside NaN would be taken for ids with gaps.
    nullable = {pa.int64(): "Int64", pa.bool_(): "boolean", pa.float64(): "Float64"}
    frame = table.to_pandas(integer_object_nulls=True)
    wanted = {field.name: nullable[field.type] for field in table.schema if field.type in nullable}
    return frame.astype(wanted)


def as_arrow(table: pa.Table, _folder: Path) -> object:
    return table


def as_stream(table: pa.Table, _folder: Path) -> object:
    return Stream(table)


def as_parquet(table: pa.Table, folder: Path) -> object:
    pq.write_table(table, folder / "e.parquet")
    return folder / "e.parquet"


def as_partitions(table: pa.Table, folder: Path) -> object:
    """Writes half of the rows into a folder, and half into another, by a column that comes last."""
    halves = [str(number % 2) for number in range(table.num_rows)]
    pq.write_to_dataset(table.append_column("half", pa.array(halves, pa.string())), folder / "e", ["half"])
    return folder / "e"


def as_delta(table: pa.Table, folder: Path) -> Path:
    """Writes a table of Delta by hand: its first file has other rows, which the second commit took away. It has no
    type for durations, so those columns are not in it."""
    kept = table.select([one.name for one in table.schema if not pa.types.is_duration(one.type)])
    (folder / "e" / "_delta_log").mkdir(parents=True)
    pq.write_table(pa.concat_tables([kept, kept]), folder / "e" / "old.parquet")
    pq.write_table(kept, folder / "e" / "new.parquet")
    schema = {"type": "struct", "fields": [_delta_field(one.name, one.type) for one in kept.schema]}
    meta = {"id": "e", "format": {"provider": "parquet", "options": {}}, "schemaString": json.dumps(schema)}
    first: list[dict[str, object]] = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {"metaData": {**meta, "partitionColumns": [], "configuration": {}, "createdTime": 0}},
        {"add": _delta_file(folder / "e" / "old.parquet")},
    ]
    second: list[dict[str, object]] = [
        {"remove": {"path": "old.parquet", "dataChange": True, "deletionTimestamp": 1}},
        {"add": _delta_file(folder / "e" / "new.parquet")},
    ]
    for number, actions in enumerate((first, second)):
        lines = "".join(f"{json.dumps(action)}\n" for action in actions)
        (folder / "e" / "_delta_log" / f"{number:020}.json").write_text(lines)
    return folder / "e"


def _delta_file(file: Path) -> dict[str, object]:
    plain = {"modificationTime": 0, "dataChange": True, "partitionValues": {}}
    return {"path": file.name, "size": file.stat().st_size, **plain}


def _delta_field(name: str, type_: pa.DataType) -> dict[str, object]:
    return {"name": name, "type": _delta_type(type_), "nullable": True, "metadata": {}}


def _delta_type(type_: pa.DataType) -> object:
    if pa.types.is_list(type_):
        return {"type": "array", "elementType": _delta_type(type_.value_type), "containsNull": True}
    if pa.types.is_struct(type_):
        return {
            "type": "struct",
            "fields": [_delta_field(one.name, one.type) for one in type_.fields],
        }
    if pa.types.is_decimal(type_):
        return f"decimal({type_.precision},{type_.scale})"
    names = {pa.int64(): "long", pa.float64(): "double", pa.string(): "string", pa.bool_(): "boolean"}
    return names.get(type_) or ("date" if pa.types.is_date(type_) else "timestamp")


def as_json(table: pa.Table, folder: Path) -> object:
    lines = (json.dumps(row, ensure_ascii=False, default=_text) for row in table.to_pylist())
    (folder / "e.json").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder / "e.json"


def as_csv(table: pa.Table, folder: Path) -> object:
    lines = (",".join(map(_cell, row.values())) for row in table.to_pylist())
    (folder / "e.csv").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="")
    return folder / "e.csv"


def _text(value: object) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)


def _cell(value: object) -> str:
    if value is None:
        return r"\N"
    plain = isinstance(value, bool | dict | list)
    text = json.dumps(value) if plain else repr(value) if isinstance(value, float) else _text(value)
    doubled = text.replace('"', '""')
    return f'"{doubled}"' if isinstance(value, str | dict | list | timedelta) else text


SOURCES: dict[str, Callable[[pa.Table, Path], object]] = {
    "list of tuples": as_list,
    "dict": as_dict,
    "pandas": as_pandas,
    "Arrow": as_arrow,
    "DuckDB, polars": as_stream,
    "Parquet": as_parquet,
    "partitioned Parquet": as_partitions,
    "Delta": as_delta,
    "JSON": as_json,
    "CSV": as_csv,
}

LACKS = {"Delta": ("duration",), "JSON": ("decimal",)}
"""Types that a source cannot hold, by its name; JSON has them as another one."""
TEXTS = ("JSON", "CSV")
"""Sources in which a value is no more than its text says, unless the program declares its type."""


# --- what comes in and goes out -------------------------------------------------------------------------------------


def program_of(names: Sequence[str], source: str, types: Sequence[str] | None = None) -> str:
    """Returns a program that copies the table."""
    variables = ", ".join(f"V{number}" for number in range(len(names)))
    more = ", _" if source == "partitioned Parquet" else ""
    spelled = ["decimal(2)" if one == "decimal" else one for one in types or ()]
    columns = ", ".join(f"{name}: {type_}" for name, type_ in zip(names, spelled, strict=False))
    declared = f"declare e({columns}).\n" if types else ""
    return f"{declared}q({variables}) :- e({variables}{more})."


def cells_of(frame: Any) -> list[tuple[Any, ...]]:
    """Returns the rows of a result of either engine, by way of Arrow."""
    table = frame.to_arrow() if hasattr(frame, "to_arrow") else frame.toArrow()
    return [tuple(map(plain, row.values())) for row in table.to_pylist()]


def plain(value: Any) -> Any:
    match value:
        case dict():
            return tuple(map(plain, value.values()))
        case list():
            return tuple(map(plain, value))
        case datetime():
            return value.astimezone(UTC)
        case float():
            return value + 0.0
        case _:
            return value


def sample(types: Iterable[str] = TYPES) -> pa.Table:
    """Returns a table with a column of each type: two values and a null."""
    arrays = [pa.array([*TYPES[name][1], None], TYPES[name][0]) for name in types]
    return pa.table(arrays, names=[f"{name}_" for name in types])


def types_seen(
    database: emberlog.Database[Any],
    source: str,
    folder: Path,
    data: object = None,
    types: Sequence[str] = tuple(TYPES),
) -> dict[str, str]:
    """Returns the type that a program sees of each, without a declaration; asserts that all values and nulls come out
    of those that are what they were. `data` stands for what the source would make."""
    table = sample(types)
    database["e"] = SOURCES[source](table, folder) if data is None else data
    program = program_of(table.column_names, source)
    relation = database.check(program).checked.relations["e"]
    seen = {name: str(column.type) for name, column in zip(types, relation.columns, strict=False)}
    found = cells_of(database.datalog(program)["q"])
    for place, name in enumerate(types):
        if re.split("[<(]", seen[name])[0] == name:
            expected = map(plain, (*TYPES[name][1], None))
            assert sorted((row[place] for row in found), key=repr) == sorted(expected, key=repr), (source, name)
    return seen


def types_of(source: str) -> tuple[str, ...]:
    """Returns the types that can be put into a source, as themselves or as another one."""
    return tuple(name for name in TYPES if source != "Delta" or name not in LACKS[source])


def source_table(folder: Path) -> list[tuple[str, ...]]:
    """Returns a row for each type: what a program sees of it, by source, and what goes out, in this process."""
    seen = {}
    for source in SOURCES:
        place = folder / source
        place.mkdir()
        seen[source] = types_seen(emberlog.Database(engine="local"), source, place, types=types_of(source))
    database = emberlog.Database(engine="local")
    database["e"] = sample()
    out = database.datalog(program_of(sample().column_names, "Arrow"))["q"].to_arrow().schema.types
    return [
        (name, *(f"`{seen[source][name]}`" if name in seen[source] else "" for source in SOURCES), f"`{type_}`")
        for name, type_ in zip(TYPES, out, strict=True)
    ]


# --- random tables --------------------------------------------------------------------------------------------------

_TEXTS = ("", "a", "\\N", 'say "hi"', "a,b", "tab\there", "two\nlines", "01234", "1", "true", "null", "é☃", "😀", " x ")


_NOT_FOR_LINES = ("\\N", "two\nlines")
"""Texts of a quoted file that Spark, which reads line by line, refuses."""


def _values(type_: str, rng: random.Random) -> Any:
    match type_:
        case "int":
            return rng.choice((0, 1, -1, 2**63 - 1, -(2**63), 2**53 + 1, rng.randrange(-1000, 1000)))
        case "float":
            return rng.choice((0.0, -0.0, 0.1, 1e-300, 1.7e308, rng.uniform(-1e6, 1e6)))
        case "string":
            return rng.choice(_TEXTS)
        case "bool":
            return rng.random() < 0.5
        case "timestamp":
            return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=rng.randrange(-(10**15), 4 * 10**15))
        case "date":
            return date(1970, 1, 1) + timedelta(days=rng.randrange(-20_000, 40_000))
        case "duration":
            return timedelta(microseconds=rng.randrange(-(10**14), 10**14))
        case "decimal":
            return Decimal(rng.choice((0, 10, -1, 10**18 - 1, 9007199254740993, rng.randrange(-1000, 1000)))).scaleb(-2)
        case "list":
            return [rng.randrange(100) for _ in range(rng.choice((0, 1, 3, 4)))]
        case _:
            return {"first": rng.randrange(100), "second": rng.choice(_TEXTS)}


def random_table(seed: int, types: Sequence[str]) -> tuple[list[str], pa.Table]:
    """Returns a table of some columns with hostile values and nulls, and the types of its columns."""
    rng = random.Random(seed)
    chosen = [rng.choice(types) for _ in range(rng.randrange(1, 6))]
    count = rng.randrange(1, 12)
    arrays = []
    for name in chosen:
        # A column of nothing but nulls tells no type.
        values = [_values(name, rng), *(None if rng.random() < 0.2 else _values(name, rng) for _ in range(count))]
        arrays.append(pa.array(values, TYPES[name][0]))
    return chosen, pa.table(arrays, names=[f"col{number}" for number in range(len(chosen))])


def check_random_table(
    database: emberlog.Database[Any], seed: int, source: str, folder: Path, *, on_spark: bool = False
) -> None:
    """Has a random table go through a source, and compares every cell."""
    known = DECLARED if source in TEXTS else tuple(TYPES)
    known = tuple(name for name in known if name not in LACKS.get(source, ()))
    if on_spark and "Parquet" in source:  # what Arrow writes for a duration is a number for Spark
        known = tuple(name for name in known if name != "duration")
    types, table = random_table(seed, known)
    if on_spark and source == "CSV":
        for place, column in enumerate(table.columns):
            if pa.types.is_string(column.type):
                fits = pc.if_else(pc.is_in(column, pa.array(_NOT_FOR_LINES)), "x", column)
                table = table.set_column(place, table.column_names[place], fits)
    database["e"] = SOURCES[source](table, folder)
    program = program_of(table.column_names, source, types if source in TEXTS else None)
    found = cells_of(database.datalog(program)["q"])
    expected = {tuple(map(plain, row)) for row in rows_of(table)}
    assert len(found) == len(set(found))
    assert set(map(_exactly, found)) == set(map(_exactly, expected)), (seed, source, types)


def _exactly(row: tuple[Any, ...]) -> tuple[str, ...]:
    """Returns a row in which 1, 1.0 and True are different."""
    return tuple(map(repr, row))
