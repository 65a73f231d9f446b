"""Writes the answers of a step's slides to files: whole, or as what each slide added and removed.

The files are as people want them, with the names and types that they see: a sink for Parquet takes them as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa

from emberlog.datatypes import BOOL, INT, STRING, TIMESTAMP
from emberlog.io.arrow_values import shown_column, shown_type
from emberlog.io.matching import distinct_names, free_name
from emberlog.semantics.model import Column
from emberlog.streams.evaluate.evaluator import SlideEvaluator
from emberlog.streams.steps.checkpoint import OutputFile
from emberlog.streams.steps.tables import TableWriter
from emberlog.workers.store.folders import Folder

SLIDE, CHANGE, SLIDES = "slide", "change", "slides"
REASON, STEP = "reason", "step"
ADDED, REMOVED = "added", "removed"
ROWS_AT_ONCE = 1 << 17
"""The answers of small slides are written together, so many rows at a time."""


Told = tuple[int, Mapping[str, int], bool]
"""A slide, the sizes of its answers, and whether it has closed."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Says which relations are written, and how."""

    tells_changes: bool
    """Whether only the facts are told that each slide added and removed, in place of the whole answer."""
    outputs: Mapping[str, tuple[Column, ...]]
    late: Mapping[str, tuple[Column, ...]]
    """Streams whose late tuples are wanted, too, under the name that `late_name` gives them."""
    plain_times: bool
    """Whether times are plain numbers."""
    streams: Mapping[str, tuple[Column, ...]] = field(default_factory=dict)
    """All streams, for rows of theirs that cannot be used."""

    @property
    def slides(self) -> str:
        """Returns the name under which whole answers come with the slides that were told: an empty answer has no rows
        of its own."""
        return free_name(SLIDES, [*self.outputs, *map(late_name, self.late)])

    def schema(self, relation: str) -> pa.Schema:
        """Returns the schema of an output, with the time of the slide, and with what happened to each fact if only
        changes are told; or that of late tuples."""
        columns = self.columns(relation)
        names = distinct_names([column.name for column in columns])
        types = [shown_type(column.type, plain_times=self.plain_times) for column in columns]
        return pa.schema(list(zip(names, types, strict=True)))

    def shown(self, relation: str, table: pa.Table) -> pa.Table:
        """Returns rows as people see them."""
        columns = [
            shown_column(values, column.type, plain_times=self.plain_times)
            for values, column in zip(table.columns, self.columns(relation), strict=True)
        ]
        return pa.Table.from_arrays(columns, names=table.column_names).cast(self.schema(relation))

    def key(self, relation: str) -> tuple[str, ...]:
        """Returns the names of the columns that tell facts apart, at one slide."""
        columns, names = self.columns(relation), self.schema(relation).names
        told = len(columns) - len(self.outputs[relation]) if relation in self.outputs else int(relation == self.slides)
        both = zip(columns[told:], names[told:], strict=True)
        return tuple(name for column, name in both if column.aggregate is None)

    def columns(self, relation: str) -> tuple[Column, ...]:
        for stream, columns in self.late.items():
            if relation == late_name(stream):
                return columns
        for stream, columns in self.streams.items():
            if relation == bad_name(stream):
                names = [column.name for column in columns]
                return (*columns, Column(free_name(REASON, names), STRING), Column(free_name(STEP, names), INT))
        if relation == self.slides and not self.tells_changes:
            others = (("relation", STRING), ("facts", INT), ("final", BOOL))
            return (Column(SLIDE, TIMESTAMP), *(Column(name, type_) for name, type_ in others))
        columns = self.outputs[relation]
        names = [column.name for column in columns]
        told = [Column(free_name(SLIDE, names), TIMESTAMP)]
        if self.tells_changes:
            told.append(Column(free_name(CHANGE, names), STRING))
        return (*told, *columns)


def late_name(stream: str) -> str:
    return f"{stream}_late"


