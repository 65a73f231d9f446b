"""Takes in what people register under a name: paths, rows of plain values, pandas, Arrow, tables and frames.

What is in this process already goes through Arrow on every engine, and is handed to it as a whole. What an engine
reads itself, which are files, tables of a catalog and its own frames, is left to its `Reader`.
"""

from __future__ import annotations

import itertools
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

import pyarrow as pa

from emberlog.config import refuse_options
from emberlog.datatypes import UNKNOWN, DataType
from emberlog.diagnostics import Diagnostic, EmberlogError, Note, Severity, fail, warn
from emberlog.io.arrow_values import (
    as_relation,
    columns_of_table,
    plain_table,
    table_of,
    table_of_pandas,
    table_of_stream,
)
from emberlog.io.facts import DELIMITER_NAMES, lines_of
from emberlog.io.local_relation import LocalRelation
from emberlog.io.matching import chosen_places, declared_order, has_plain_times
from emberlog.io.paths import (
    DELIMITERS,
    KINDS,
    cause_in,
    kind_given,
    kind_of,
    local_files,
    looks_like_a_path,
    unknown_kind,
    without_scheme,
)
from emberlog.io.python_rows import rows_of
from emberlog.io.table_formats import TABLE_KINDS, table_kind
from emberlog.io.text_format import USUAL, TextOptions
from emberlog.logical.statistics import RelationStatistics
from emberlog.semantics.model import Column, Relation

Frame = TypeVar("Frame")


class Source(ABC, Generic[Frame]):
    """Holds data under a name. What it is exactly can depend on the program that reads it."""

    @abstractmethod
    def columns(self, declared: Sequence[Column] | None) -> Sequence[Column] | None:
        """Returns the columns that a program sees, given those that it declares; None if the data does not tell."""

    @abstractmethod
    def relation(self, relation: Relation) -> Frame:
        """Returns the facts, in the types of the relation, as engines want them."""

    @abstractmethod
    def original(self) -> Frame:
        """Returns the data as a person would look at it."""

    @abstractmethod
    def chosen(self, columns: Sequence[str]) -> Source[Frame]:
        """Returns a source of some of the columns, chosen by name and in this order."""

    def at_hand(self, relation: Relation, most: int | None) -> LocalRelation | None:
        """Returns the same facts in this process, where that takes no engine and at most so many bytes."""
        return None

    def has_plain_times(self, relation: Relation) -> bool:
        """Tells whether a column that the relation takes as a timestamp holds plain numbers."""
        return False

    def repeated_rows(self, relation: Relation) -> int | None:
        """Returns how many rows are there already; None if that cannot be known cheaply."""
        return None

    def statistics(self, relation: Relation) -> RelationStatistics | None:
        """Returns what can be known of the facts without reading them; None if that is nothing."""
        return None

    def glance(self) -> Glance:
        """Returns what is known at once, for people to look at."""
        return Glance(None, None)


@dataclass(frozen=True, slots=True)
class Glance:
    """Holds what is known of data without reading any; None where that is nothing."""

    columns: Sequence[Column] | None
    rows: int | None


@dataclass(frozen=True, slots=True)
class Files:
    """Tells what is at a path."""

    name: str
    """The relation that the files are for."""
    path: str
    kind: str
    """Such as `.csv`."""
    found: Sequence[Path]
    """The files, if they are on this machine."""
    text: TextOptions
    """How they are spelled, if they are of text."""

    @property
    def is_here(self) -> bool:
        return "://" not in self.path


class Reader(ABC, Generic[Frame]):
    """Makes sources for one engine."""

    takes: str
    """What else can be given, for the hint of an error."""
    failures: tuple[type[Exception], ...]
    """What is raised for files that cannot be read."""

    @abstractmethod
    def files(self, files: Files) -> Source[Frame]:
        """Returns a source of the facts in files."""

    @abstractmethod
    def logged_table(self, files: Files) -> Source[Frame]:
        """Returns a source of a folder whose log says which of its files count."""

    @abstractmethod
    def table(self, name: str, table: str) -> Source[Frame]:
        """Returns a source of a table of a catalog."""

    @abstractmethod
    def frame(self, name: str, data: Any) -> Source[Frame] | None:
        """Returns a source of a frame of the engine's own, or None if `data` is none."""

    @abstractmethod
    def held(self, source: Source[LocalRelation]) -> Source[Frame]:
        """Returns the source of data that is in this process as one of this engine."""


