"""Slide by slide, from what the slide before left: only what arrived is derived from, and what expires just goes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from emberlog.config import DEFAULT_LIMITS, Execution, Limits
from emberlog.datatypes import STRING
from emberlog.diagnostics import InternalError
from emberlog.language.faults import Fault
from emberlog.logical.nodes import Field
from emberlog.semantics.model import TimeRole
from emberlog.streams.evaluate.complete_output import CompleteOutput
from emberlog.streams.evaluate.divided_program import compile_division
from emberlog.streams.evaluate.evaluator import Changes
from emberlog.streams.plan.batch_program import BatchProgram
from emberlog.streams.plan.expiring_program import NEVER, NOT_YET
from emberlog.streams.plan.maintenance import Maintenance, plan_maintenance
from emberlog.streams.plan.window import Slide, Window
from emberlog.streams.state.asked_rows import asked_rows, difference
from emberlog.streams.state.lane_relations import LaneRelations, lanes_of_table, table_of_lanes
from emberlog.streams.state.stream_texts import StreamTexts
from emberlog.streams.state.stream_worker import StreamWorker
from emberlog.workers.fixpoint.team import drive, share_of
from emberlog.workers.fixpoint.worker import WorkerTask
from emberlog.workers.kernels.lanes import Lane, Lanes, joined
from emberlog.workers.plan.faults import told
from emberlog.workers.plan.worker_plan import place_as_asked
from emberlog.workers.store.partitioning import Hashed
from emberlog.workers.store.texts import texts_of
from emberlog.workers.wire.messages import Running

MANY_TEXTS = 1 << 14
"""With fewer texts, those that no fact has any more are not looked for."""


class IncrementalEvaluator:
    def __init__(
        self,
        program: BatchProgram,
        window: Window | None,
        statics: Mapping[str, pa.Table],
        limits: Limits = DEFAULT_LIMITS,
        *,
        workers: int = 1,
        tracks_changes: bool = True,
    ) -> None:
        """`tracks_changes=False` where nobody asks for `changes`."""
        self._program = program
        self._window = window
        self._limits = limits
        self._workers = workers
        self._tracks_changes = tracks_changes
        self._places = {rule.name: rule.span for rule in program.checked.rules}
        self._arriving = {
            name: tuple(Field(column.name, column.type) for column in columns)
            for name, columns in program.arriving.items()
        }
        self._texts = StreamTexts()
        self._plan = compile_division(plan_maintenance(program), limits, self._places)
        self._fields = self._plan.fields
        self._texts.write([*self._plan.texts, *texts_of(self._plan.expiring)])
        self._relations = LaneRelations(self._plan.fields, self._texts)
        for name, table in statics.items():
            if name in self._plan.fields:  # else nobody asks for it
                self._relations.put(name, table)
        self._plan.once.run(self._relations, self._texts.written)
        self._texts_kept = len(self._texts)
        self._begin()

    @property
    def maintenance(self) -> Maintenance:
        """What is done with each relation, and why."""
        return self._plan.maintenance

    def _begin(self) -> None:
        """Forgets everything but what never changes."""
        self._team = self._workers_with_nothing() if self._plan.kept else []
        self._origin: int | None = None
        self._changed: list[dict[str, tuple[Lanes, Lanes]]] = []
        self._complete = {
            name: CompleteOutput(self.maintenance.checked, name, self._fields[name], self._texts, self._texts.written)
            for name in self.maintenance.outputs
            if name not in self._plan.kept
        }

    def _workers_with_nothing(self) -> list[StreamWorker]:
        placement = place_as_asked(self._plan.expiring, Execution(workers=self._workers), {})
        tracked = frozenset(self._plan.kept).intersection(self.maintenance.outputs)
        statics = {name: self._relations.lanes(name) for name in self._plan.expiring.statics}
        return [
            StreamWorker(
                WorkerTask(self._plan.expiring, placement, number, self._workers, self._texts.written, self._limits),
                {
                    name: share_of(rows, placement.statics[name], number, Hashed(self._workers))
                    for name, rows in statics.items()
                },
                tracked if self._tracks_changes else frozenset(),
                frozenset(self._plan.repaired),
            )
            for number in range(self._workers)
        ]

    def restore(self, slide: Slide, window: Mapping[str, pa.Table]) -> None:
        self._begin()
        self.advance(slide, window)

    def advance(self, slide: Slide, arrived: Mapping[str, pa.Table]) -> None:
        number = self._number(slide)
        shares = self._shares(arrived)
        if self._team:
            try:
                self._drive([worker.move(number, share) for worker, share in zip(self._team, shares, strict=True)])
            except Fault as fault:
                raise told(fault, self._places) from None
        self._changed = [worker.end() for worker in self._team]
        for name in self._plan.read_anew:
            self._relations.put_lanes(name, self._visible(name))
        self._plan.anew.run(self._relations, self._texts.written)
        for output in self._complete.values():
            output.update(self._relations)
        self._forget_texts()

    def _drive(self, running: list[Running]) -> None:
        drive(running)

    def answers(self) -> Mapping[str, pa.Table]:
        return {name: self._answer(name) for name in self.maintenance.outputs}

    def _answer(self, name: str) -> pa.Table:
        return self._complete[name].answer() if name in self._complete else self._asked(name, self._visible(name))

    def changes(self) -> Mapping[str, Changes]:
        return {name: self._changes(name) for name in self.maintenance.outputs}

    def _changes(self, name: str) -> Changes:
        if name in self._complete:
            return self._complete[name].changes()
        worker = self._team[0]
        added = joined([worker.visible(name, changed[name][0]) for changed in self._changed], 0)
        removed = joined([worker.visible(name, changed[name][1]) for changed in self._changed], 0)
        if worker.hides_ranks(name):
            added, removed = difference(added, removed)
        return Changes(self._asked(name, added), self._asked(name, removed))

    def facts_in_window(self) -> Mapping[str, int]:
        return {name: sum(worker.store(name).visible_count for worker in self._team) for name in self._plan.kept}

    def expired(self) -> int:
        streams = set(self._plan.kept).intersection(self._program.streams)
        return sum(worker.expired[name] for worker in self._team for name in streams)

    def state_bytes(self) -> int:
        return sum(worker.state_bytes for worker in self._team)

    # Slides and tuples

    def _number(self, slide: Slide) -> int:
        """Slides are numbered from the first one; without a window nothing expires, and one number does for all."""
        if self._window is None:
            return 0
        if self._origin is None:
            self._origin = slide.at
        number, rest = divmod(slide.at - self._origin, self._window.step)
        if rest or slide.since != slide.at - self._window.size:
            raise InternalError(f"DL902: {slide} is none of the slides of {self._window}")
        return number

    def _shares(self, arrived: Mapping[str, pa.Table]) -> list[dict[str, Lanes]]:
        """What arrived as contributions to the streams, in equal parts: their owners get them with the first mail."""
        shares: list[dict[str, Lanes]] = [{} for _ in self._team]
        for name, table in arrived.items():
            if name not in self._plan.kept:
                continue  # nobody asks for it
            lanes = self._contributions(name, table)
            for worker, share in zip(self._team, shares, strict=True):
                place = worker.task.number
                begin, end = (lanes.shape[1] * one // self._workers for one in (place, place + 1))
                share[name] = np.ascontiguousarray(lanes[:, begin:end])
        return shares

    def _contributions(self, name: str, table: pa.Table) -> Lanes:
        """The keys of the facts, then their time where it is an annotation, then their last slide."""
        lanes = lanes_of_table(name, table, self._arriving[name], self._texts)
        moments = lanes[0]
        if self._window is None:
            last = np.full(len(moments), NEVER)
        else:
            assert self._origin is not None
            last = (moments + (self._window.size - self._origin)) // self._window.step
        match self._program.times[name]:
            case TimeRole.NONE:
                return np.vstack([lanes[1:], last])
            case TimeRole.ANNOTATION:
                return np.vstack([lanes[1:], moments, np.full(len(moments), NOT_YET), last])
            case TimeRole.ORDINARY:
                return np.vstack([lanes, last])

    # Relations

    def _visible(self, name: str) -> Lanes:
        return joined([worker.visible(name, worker.store(name).visible()) for worker in self._team], 0)

    def _asked(self, name: str, lanes: Lanes) -> pa.Table:
        queries = [query for query in self.maintenance.checked.queries if query.relation == name]
        return table_of_lanes(asked_rows(queries, lanes, self._texts.written), self._fields[name], self._texts)

    def _forget_texts(self) -> None:
        """Texts that came with the stream go when no fact has them any more; looked for when they have doubled."""
        if len(self._texts) < 2 * self._texts_kept + MANY_TEXTS:
            return
        self._texts.forget_all_but(self._text_lanes())
        self._texts_kept = len(self._texts)

    def _text_lanes(self) -> Iterator[Lane]:
        named = [(name, self._relations.lanes(name)) for name in self._relations.names_of_lanes]
        named += [
            (name, worker.visible(name, worker.store(name).all)) for worker in self._team for name in self._plan.kept
        ]
        named += [(name, output.lanes_before) for name, output in self._complete.items()]
        named += [
            (name, self._team[0].visible(name, lanes))
            for changed in self._changed
            for name, (_, lanes) in changed.items()
        ]
        for name, lanes in named:
            for lane, field in zip(lanes, self._fields[name], strict=True):
                if field.type == STRING:
                    yield lane