def bad_name(stream: str) -> str:
    """Names the rows of a stream that cannot be used."""
    return f"{stream}_bad"


class _RelationFile:
    """Writes the rows of one relation. Those of small slides are written together."""

    def __init__(self, folder: Folder, name: str, layout: Layout, relation: str) -> None:
        self.name = name
        self.shown = partial(layout.shown, relation)
        self.schema = layout.schema(relation)
        self.rows = 0
        self._written = 0
        self._waiting: list[pa.Table] = []
        self._writer = TableWriter(folder, name, self.schema)

    def add(self, columns: list[pa.ChunkedArray]) -> None:
        self._waiting.append(self.shown(pa.Table.from_arrays(columns, names=self.schema.names)))
        self.rows += self._waiting[-1].num_rows
        if self.rows - self._written >= ROWS_AT_ONCE:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if self._waiting:
            self._writer.write(pa.concat_tables(self._waiting))
            self._waiting.clear()
            self._written = self.rows


class AnswerFiles:
    """Writes one file per relation that has something to tell."""

    def __init__(self, folder: Folder, layout: Layout, stem: str) -> None:
        """`stem` begins the names of the files."""
        self._folder = folder
        self._layout = layout
        self._stem = stem
        self._files: dict[str, _RelationFile] = {}
        self._complete: dict[str, int] = {}
        self.told: list[Told] = []
        """The sizes of the answers at each slide, where they are told whole."""
        self.added: dict[str, int] = {}
        self.removed: dict[str, int] = {}

    def add(self, at: int, evaluator: SlideEvaluator, *, is_final: bool = True) -> None:
        if not self._layout.tells_changes:
            answers = evaluator.answers()
            self.told.append((at, {relation: table.num_rows for relation, table in answers.items()}, is_final))
            self._complete.update(self.told[-1][1])
            for relation, table in answers.items():
                self._add(relation, table, at)
            return
        for relation, changes in evaluator.changes().items():
            self.added[relation] = self.added.get(relation, 0) + changes.added.num_rows
            self.removed[relation] = self.removed.get(relation, 0) + changes.removed.num_rows
            self._add(relation, changes.removed, at, REMOVED)
            self._add(relation, changes.added, at, ADDED)

    def add_late(self, stream: str, tuples: pa.Table) -> None:
        if stream in self._layout.late and tuples.num_rows:
            self._file(late_name(stream)).add(tuples.columns)

    def facts(self, before: Mapping[str, int]) -> dict[str, int]:
        """Returns the size of each answer now, given what it was before."""
        changed = {name: before.get(name, 0) + self.added[name] - self.removed[name] for name in self.added}
        known = {name: facts for name, facts in before.items() if name in self._layout.outputs}
        return {**known, **self._complete, **changed}

    def add_slides(self, told: Iterable[Told]) -> None:
        """Writes the slides themselves, each with the sizes of its answers."""
        rows = [(at, relation, facts, is_final) for at, sizes, is_final in told for relation, facts in sizes.items()]
        if rows:
            arrays = (pa.array(values) for values in zip(*rows, strict=True))
            self._file(self._layout.slides).add([pa.chunked_array([values]) for values in arrays])

    def finish(self) -> list[OutputFile]:
        for file in self._files.values():
            file.close()
        return [OutputFile(relation, file.name, file.rows) for relation, file in self._files.items()]

    def _add(self, relation: str, table: pa.Table, at: int, *change: str) -> None:
        told = [pa.repeat(pa.scalar(at, pa.int64()), table.num_rows)]
        told += [pa.repeat(one, table.num_rows) for one in change]
        self._file(relation).add([*told, *table.columns])

    def _file(self, relation: str) -> _RelationFile:
        if relation not in self._files:
            name = f"{self._stem}-{relation}.parquet"
            self._files[relation] = _RelationFile(self._folder, name, self._layout, relation)
        return self._files[relation]