class TableSource(Source[LocalRelation]):
    """Holds a table of Arrow."""

    def __init__(self, name: str, table: pa.Table, *, is_chosen: bool = False) -> None:
        self._name = name
        self._is_chosen = is_chosen
        self._table = plain_table(name, table)
        self._made: dict[object, LocalRelation] = {}
        """Relations by how programs want them, with what is known of their rows by now."""
        columns_of_table(name, self._table)  # better said now than when a program reads it

    def columns(self, declared: Sequence[Column] | None) -> tuple[Column, ...]:
        return columns_of_table(self._name, self._in_order(declared))

    def glance(self) -> Glance:
        return Glance(columns_of_table(self._name, self._table), self._table.num_rows)

    def relation(self, relation: Relation) -> LocalRelation:
        wanted = (relation.columns, relation.is_declared)
        if wanted not in self._made:
            self._made[wanted] = self._converted(relation)
        return self._made[wanted]

    def _converted(self, relation: Relation) -> LocalRelation:
        table = self._in_order(relation.columns if relation.is_declared else None)
        converted = as_relation(table, relation)
        given = columns_of_table(self._name, table)
        types = [
            wanted.type if wanted.type.is_known else own.type
            for own, wanted in zip(given, relation.columns, strict=True)
        ]
        return LocalRelation(converted.column_names, types, converted, plain_times=has_plain_times(given, relation))

    def original(self) -> LocalRelation:
        return self.relation(Relation(self._name, self.columns(None), is_derived=False))

    def repeated_rows(self, relation: Relation) -> int | None:
        return self.relation(relation).repeated

    def chosen(self, columns: Sequence[str]) -> TableSource:
        places = chosen_places(self._name, self._table.column_names, columns)
        return TableSource(self._name, self._table.select(places), is_chosen=True)

    def _in_order(self, declared: Sequence[Column] | None) -> pa.Table:
        own = self._table.column_names
        return self._table.select(declared_order(self._name, own, declared, is_chosen=self._is_chosen))


LINES_LOOKED_AT = 5
"""Lines of a file that are looked at for another delimiter."""


