"""Says what a step is asked to do: the query that it is a step of, and the batch that it evaluates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from emberlog.config import StreamOptions
from emberlog.io.arrow_values import arrow_type
from emberlog.io.local_relation import facts_of_table
from emberlog.semantics.model import Column
from emberlog.streams.evaluate.evaluator import SlideEvaluator
from emberlog.streams.plan.slides import Schedule
from emberlog.streams.state.backlog import Backlog
from emberlog.streams.state.copies import CHANGE
from emberlog.streams.state.sessions import SessionBacklog
from emberlog.streams.steps.answers import Layout
from emberlog.streams.steps.checkpoint import Record
from emberlog.streams.steps.quarantine import Inspected, inspect


@dataclass(frozen=True, slots=True)
class Spec:
    """Holds what does not change from step to step of a query. It is pickled for every task."""

    query: str
    """Names the state in a worker."""
    options: StreamOptions
    schedule: Schedule
    streams: Mapping[str, tuple[Column, ...]]
    statics: tuple[str, ...]
    outputs: Mapping[str, tuple[Column, ...]]
    plain_times: bool
    """Whether times are plain numbers."""
    make: Callable[[Mapping[str, pa.Table], int, int], SlideEvaluator]
    """Makes an evaluator, given the facts of the relations that are no streams, which partition it is, and of how
    many."""
    needed: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """The columns of each stream in which a row needs a value; all of them if nothing is said."""
    changing: frozenset[str] = frozenset()
    """The streams of changes: behind their columns, rows say whether they come or go."""

    @property
    def location(self) -> str:
        """Returns the place of the checkpoint."""
        return self.options.checkpointLocation

    @property
    def layout(self) -> Layout:
        late = self.streams if self.options.late == "keep" else {}
        return Layout(self.options.tells_changes, self.outputs, late, self.plain_times, self.streams)

    def inspected(self, stream: str, rows: pa.Table | None) -> Inspected:
        """Parts the rows of a batch that can be used from those that cannot."""
        columns = self.streams[stream]
        schema = pa.schema(list(self.schema(stream))[: len(columns)])
        if rows is None:
            rows = self.schema(stream).empty_table()
        typed = rows.select(range(len(columns))).rename_columns(schema.names).cast(schema)
        for place in range(len(columns), rows.num_columns):
            typed = typed.append_column(rows.field(place), rows.column(place))
        return inspect(typed, columns, self.needed.get(stream, range(len(columns))))

    def backlog(self, tuples: Mapping[str, pa.Table]) -> Backlog | SessionBacklog:
        """Returns what keeps tuples that wait."""
        if self.schedule.gap is None:
            return Backlog(self.schedule, tuples)
        key = self.schedule.key
        places = {stream: [one.name for one in columns].index(key) for stream, columns in self.streams.items() if key}
        return SessionBacklog(self.schedule, tuples, places)

    def schema(self, stream: str) -> pa.Schema:
        fields = [(f"c{place}", arrow_type(one.type)) for place, one in enumerate(self.streams[stream])]
        return pa.schema([*fields, (CHANGE, pa.int8())] if stream in self.changing else fields)


@dataclass(frozen=True, slots=True)
class Step:
    """Asks for the evaluation of one micro-batch."""

    number: int
    batch: int
    token: str
    before: Record | None
    closes: bool = False
    """Closes every slide that tuples wait for, because no more will come."""
    idle: tuple[str, ...] = ()
    """The streams that have given nothing for so long that nobody waits for them."""
    barred: Mapping[str, pa.Table] = field(default_factory=dict)
    """Rows of streams of which it is known that a rule has no value for them, with the reason in a last column."""

    def without_barred(self, stream: str, rows: pa.Table) -> pa.Table:
        """Returns the rows without those that are barred."""
        if stream not in self.barred or not rows.num_rows:
            return rows
        gone = set(facts_of_table(self.barred[stream].select(range(rows.num_columns))))
        return rows.filter(pa.array([fact not in gone for fact in facts_of_table(rows)], pa.bool_()))
