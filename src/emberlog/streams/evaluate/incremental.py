"""Evaluates slide by slide, from what the slide before left: only what arrived is derived from, and what expires just
goes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from emberlog.config import Execution
from emberlog.datatypes import STRING
from emberlog.diagnostics import InternalError
from emberlog.engines.interpreter.interpreter import asked_facts
from emberlog.io.arrow_values import table_of
from emberlog.language.faults import Fault
from emberlog.logical.nodes import Field
from emberlog.semantics.model import Fact, TimeRole
from emberlog.streams.evaluate.evaluator import Changes
from emberlog.streams.evaluate.incremental_plan import IncrementalPlan
from emberlog.streams.plan.expiring_program import NEVER, NOT_YET
from emberlog.streams.plan.slides import Schedule, Slide
from emberlog.streams.state.lane_relations import (
    LaneRelations,
    asked_rows,
    difference,
    lanes_of_table,
    relation_of,
    table_of_lanes,
)
from emberlog.streams.state.stream_texts import StreamTexts
from emberlog.streams.state.stream_worker import StreamWorker
from emberlog.workers.fixpoint.team import drive, share_of
from emberlog.workers.fixpoint.worker import WorkerTask
from emberlog.workers.kernels.lanes import NULL, Lane, Lanes, joined, no_rows
from emberlog.workers.plan.faults import told
from emberlog.workers.plan.worker_plan import place_as_asked
from emberlog.workers.store.partitioning import Hashed
from emberlog.workers.wire.messages import Mail, Message, Running

MANY_TEXTS = 1 << 14
"""With fewer texts, those that no fact has any more are not looked for."""

_WORD = 8


@dataclass(frozen=True, slots=True)
class _CompleteAnswer:
    """Holds the answer of a relation that is computed as a whole: lanes, or facts at a slide where lanes cannot hold
    it."""

    lanes: Lanes
    facts: frozenset[Fact] = frozenset()


class IncrementalEvaluator:
    def __init__(
        self,
        plan: IncrementalPlan,
        schedule: Schedule,
        statics: Mapping[str, pa.Table],
        *,
        workers: int = 1,
        tracks_changes: bool = True,
    ) -> None:
        """`statics` are the inputs that are no streams; `tracks_changes=False` where `changes` is never called."""
        self._plan = plan
        self._program = plan.maintenance.program
        self._outputs = plan.maintenance.outputs
        self._schedule = schedule
        self._workers = workers
        self._tracks_changes = tracks_changes
        self._arriving = {
            name: tuple(Field(column.name, column.type) for column in columns)
            for name, columns in self._program.arriving.items()
        }
        self._queries = {
            name: [query for query in plan.maintenance.checked.queries if query.relation == name]
            for name in self._outputs
        }
        self._texts = StreamTexts()
        self._fields = plan.fields
        self._texts.write(plan.texts)
        self._relations = LaneRelations(self._fields, self._texts, plan.unread)
        for name, table in statics.items():
            if name in self._fields:  # else no rule reads it
                self._relations.put(name, table)
        plan.once.run(self._relations)
        self._texts_kept = len(self._texts)
        self._begin()

    def _begin(self) -> None:
        """Forgets everything but what never changes."""
        self._team = self._new_workers() if self._plan.kept else []
        self._origin: int | None = None
        self._changed: list[dict[str, tuple[Lanes, Lanes]]] = []
        complete = [name for name in self._outputs if name not in self._plan.kept]
        self._complete = {name: _CompleteAnswer(no_rows(len(self._fields[name]))) for name in complete}
        self._complete_before = dict(self._complete)

    def _new_workers(self) -> list[StreamWorker]:
        expiring = self._plan.expiring
        placement = place_as_asked(expiring, Execution(workers=self._workers), {})
        tracked = frozenset(self._plan.kept).intersection(self._outputs) if self._tracks_changes else frozenset()
        statics = {name: self._relations.lanes(name) for name in expiring.statics}
        return [
            StreamWorker(
                WorkerTask(expiring, placement, number, self._workers, self._texts, self._plan.limits),
                {
                    name: share_of(rows, placement.statics[name], number, Hashed(self._workers))
                    for name, rows in statics.items()
                },
                tracked,
                frozenset(self._plan.repaired),
            )
            for number in range(self._workers)
        ]

    def restore(self, slide: Slide, window: Mapping[str, pa.Table]) -> None:
        self._begin()
        self.advance(slide, window)

    def advance(self, slide: Slide, arrived: Mapping[str, pa.Table]) -> None:
        number = self._number(slide)
        shares = self._shares({name: table for name, table in arrived.items() if name in self._plan.kept})
        if self._team:
            try:
                self._drive([worker.move(number, share) for worker, share in zip(self._team, shares, strict=True)])
            except Fault as fault:
                raise told(fault, self._plan.places) from None
        self._changed = [worker.end() for worker in self._team]
        for name in self._plan.read_anew:
            self._relations.put_lanes(name, self._visible(name))
        self._plan.anew.run(self._relations)
        self._complete_before, self._complete = self._complete, {name: self._computed(name) for name in self._complete}
        self._forget_texts()

    def _drive(self, running: list[Running]) -> None:
        drive(running)

    def answers(self) -> Mapping[str, pa.Table]:
        return {
            name: self._complete_table(name, self._complete[name])
            if name in self._complete
            else self._asked_table(name, self._visible(name))
            for name in self._outputs
        }

    def changes(self) -> Mapping[str, Changes]:
        return {
            name: self._complete_changes(name) if name in self._complete else self._kept_changes(name)
            for name in self._outputs
        }

    def _kept_changes(self, name: str) -> Changes:
        worker = self._team[0]
        added = joined([worker.visible(name, changed[name][0]) for changed in self._changed], 0)
        removed = joined([worker.visible(name, changed[name][1]) for changed in self._changed], 0)
        if worker.hides_ranks(name):
            added, removed = difference(added, removed)
        return Changes(self._asked_table(name, added), self._asked_table(name, removed))

    def expired(self) -> int:
        streams = set(self._plan.kept).intersection(self._program.streams)
        return sum(worker.expired[name] for worker in self._team for name in streams)

    def state_bytes(self) -> int:
        return sum(worker.state_bytes for worker in self._team)

    # Slides and tuples

    def _number(self, slide: Slide) -> int:
        """Numbers slides from the first one. Without a window nothing expires, and one number does for all."""
        if self._schedule.size is None:
            return 0
        if self._origin is None:
            self._origin = slide.at
        number, rest = divmod(slide.at - self._origin, self._schedule.distance)
        if rest or slide != self._schedule.slide(slide.at):
            raise InternalError(f"DL902: {slide} is none of the slides of {self._schedule}")
        return number

    def _shares(self, arrived: Mapping[str, pa.Table]) -> list[dict[str, Lanes]]:
        """Divides what arrived into equal parts, as contributions to the streams: their owners get them with the first
        exchange."""
        shares: list[dict[str, Lanes]] = [{} for _ in self._team]
        for name, table in arrived.items():
            lanes = self._contributions(name, table)
            for worker, share in zip(self._team, shares, strict=True):
                place = worker.task.number
                begin, end = (lanes.shape[1] * one // self._workers for one in (place, place + 1))
                share[name] = np.ascontiguousarray(lanes[:, begin:end])
        return shares

    def _contributions(self, name: str, table: pa.Table) -> Lanes:
        """Returns the keys of the facts, then their time where it is an annotation, then their last slide."""
        lanes = lanes_of_table(name, table, self._arriving[name], self._texts, self._plan.unread_as_they_arrive[name])
        times = lanes[0]
        if self._schedule.size is None:
            last = np.full(len(times), NEVER)
        else:
            assert self._origin is not None
            last = (times + (self._schedule.size - self._origin)) // self._schedule.distance
        match self._program.times[name]:
            case TimeRole.NONE:
                return np.vstack([lanes[1:], last])
            case TimeRole.ANNOTATION:
                return np.vstack([lanes[1:], times, np.full(len(times), NOT_YET), last])
            case TimeRole.ORDINARY:
                return np.vstack([lanes, last])

    # Relations that are kept

    def _visible(self, name: str) -> Lanes:
        return joined([worker.visible(name, worker.store(name).visible()) for worker in self._team], 0)

    def _asked_table(self, name: str, lanes: Lanes) -> pa.Table:
        asked = asked_rows(self._queries[name], lanes, self._texts)
        return table_of_lanes(asked, self._fields[name], self._texts)

    # Relations that are computed as a whole

    def _computed(self, name: str) -> _CompleteAnswer:
        queries = self._queries[name]
        if self._relations.has_lanes(name):
            return _CompleteAnswer(asked_rows(queries, self._relations.lanes(name), self._texts))
        facts = self._relations.facts(name)
        return _CompleteAnswer(no_rows(len(self._fields[name])), asked_facts(queries, facts) if queries else facts)

    def _complete_changes(self, name: str) -> Changes:
        now, before = self._complete[name], self._complete_before[name]
        if now.facts or before.facts:
            has, had = (relation_of(self._fields[name], self._complete_table(name, one)).facts for one in (now, before))
            return Changes(self._table_of_facts(name, has - had), self._table_of_facts(name, had - has))
        tables = (self._complete_table(name, _CompleteAnswer(rows)) for rows in difference(now.lanes, before.lanes))
        return Changes(*tables)

    def _complete_table(self, name: str, answer: _CompleteAnswer) -> pa.Table:
        if answer.lanes.shape[1]:
            return table_of_lanes(answer.lanes, self._fields[name], self._texts)
        return self._table_of_facts(name, answer.facts)

    def _table_of_facts(self, name: str, facts: frozenset[Fact]) -> pa.Table:
        fields = self._fields[name]
        return table_of([field.name for field in fields], [field.type for field in fields], list(facts))

    # Texts

    def _forget_texts(self) -> None:
        """Forgets texts that came with the stream and that no fact has any more; looks for them when the number of
        texts has doubled."""
        if len(self._texts) < 2 * self._texts_kept + MANY_TEXTS:
            return
        self._texts.forget_all_but(self._text_lanes())
        self._texts_kept = len(self._texts)

    def _text_lanes(self) -> Iterator[Lane]:
        named = [(name, self._relations.lanes(name)) for name in self._relations.names_of_lanes]
        named += [
            (name, worker.visible(name, worker.store(name).all)) for worker in self._team for name in self._plan.kept
        ]
        named += [(name, answer.lanes) for name, answer in self._complete_before.items()]
        named += [
            (name, self._team[0].visible(name, lanes))
            for changed in self._changed
            for name, (_, lanes) in changed.items()
        ]
        for name, lanes in named:
            for lane, field in zip(lanes, self._fields[name], strict=True):
                if field.type == STRING:
                    yield lane[lane != NULL] if name in self._plan.unread else lane


Swap = Callable[[Mail], Mail]
"""Gives every partition its message, and gives back what every partition has for this one."""


class PartitionEvaluator(IncrementalEvaluator):
    """Keeps one partition of the facts up to date together with the others, wherever they are.

    Every partition is given a share of the tuples, and tells the others which texts are new in it, so that all number
    them alike; facts go to their owners with the exchanges of the rounds. What is computed anew at every slide needs
    all facts in one place, and so do answers that do not come from a stream at all: such programs have one partition.
    """

    def __init__(
        self,
        plan: IncrementalPlan,
        schedule: Schedule,
        statics: Mapping[str, pa.Table],
        *,
        part: int,
        parts: int,
        tracks_changes: bool = True,
    ) -> None:
        self._part = part
        self._swap: Swap | None = None
        super().__init__(plan, schedule, statics, workers=parts, tracks_changes=tracks_changes)

    def connect(self, swap: Swap) -> None:
        """Sets how messages are exchanged: connections do not outlive the job of a micro-batch."""
        self._swap = swap

    def _shares(self, arrived: Mapping[str, pa.Table]) -> list[dict[str, Lanes]]:
        """Returns all that has arrived here as the share of this partition."""
        self._number_texts(arrived)
        return [{name: self._contributions(name, table) for name, table in arrived.items()}]

    def _number_texts(self, arrived: Mapping[str, pa.Table]) -> None:
        """Numbers the new texts of all partitions, in the order of these."""
        columns = [
            table.column(place)
            for name, table in arrived.items()
            for place, field in enumerate(self._arriving[name])
            if field.type == STRING
        ]
        if not columns:
            return
        told = json.dumps(self._texts.unknown(columns)).encode()
        lanes = np.frombuffer(told.ljust(-(-len(told) // _WORD) * _WORD), np.int64)[np.newaxis]
        for message in self._told_to_all(lanes):
            self._texts.learn(json.loads(message.batches[0].tobytes()))

    def _new_workers(self) -> list[StreamWorker]:
        return super()._new_workers()[self._part : self._part + 1]

    def _drive(self, running: list[Running]) -> None:
        (own,) = running
        mail = next(own, None)
        while mail is not None:
            try:
                mail = own.send(self._swapped(mail))
            except StopIteration:
                return

    def _text_lanes(self) -> Iterator[Lane]:
        """Yields the texts of all partitions: what one of them forgets, all forget."""
        own = np.unique(np.concatenate([np.empty(0, np.int64), *super()._text_lanes()]))
        yield from (message.batches[0][0] for message in self._told_to_all(own[np.newaxis]))

    def _told_to_all(self, lanes: Lanes) -> Mail:
        return self._swapped([Message((), {0: lanes}) for _ in range(self._workers)])

    def _swapped(self, mail: Mail) -> Mail:
        assert self._swap is not None
        return self._swap(mail)