class TextSource(Source[Frame]):
    """Holds files of delimited text, whose cells tell the types of the columns."""

    def __init__(self, files: Files) -> None:
        self._name = files.name
        self._files = files.found
        self._text = files.text.of_kind(files.kind)
        self._is_header_noticed = self._is_delimiter_noticed = False

    def keep_quiet(self) -> None:
        """Leaves warnings to another source of the same files."""
        self._is_header_noticed = self._is_delimiter_noticed = True

    @abstractmethod
    def names(self) -> Sequence[str]:
        """Returns the names that the first line has or is given; none of files that are empty."""

    @abstractmethod
    def types(self, columns: Sequence[Column]) -> Sequence[DataType]:
        """Returns the types of the columns, and for those of unknown type what all cells are: int, else float, else
        string. Raises an error for a cell that is not of the type that is known for its column."""

    @abstractmethod
    def selected(
        self, relation: Relation, known: Sequence[Column], places: Sequence[int], *, plain_times: bool
    ) -> Frame:
        """Returns the facts of a relation that has the columns at these places, of all that the files have."""

    @abstractmethod
    def original_columns(self, places: Sequence[int]) -> Frame:
        """Returns the columns at these places as a person would look at them."""

    @property
    def name(self) -> str:
        return self._name

    def columns(self, declared: Sequence[Column] | None) -> Sequence[Column] | None:
        names = self.names()
        if not names:
            return None
        if len(names) == 1 and self._files:
            self._notice_delimiter()
        unknown = [Column(name, UNKNOWN) for name in names]
        if declared is not None and len(declared) != len(names):
            return unknown  # the program will be told
        known = self._as_in_file(declared) if declared else unknown
        typed = [Column(column.name, type_) for column, type_ in zip(known, self.types(known), strict=True)]
        return [typed[place] for place in self._order(declared)]

    def _order(self, declared: Sequence[Column] | None) -> list[int]:
        """Returns the places in the file of the columns as they are declared, or of all as they are."""
        return declared_order(self._name, self.names(), declared)

    def _as_in_file(self, columns: Sequence[Column]) -> list[Column]:
        """Returns declared columns in the order of the file, which a header tells."""
        order = self._order(columns)
        return [columns[order.index(place)] for place in range(len(order))]

    def _notice_delimiter(self) -> None:
        """Warns, once, of lines of one cell that look as if another character separated several."""
        lines = [line for _, line in itertools.islice(lines_of(self._files[0], self._text), LINES_LOOKED_AT) if line]
        for delimiter, name in DELIMITER_NAMES.items():
            counts = {line.count(delimiter) for line in lines}
            if (
                delimiter in (",", self._text.delimiter)
                or self._is_delimiter_noticed
                or len(counts) != 1
                or 0 in counts
            ):
                continue  # a comma is common in text
            said = "\\t" if delimiter == "\t" else delimiter
            message = f"each line of the file of `{self._name}` is one cell, and looks as if {name} separated several"
            hint = Note(f"if so, say delimiter={delimiter!r} (--delimiter '{said}')")
            warn([Diagnostic("DL495", message, None, (hint,), Severity.WARNING)])
            self._is_delimiter_noticed = True

    def _notice_header(self, first: Sequence[str], are_numbers: Sequence[bool], columns: Sequence[Column]) -> None:
        """Warns, once, of a first line that looks like the names of the columns: it has the declared names, or only
        text above a column of numbers."""
        declared = {column.name.lower() for column in columns}
        has_names = {cell.strip().lower() for cell in first} == declared
        if self._is_header_noticed or not (has_names or any(are_numbers)):
            return
        shown = ", ".join(f"`{cell}`" for cell in first)
        message = f"the first line of the file of `{self._name}` looks like the names of its columns: {shown}"
        hints = Note("it is taken as a fact; say header=True (--header), or header=False (--no-header) if it is one")
        warn([Diagnostic("DL490", message, None, (hints,), Severity.WARNING)])
        self._is_header_noticed = True


class NoRows(Source[LocalRelation]):
    """Stands for no rows, which do not tell their columns."""

    def __init__(self, name: str) -> None:
        self._name = name

    def columns(self, declared: Sequence[Column] | None) -> None:
        return None

    def relation(self, relation: Relation) -> LocalRelation:
        names = [column.name for column in relation.columns]
        return LocalRelation(names, [column.type for column in relation.columns], ())

    def original(self) -> LocalRelation:
        return LocalRelation((), (), ())

    def chosen(self, columns: Sequence[str]) -> NoRows:
        chosen_places(self._name, (), columns)
        return self


def register(
    reader: Reader[Frame],
    name: str,
    data: object,
    *,
    columns: Sequence[str] | None = None,
    text: TextOptions = USUAL,
    format: str | None = None,
) -> Source[Frame]:
    """Returns a source of data of any kind that is known. `columns` choose some of its columns, by name and in order;
    `text` says how text files are spelled; `format` what a path holds if its name does not."""
    source = _source(reader, name, data, text=text, kind=format)
    return source if columns is None else source.chosen(columns)


