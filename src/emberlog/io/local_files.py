"""Reads files into this process: text by the rules of `facts`, the other kinds by Arrow."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from emberlog.datatypes import FLOAT, INT, STRING, UNKNOWN, DataType
from emberlog.diagnostics import fail
from emberlog.io.arrow_values import arrow_type
from emberlog.io.chosen_text import ChosenText
from emberlog.io.delimited_text import read_rows
from emberlog.io.facts import (
    can_be_header,
    is_number,
    lines_of,
    read_bytes,
    read_cells,
    type_of_texts,
    with_inferred_types,
)
from emberlog.io.intake import Files, Glance, NoRows, Reader, Source, TableSource, TextSource, register
from emberlog.io.local_relation import LocalRelation
from emberlog.io.matching import half_character
from emberlog.io.paths import DELIMITERS, JSON_KINDS, cause_in, file_states, partition_values, unreadable
from emberlog.io.table_formats import read_table
from emberlog.io.text_format import TextOptions
from emberlog.semantics.model import Column, Relation
from emberlog.source import Source as Text
from emberlog.source import Span

_CODE = re.compile(rb"(?<![0-9.eE-])-?0[0-9]")
"""How a number begins that would lose its zeros."""
_LIKE_ASCII = ("utf-8-sig", "ascii", "iso8859-1", "cp1252")
"""Encodings in which numbers are spelled as in ASCII, and which are worth the quick way."""
_LARGEST = float(2**63)
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")


class LocalReader(Reader[LocalRelation]):
    """Makes sources for the engine in this process."""

    takes = ""
    failures = (pa.ArrowException, OSError, ValueError)

    def files(self, files: Files) -> Source[LocalRelation]:
        if not files.is_here:
            raise fail("DL405", f"cannot read `{files.path}`", None, "paths with a scheme are for Database() on Spark")
        if files.kind in DELIMITERS:
            return LocalTextSource(files)
        return ReadAgain(files, partial(_read, files))

    def logged_table(self, files: Files) -> Source[LocalRelation]:
        if not files.is_here:
            raise fail("DL405", f"cannot read `{files.path}`", None, "paths with a scheme are for Database() on Spark")
        return TableSource(files.name, read_table(files.kind, files.path))

    def table(self, name: str, table: str) -> Source[LocalRelation]:
        hint = "tables of Spark are known to Database() on Spark only"
        raise fail("DL405", f"there is no file `{table}` for `{name}`", None, hint)

    def frame(self, name: str, data: Any) -> None:
        return None

    def held(self, source: Source[LocalRelation]) -> Source[LocalRelation]:
        return source


class ReadAgain(Source[LocalRelation]):
    """Holds what was read from files, and reads them again when they have changed."""

    def __init__(self, files: Files, read: Callable[[], Source[LocalRelation]]) -> None:
        self._files = files
        self._read = read
        self._held = file_states(files.found), read()
        """What the files were like when they were read, and what they held."""

    @property
    def _now(self) -> Source[LocalRelation]:
        try:
            states = file_states(self._files.found)
            if self._held[0] != states:
                self._held = states, self._read()
        except OSError as error:
            raise unreadable(self._files.path, error) from None
        except (pa.ArrowException, ValueError) as error:
            raise fail("DL405", f"cannot read `{self._files.path}`", None, cause_in(str(error))) from None
        return self._held[1]

    def columns(self, declared: Sequence[Column] | None) -> Sequence[Column] | None:
        return self._now.columns(declared)

    def glance(self) -> Glance:
        return self._held[1].glance()

    def relation(self, relation: Relation) -> LocalRelation:
        return self._now.relation(relation)

    def original(self) -> LocalRelation:
        return self._now.original()

    def repeated_rows(self, relation: Relation) -> int | None:
        return self._now.repeated_rows(relation)

    def chosen(self, columns: Sequence[str]) -> Source[LocalRelation]:
        return ReadAgain(self._files, lambda: self._now.chosen(columns))


def _read(files: Files) -> Source[LocalRelation]:
    if files.kind in JSON_KINDS:
        objects = [one for file in files.found for one in json_objects(file)]
        return TableSource(files.name, _table_of_objects(files.name, objects)) if objects else NoRows(files.name)
    whole = pa.concat_tables([_table(files, file) for file in files.found], promote_options="default")
    return TableSource(files.name, typed_partitions(whole, partition_values(files.path, files.found[0])))


def _table(files: Files, file: Path) -> pa.Table:
    """Returns the rows of a file, with what the folders of a partitioned one say of them."""
    if files.kind == ".parquet":
        import pyarrow.parquet

        table = pyarrow.parquet.ParquetFile(file).read()
    else:
        import pyarrow.orc

        table = pyarrow.orc.read_table(file)
    for column, value in partition_values(files.path, file).items():
        table = table.append_column(column, pa.repeat(pa.scalar(value, pa.string()), table.num_rows))
    return table


def typed_partitions(table: pa.Table, names: Iterable[str]) -> pa.Table:
    """Returns the table with partition columns in the type that all their values spell."""
    for name in names:
        place = table.column_names.index(name)
        texts = table.column(place).unique().to_pylist()
        type_ = type_of_texts([text for text in texts if text is not None])
        table = table.set_column(place, name, table.column(place).cast(arrow_type(type_)))
    return table


def json_objects(file: Path) -> list[dict[str, object]]:
    """Returns the objects of a file, one on each line or all in an array; raises DL404 at what is none."""
    text = Text(str(file), _decoded_json(file))
    if text.text.lstrip()[:1] == "[":
        spans = [(0, len(text.text))]
    else:
        ends = [match.end() for match in _LINE.finditer(text.text)]
        spans = [(begin, end) for begin, end in zip([0, *ends], ends, strict=False) if text.text[begin:end].strip()]
    found: list[object] = []
    for begin, end in spans:
        try:
            value = json.loads(text.text[begin:end], parse_constant=_no_number)
        except ValueError as error:
            at = begin + getattr(error, "pos", 0)
            raise fail("DL404", f"this is not JSON: {error}".partition(": line ")[0], Span(text, at, at + 1)) from None
        objects = value if isinstance(value, list) else [value]
        found += objects
        if not all(isinstance(one, dict) for one in objects):
            hint = "each line is an object, {…}, or the file is an array of them"
            raise fail("DL404", "this is not an object", Span(text, begin, end), hint)
    return cast("list[dict[str, object]]", found)


def _no_number(text: str) -> object:
    raise ValueError(f"{text} is not a number")


def _decoded_json(file: Path) -> str:
    data = read_bytes(file)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        hint = f"line {line:,} has the byte 0x{data[error.start]:02x}, which cannot stand there"
        raise fail("DL406", f"`{file}` is not text in UTF-8", None, hint) from None


def _table_of_objects(name: str, objects: Sequence[dict[str, object]]) -> pa.Table:
    """Returns objects of JSON as rows; a key that one does not have is null in its row."""
    keys = list(dict.fromkeys(key for one in objects for key in one))
    columns = []
    for key in keys:
        try:
            columns.append(pa.array([one.get(key) for one in objects]))
        except UnicodeEncodeError as error:
            raise half_character(f"{error.object!r} in the data of `{name}`") from None
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
            reason = str(error).rstrip(".").partition("\n")[0]
            message = f"the values of `{key}` in the data of `{name}` do not go together"
            raise fail("DL403", message, None, reason) from None
    return pa.table(columns, names=keys)


class LocalTextSource(TextSource[LocalRelation]):
    """Reads its files when a program wants them, and again when they have changed."""

    def __init__(self, files: Files) -> None:
        super().__init__(files)
        self._given = files
        self._read: dict[object, LocalRelation] = {}
        """What was read, by the types that were asked for, and by those that were found."""
        self._made: dict[object, LocalRelation] = {}
        """The same as programs want it: what is made of it for one run is found by it in the next."""
        self._states: object = None

    def relation(self, relation: Relation) -> LocalRelation:
        self._notice_changes()
        wanted = (relation.columns, relation.is_declared, relation.is_stream)
        if wanted not in self._made:
            self._made[wanted] = self._converted(relation)
        return self._made[wanted]

    def _converted(self, relation: Relation) -> LocalRelation:
        if relation.is_declared and len(self.names()) == relation.arity:
            facts = self._facts(self._as_in_file(relation.columns)).selected(self._order(relation.columns))
        else:
            facts = self._facts(relation.columns)
        return facts.with_times(plain=True) if relation.is_stream and self._has_plain_times(relation.arity) else facts

    def _has_plain_times(self, arity: int) -> bool:
        """Tells whether the times of the first file are numbers, which text does not tell from moments."""
        cells = read_cells(self._files[0], arity, self._text)
        return cells.typed([Column("time", UNKNOWN)])[0].type == INT

    def original(self) -> LocalRelation:
        return self._facts(self.columns(None) or ())

    def repeated_rows(self, relation: Relation) -> int | None:
        return self.relation(relation).repeated

    def chosen(self, columns: Sequence[str]) -> ChosenText[LocalRelation]:
        return ChosenText(self, columns)

    def selected(
        self, relation: Relation, known: Sequence[Column], places: Sequence[int], *, plain_times: bool
    ) -> LocalRelation:
        self._notice_changes()
        wanted = (relation.columns, tuple(places), plain_times)
        if wanted not in self._made:
            names = [column.name for column in relation.columns]
            facts = self._facts(known).selected(places).renamed(names)
            self._made[wanted] = facts.with_times(plain=True) if plain_times else facts
        return self._made[wanted]

    def original_columns(self, places: Sequence[int]) -> LocalRelation:
        return self.original().selected(places)

    def at(self, places: Sequence[int], columns: Sequence[Column]) -> LocalRelation:
        """Returns the columns at these places, in these types; what the others hold does not matter."""
        own = [Column(f"{place}", STRING) for place in range(len(self.names()))]
        if not own:
            return LocalRelation([column.name for column in columns], [column.type for column in columns], ())
        for place, column in zip(places, columns, strict=True):
            if place >= len(own):
                message = f"the file of `{self._name}` has no column {place}: it has {len(own)}, counted from 0"
                raise fail("DL402", message)
            own[place] = Column(f"{place}", column.type)
        return self._facts(own).selected(places).renamed([column.name for column in columns])

    def types(self, columns: Sequence[Column]) -> Sequence[DataType]:
        return self._facts(columns).types

    def _facts(self, columns: Sequence[Column]) -> LocalRelation:
        self._notice_changes()
        wanted = tuple(column.type for column in columns)
        if wanted not in self._read:
            found = self._fresh(columns)
            self._read[wanted] = self._read[found.types] = found
        return self._read[wanted].renamed([column.name for column in columns])

    def _notice_changes(self) -> None:
        try:
            states = file_states(self._files)
        except OSError as error:
            raise unreadable(self._given.path, error) from None
        if self._states != states:
            self._read.clear()
            self._made.clear()
            self._states = states

    def _fresh(self, columns: Sequence[Column]) -> LocalRelation:
        names = [column.name for column in columns]
        quick = self._quick(columns)
        if quick is not None:
            return LocalRelation(names, [INT if pa.types.is_int64(c.type) else FLOAT for c in quick.columns], quick)
        files = [read_cells(file, len(columns), self._text) for file in self._files]
        rows = [row for file in files for row in file.rows]
        typed = with_inferred_types(columns, rows, self._text.null)
        facts = [fact for file in files for fact in file.facts(typed)]
        if rows and self._text.may_have_header and can_be_header([cell.text for cell in rows[0]]):
            first = [cell.text for cell in rows[0]]
            below = [[row[place].text for row in rows if row[place].text != cell] for place, cell in enumerate(first)]
            self._notice_header(first, [bool(cells) and all(map(is_number, cells)) for cells in below], columns)
        return LocalRelation(names, [column.type for column in typed], facts)

    def _quick(self, columns: Sequence[Column]) -> pa.Table | None:
        """Returns all files as one table of numbers, or None if they hold or the columns want something else."""
        if not columns or any(column.type not in (INT, FLOAT, UNKNOWN) for column in columns):
            return None
        if self._text.encoding not in _LIKE_ASCII or is_number(self._text.null):
            return None
        has_unknown = any(not column.type.is_known for column in columns)
        tables = []
        for file in self._files:
            data = read_bytes(file)
            data = data.partition(b"\n")[2] if self._text.header else data
            if has_unknown and _CODE.search(data) is not None:
                return None
            table = read_numbers(data, self._text.delimiter)
            if table is None or table.num_columns != len(columns):
                return None
            tables.append(table)
        types = [
            FLOAT if column.type == FLOAT or any(pa.types.is_float64(one.column(i).type) for one in tables) else INT
            for i, column in enumerate(columns)
        ]
        if any(column.type == INT and found == FLOAT for column, found in zip(columns, types, strict=True)):
            return None
        schema = pa.schema([(f"c{i}", arrow_type(found)) for i, found in enumerate(types)])
        try:
            return pa.concat_tables([one.rename_columns(schema.names).cast(schema) for one in tables])
        except pa.ArrowInvalid:  # an int that has no equal float
            return None

    def names(self) -> list[str]:
        quote = self._text.quote
        for file in self._files:
            line = next((line for _, line in lines_of(file, self._text) if line), "")
            if quote and quote in line:  # a quoted cell may go over several lines
                line = read_bytes(file).decode(self._text.encoding, errors="replace")
            rows = read_rows(Text(str(file), line), self._text.delimiter, quote)
            if rows:
                return [cell.text if self._text.header else f"c{index + 1}" for index, cell in enumerate(rows[0])]
        return []


def text_at(places: Sequence[int], path: str, relation: Relation, text: TextOptions, kind: str | None) -> LocalRelation:
    """Returns the columns at these places of text files, counted from 0, as those of the relation."""
    source = register(LocalReader(), relation.name, path, text=text, format=kind)
    assert isinstance(source, LocalTextSource), f"{path} is text"
    return source.at(places, relation.columns)


def read_numbers(data: bytes, delimiter: str) -> pa.Table | None:
    """Returns the columns of a text without a header as ints and floats, or None if not all of them are. Arrow is many
    times quicker than `facts`, which knows what quotes and nulls mean, and can say what is wrong with a line."""
    if not data or _numbers(delimiter).fullmatch(data) is None:
        return None
    # In memory of Arrow: a thread of its pool that lets go of Python's while the interpreter ends, ends the process.
    copied = pa.BufferOutputStream()
    copied.write(data)
    try:
        table = pyarrow.csv.read_csv(
            pa.BufferReader(copied.getvalue()),
            pyarrow.csv.ReadOptions(autogenerate_column_names=True),
            pyarrow.csv.ParseOptions(delimiter=delimiter, quote_char=False),
            pyarrow.csv.ConvertOptions(null_values=[], strings_can_be_null=False),
        )
    except pa.ArrowInvalid:
        return None
    return table if all(map(_is_plain, table.columns)) else None


@cache
def _numbers(delimiter: str) -> re.Pattern[bytes]:
    return re.compile(rb"[0-9\r\n.eE%s-]*" % re.escape(delimiter).encode())


def _is_plain(column: pa.ChunkedArray) -> bool:
    if pa.types.is_int64(column.type):
        return True
    # What Arrow takes for a float may be an int that does not fit.
    return pa.types.is_float64(column.type) and bool(pc.all(pc.less(pc.abs(column), _LARGEST), min_count=0).as_py())
