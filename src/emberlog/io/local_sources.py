"""What people register under a name in a local database: files, tables of Arrow and pandas, rows of plain values."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from emberlog.datatypes import FLOAT, INT, STRING, UNKNOWN, DataType, join_types
from emberlog.diagnostics import fail, nearest
from emberlog.io.arrow_relations import as_relation, columns_of_table, has_plain_times, plain_table, table_of_pandas
from emberlog.io.arrow_values import table_of
from emberlog.io.delimited_text import read_rows
from emberlog.io.facts import infer_columns, read_bytes, read_facts
from emberlog.io.local_relation import LocalRelation
from emberlog.io.paths import DELIMITERS, KINDS, kind_given, kind_of, local_files, looks_like_a_path, unknown_kind
from emberlog.io.python_rows import rows_of
from emberlog.io.quick_numbers import read_numbers
from emberlog.semantics.model import Column, Relation
from emberlog.source import Source


class LocalSource(Protocol):
    """Data under a name. What it is exactly can depend on the program that reads it."""

    def columns(self, declared: Sequence[Column] | None) -> Sequence[Column] | None:
        """The columns that a program sees, given those that it declares; None if the data says nothing about them."""
        ...

    def relation(self, relation: Relation) -> LocalRelation:
        """The facts, in the types of the relation."""
        ...

    def original(self) -> LocalRelation:
        """The data as a person would look at it."""
        ...


class TableSource:
    """A table of Arrow."""

    def __init__(self, name: str, table: pa.Table) -> None:
        self._name = name
        self._table = plain_table(name, table)
        columns_of_table(name, self._table)  # better said now than when a program reads it

    def columns(self, declared: Sequence[Column] | None) -> Sequence[Column]:
        return columns_of_table(self._name, self._in_order(declared))

    def relation(self, relation: Relation) -> LocalRelation:
        table = self._in_order(relation.columns if relation.is_declared else None)
        converted = as_relation(table, relation)
        given = columns_of_table(self._name, table)
        types = [
            wanted.type if wanted.type.is_known else own.type
            for own, wanted in zip(given, relation.columns, strict=True)
        ]
        return LocalRelation(converted.column_names, types, converted, plain_times=has_plain_times(given, relation))

    def original(self) -> LocalRelation:
        columns = columns_of_table(self._name, self._table)
        relation = Relation(self._name, columns, is_derived=False)
        return LocalRelation(
            self._table.column_names, [column.type for column in columns], as_relation(self._table, relation)
        )

    def _in_order(self, declared: Sequence[Column] | None) -> pa.Table:
        """The columns in their own order, or in that of a declaration which has just the same names."""
        own = [name.lower() for name in self._table.column_names]
        wanted = [column.name.lower() for column in declared or ()]
        if own != wanted and sorted(own) == sorted(wanted) and len(set(own)) == len(own):
            return self._table.select([own.index(name) for name in wanted])
        return self._table


class TextSource:
    """Files of delimited text, which are read when a program wants them, and again when they have changed."""

    def __init__(self, files: Sequence[Path], kind: str, *, header: bool) -> None:
        self._files = files
        self._delimiter = DELIMITERS[kind]
        self._header = header
        self._read: dict[object, LocalRelation] = {}
        """By the types that were asked for, and by those that were found."""
        self._changed: object = None

    def columns(self, declared: Sequence[Column] | None) -> Sequence[Column] | None:
        names = self._names()
        if not names:
            return None
        unknown = [Column(name, UNKNOWN) for name in names]
        if declared is not None and len(declared) != len(names):
            return unknown  # the program will be told
        types = self._facts(declared or unknown).types
        return [Column(column.name, type_) for column, type_ in zip(declared or unknown, types, strict=True)]

    def relation(self, relation: Relation) -> LocalRelation:
        facts = self._facts(relation.columns)
        return facts.with_times(plain=True) if relation.is_stream and self._has_plain_times(relation) else facts

    def _has_plain_times(self, relation: Relation) -> bool:
        """Whether the times of the first file are numbers, which text does not tell from moments."""
        unknown = [Column(column.name, UNKNOWN) for column in relation.columns]
        return any(infer_columns(file, unknown, header=self._header)[0].type == INT for file in self._files[:1])

    def original(self) -> LocalRelation:
        return self._facts(self.columns(None) or ())

    def _facts(self, columns: Sequence[Column]) -> LocalRelation:
        changed = [file.stat().st_mtime_ns for file in self._files]
        if self._changed != changed:
            self._read.clear()
            self._changed = changed
        wanted = tuple(column.type for column in columns)
        if wanted not in self._read:
            found = self._fresh(columns)
            self._read[wanted] = self._read[found.types] = found
        return self._read[wanted].renamed([column.name for column in columns])

    def _fresh(self, columns: Sequence[Column]) -> LocalRelation:
        names = [column.name for column in columns]
        quick = self._quick(columns)
        if quick is not None:
            return LocalRelation(names, [INT if pa.types.is_int64(c.type) else FLOAT for c in quick.columns], quick)
        typed = self._typed(columns)
        facts = [fact for file in self._files for fact in read_facts(file, typed, header=self._header)]
        return LocalRelation(names, [column.type for column in typed], facts)

    def _quick(self, columns: Sequence[Column]) -> pa.Table | None:
        """All files as tables of numbers, if that is what they hold and what is wanted."""
        if not columns or any(column.type not in (INT, FLOAT, UNKNOWN) for column in columns):
            return None
        tables = []
        for file in self._files:
            data = read_bytes(file)
            table = read_numbers(data.partition(b"\n")[2] if self._header else data, self._delimiter)
            if table is None or table.num_columns != len(columns):
                return None
            tables.append(table)
        types = [
            FLOAT if column.type == FLOAT or any(pa.types.is_float64(one.column(i).type) for one in tables) else INT
            for i, column in enumerate(columns)
        ]
        if any(column.type == INT and found == FLOAT for column, found in zip(columns, types, strict=True)):
            return None
        schema = pa.schema([(f"c{i}", pa.float64() if found == FLOAT else pa.int64()) for i, found in enumerate(types)])
        return pa.concat_tables([one.rename_columns(schema.names).cast(schema) for one in tables])

    def _names(self) -> list[str]:
        """Those of the first line, or as many as it has cells."""
        for file in self._files:
            line = _first_line(file)
            text = read_bytes(file).decode("utf-8-sig", errors="replace") if '"' in line else line
            rows = read_rows(Source(str(file), text), self._delimiter)
            if rows:
                return [cell.text if self._header else f"c{index + 1}" for index, cell in enumerate(rows[0])]
        return []

    def _typed(self, columns: Sequence[Column]) -> list[Column]:
        """The columns, those of unknown type with what all files hold."""
        if all(column.type.is_known for column in columns):
            return list(columns)
        found = [infer_columns(file, columns, header=self._header) for file in self._files]
        return [
            Column(column.name, _joined([one[index].type for one in found]), column.aggregate)
            for index, column in enumerate(columns)
        ]


class NoRows:
    """No rows, of which nobody knows the columns."""

    def columns(self, declared: Sequence[Column] | None) -> None:
        return None

    def relation(self, relation: Relation) -> LocalRelation:
        names = [column.name for column in relation.columns]
        return LocalRelation(names, [column.type for column in relation.columns], ())

    def original(self) -> LocalRelation:
        return LocalRelation((), (), ())


def register(
    name: str,
    data: object,
    *,
    columns: Sequence[str] | None = None,
    header: bool = False,
    format: str | None = None,
) -> LocalSource:
    """Data of any kind that is known here, under a name; see `Database.register`."""
    source = _source(name, data, header=header, kind=format)
    if columns is None:
        return source
    return TableSource(name, _chosen(name, source.original().to_arrow(), columns))


def _source(name: str, data: Any, *, header: bool, kind: str | None) -> LocalSource:
    module = type(data).__module__
    if isinstance(data, os.PathLike):
        return _from_path(name, os.fspath(data), header=header, kind=kind)
    if isinstance(data, str):
        if kind is None and not looks_like_a_path(data):
            message = f"there is no file `{data}` for `{name}`"
            raise fail("DL405", message, None, "tables of Spark are known to Database() on Spark only")
        return _from_path(name, data, header=header, kind=kind)
    if isinstance(data, LocalRelation):
        return TableSource(name, data.to_arrow())
    if module.startswith("pandas"):
        return TableSource(name, table_of_pandas(name, data))
    if module.startswith("pyarrow") and hasattr(data, "column_names"):
        return TableSource(name, data)
    if isinstance(data, Iterable) and not isinstance(data, bytes | dict) and not module.startswith("pyspark"):
        rows = rows_of(name, data)
        if rows is None:
            return NoRows()
        facts, types = rows
        names = [f"c{index + 1}" for index in range(len(types))]
        return TableSource(name, LocalRelation(names, types, table_of(names, types, facts)).to_arrow())
    raise fail(
        "DL407",
        f"`{name}` cannot be filled from a value of type {type(data).__name__}",
        None,
        "a path, pandas or Arrow data, and a list of tuples can be used",
    )


def _chosen(name: str, table: pa.Table, columns: Sequence[str]) -> pa.Table:
    for wanted in columns:
        if wanted not in table.column_names:
            guess = nearest(wanted, table.column_names)
            hints = [f"did you mean `{guess}`?"] if guess else []
            hints.append(f"it has {', '.join(table.column_names)}")
            raise fail("DL409", f"the data of `{name}` has no column `{wanted}`", None, *hints)
    return table.select(list(columns))


def _from_path(name: str, path: str, *, header: bool, kind: str | None) -> LocalSource:
    if "://" in path:
        raise fail("DL405", f"cannot read `{path}`", None, "paths with a scheme are for Database() on Spark")
    files = local_files(path)
    kind = kind_given(kind, path) or kind_of(str(files[0]))
    if kind not in KINDS:
        raise unknown_kind(path)
    if kind in DELIMITERS:
        return TextSource(files, kind, header=header)
    try:
        return TableSource(name, pa.concat_tables([_table(file, kind) for file in files], promote_options="default"))
    except (pa.ArrowException, OSError, ValueError) as error:
        first = (str(error).strip().splitlines() or [""])[0]
        raise fail("DL405", f"cannot read `{path}`", None, first) from None


def _table(file: Path, kind: str) -> pa.Table:
    if kind == ".parquet":
        import pyarrow.parquet

        return pyarrow.parquet.read_table(file)
    if kind == ".orc":
        import pyarrow.orc

        return pyarrow.orc.read_table(file)
    import pyarrow.json

    with pa.input_stream(str(file)) as stream:  # uncompresses what its name says is compressed
        return pyarrow.json.read_json(stream)


def _first_line(file: Path) -> str:
    with pa.input_stream(str(file), compression="detect") as stream:
        start = stream.read(1 << 16)
    lines = start.decode("utf-8-sig", errors="replace").splitlines()
    return next((line for line in lines if line.strip()), "")


def _joined(types: Sequence[DataType]) -> DataType:
    """What all files hold: int, else float, else text."""
    result = UNKNOWN
    for one in types:
        wider = join_types(result, one)
        if wider is None:
            return STRING
        result = wider
    return result
