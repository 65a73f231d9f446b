"""Writes the answers of a step's slides to files: whole, or as what each slide added and removed.

The files are as people want them, with the names and types that they see: a sink for Parquet takes them as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import pyarrow as pa
import pyarrow.parquet as pq

from emberlog.datatypes import STRING, TIMESTAMP
from emberlog.io.arrow_values import shown_type
from emberlog.io.column_names import distinct_names, free_name
from emberlog.semantics.model import Column
from emberlog.streams.evaluate.evaluator import SlideEvaluator
from emberlog.streams.steps.checkpoint import OutputFile
from emberlog.streams.steps.folder import Folder

SLIDE, CHANGE = "slide", "change"
ADDED, REMOVED = "added", "removed"
ROWS_AT_ONCE = 1 << 17
"""The answers of small slides are written together, so many rows at a time."""


class OutputMode(StrEnum):
    COMPLETE = "complete"
    """The whole answer at each slide."""
    CHANGES = "changes"
    """The facts that each slide added to the answer of the one before, and those that it removed."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Says which relations are written, and how."""

    mode: OutputMode
    outputs: Mapping[str, tuple[Column, ...]]
    late: Mapping[str, tuple[Column, ...]]
    """Streams whose late tuples are wanted, too, under the name that `late_name` gives them."""
    plain_times: bool
    """Whether times are plain numbers."""

    def schema(self, relation: str) -> pa.Schema:
        """Returns the schema of an output, with the time of the slide, and with what happened to each fact if only
        changes are told; or that of late tuples."""
        columns = self._columns(relation)
        names = distinct_names([column.name for column in columns])
        types = [shown_type(column.type, plain_times=self.plain_times) for column in columns]
        return pa.schema(list(zip(names, types, strict=True)))

    def _columns(self, relation: str) -> tuple[Column, ...]:
        for stream, columns in self.late.items():
            if relation == late_name(stream):
                return columns
        columns = self.outputs[relation]
        names = [column.name for column in columns]
        told = [Column(free_name(SLIDE, names), TIMESTAMP)]
        if self.mode is OutputMode.CHANGES:
            told.append(Column(free_name(CHANGE, names), STRING))
        return (*told, *columns)


def late_name(stream: str) -> str:
    return f"{stream}_late"


class AnswerFiles:
    """Writes one file per relation that has rows."""

    def __init__(self, folder: Folder, layout: Layout, stem: str) -> None:
        """`stem` begins the names of the files."""
        self._folder = folder
        self._layout = layout
        self._stem = stem
        self._schemas: dict[str, pa.Schema] = {}
        self._writers: dict[str, pq.ParquetWriter] = {}
        self._waiting: dict[str, list[pa.Table]] = {}
        self._written: dict[str, int] = {}
        self._rows: dict[str, int] = {}
        self._complete: dict[str, int] = {}
        self.added: dict[str, int] = {}
        self.removed: dict[str, int] = {}

    def add(self, at: int, evaluator: SlideEvaluator) -> None:
        if self._layout.mode is OutputMode.COMPLETE:
            for relation, table in evaluator.answers().items():
                self._complete[relation] = table.num_rows
                self._add(relation, self._told(relation, table, at, None))
            return
        for relation, changes in evaluator.changes().items():
            self.added[relation] = self.added.get(relation, 0) + changes.added.num_rows
            self.removed[relation] = self.removed.get(relation, 0) + changes.removed.num_rows
            self._add(relation, self._told(relation, changes.removed, at, REMOVED))
            self._add(relation, self._told(relation, changes.added, at, ADDED))

    def add_late(self, stream: str, tuples: pa.Table) -> None:
        if stream in self._layout.late and tuples.num_rows:
            name = late_name(stream)
            self._add(name, tuples.rename_columns(self._schema(name).names).cast(self._schema(name)))

    def facts(self, before: Mapping[str, int]) -> dict[str, int]:
        """Returns the size of each answer now, given what it was before."""
        if self._layout.mode is OutputMode.COMPLETE:
            return {**before, **self._complete}
        changed = {name: self.added[name] - self.removed[name] for name in self.added}
        return {**before, **{name: before.get(name, 0) + change for name, change in changed.items()}}

    def finish(self) -> list[OutputFile]:
        for relation in self._waiting:
            self._flush(relation)
        for writer in self._writers.values():
            writer.close()
        return [OutputFile(relation, self._name(relation), self._rows[relation]) for relation in self._writers]

    def _told(self, relation: str, table: pa.Table, at: int, change: str | None) -> pa.Table:
        schema = self._schema(relation)
        rows = table.num_rows
        columns = [pa.repeat(pa.scalar(at, pa.int64()), rows), *table.columns]
        if change is not None:
            columns.insert(1, pa.repeat(change, rows))
        return pa.Table.from_arrays(columns, names=schema.names).cast(schema)

    def _add(self, relation: str, table: pa.Table) -> None:
        waiting = self._waiting.setdefault(relation, [])
        waiting.append(table)
        self._rows[relation] = self._rows.get(relation, 0) + table.num_rows
        if self._rows[relation] - self._written.get(relation, 0) >= ROWS_AT_ONCE:
            self._flush(relation)

    def _flush(self, relation: str) -> None:
        waiting = self._waiting[relation]
        schema = self._schema(relation)
        if relation not in self._writers:
            self._writers[relation] = self._folder.writer(self._name(relation), schema)
        if waiting:
            self._writers[relation].write_table(pa.concat_tables(waiting))
            waiting.clear()
            self._written[relation] = self._rows[relation]

    def _schema(self, relation: str) -> pa.Schema:
        if relation not in self._schemas:
            self._schemas[relation] = self._layout.schema(relation)
        return self._schemas[relation]

    def _name(self, relation: str) -> str:
        return f"{self._stem}-{relation}.parquet"