def _source(reader: Reader[Frame], name: str, data: Any, *, text: TextOptions, kind: str | None) -> Source[Frame]:
    module = type(data).__module__
    if isinstance(data, os.PathLike):
        return _from_path(reader, name, os.fspath(data), text=text, kind=kind)
    if isinstance(data, str):
        if kind is None and not looks_like_a_path(data):
            refuse_text_options("a table", text)
            return reader.table(name, data)
        return _from_path(reader, name, data, text=text, kind=kind)
    frame = reader.frame(name, data)
    if frame is not None:
        return frame
    if isinstance(data, LocalRelation):
        return reader.held(TableSource(name, data.to_arrow()))
    if module.startswith("pandas"):
        return reader.held(TableSource(name, table_of_pandas(name, data)))
    if isinstance(data, pa.Table | pa.RecordBatch):
        return reader.held(TableSource(name, pa.table(data)))
    if module.startswith("polars") and hasattr(data, "collect"):
        data = data.collect()
    if hasattr(data, "__arrow_c_stream__"):  # polars, DuckDB, readers of Arrow, and whoever else speaks it
        return reader.held(TableSource(name, table_of_stream(name, data)))
    if isinstance(data, Mapping):
        return reader.held(_from_columns(name, data))
    if isinstance(data, Iterable) and not isinstance(data, bytes) and not module.startswith("pyspark"):
        return reader.held(_from_rows(name, data))
    raise fail(
        "DL407",
        f"`{name}` cannot be filled from a value of type {type(data).__name__}",
        None,
        f"{reader.takes}a path, pandas, polars, DuckDB or Arrow data, a list of tuples or of dicts, and a dict of "
        "columns can be used",
    )


def _from_columns(name: str, data: Mapping[object, Any]) -> Source[LocalRelation]:
    """Returns a source of a dict with the values of each column."""
    columns = {}
    for column, values in data.items():
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            hint = f"the dict has {type(values).__name__} for `{column}`; a list of dicts has a value for each column"
            raise fail("DL407", f"`{name}` cannot be filled from a dict without lists of values", None, hint)
        columns[str(column)] = list(values)
    lengths = {column: len(values) for column, values in columns.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"`{column}` has {length:,}" for column, length in lengths.items())
        raise fail("DL402", f"the columns of `{name}` have different numbers of values", None, shown)
    return _from_rows(name, zip(*columns.values(), strict=True), list(columns))


def _from_objects(name: str, data: Sequence[Mapping[object, object]]) -> Source[LocalRelation]:
    """Returns a source of dicts with the values of a row each; a key that one does not have is null in its row."""
    names = list(dict.fromkeys(key for one in data for key in one))
    return _from_rows(name, ([one.get(key) for key in names] for one in data), list(map(str, names)))


def _from_rows(name: str, data: Iterable[object], names: Sequence[str] | None = None) -> Source[LocalRelation]:
    data = list(data)
    if names is None and data and all(isinstance(one, Mapping) for one in data):
        return _from_objects(name, cast("list[Mapping[object, object]]", data))
    rows = rows_of(name, data)
    if rows is None:
        return NoRows(name)
    facts, types = rows
    names = names or [f"c{index + 1}" for index in range(len(types))]
    table = LocalRelation(names, types, table_of(names, types, facts)).to_arrow()
    for index, type_ in enumerate(types):
        if not type_.is_known and not type_.parts:  # nothing but nulls, which are of every type
            table = table.set_column(index, names[index], pa.nulls(len(facts)))
    return TableSource(name, table)


def refuse_text_options(what: str, text: TextOptions) -> None:
    """Raises an error that names the options which only text files have."""
    refuse_options(what, text.given, dict.fromkeys(text.given, "leave it out: it is for text files"))


def _from_path(reader: Reader[Frame], name: str, path: str, *, text: TextOptions, kind: str | None) -> Source[Frame]:
    path = without_scheme(path)
    is_here = "://" not in path
    table = table_kind(path) if is_here else kind_given(kind, path) if kind else ""
    if table in TABLE_KINDS:
        if kind is not None and kind_given(kind, path) != table:
            hint = "leave the format out: its log says which files count"
            raise fail("DL430", f"`{path}` is a {TABLE_KINDS[table]} table", None, hint)
        refuse_text_options(f"a {TABLE_KINDS[table]} table", text)
        return reader.logged_table(Files(name, path, table, (), text))
    found = local_files(path) if is_here else []
    kind = kind_given(kind, path) or (kind_of(str(found[0])) if found else "")
    if kind not in KINDS:
        raise unknown_kind(path)
    if kind not in DELIMITERS:
        refuse_text_options(f"a {kind} file", text)
    try:
        return reader.files(Files(name, path, kind, found, text))
    except EmberlogError:
        raise
    except reader.failures as error:
        raise fail("DL405", f"cannot read `{path}`", None, cause_in(str(error))) from None
