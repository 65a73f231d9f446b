"""Runs a recursion by stages: the facts of a stage are complete before any rule reads them.

Contributions wait, by relation and stage, until everything before them is done. Then the lowest stage, and in it the
first relation in the order of a stage, is released on all workers at once and becomes the delta of a round.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping

import numpy as np

from emberlog.workers.fixpoint.worker import Worker, WorkerTask, gather
from emberlog.workers.kernels.lanes import Lane, Lanes, joined
from emberlog.workers.kernels.tuning import BATCH, RESULT_BATCH
from emberlog.workers.plan.rules import Atom
from emberlog.workers.recover.checkpoints import SavedState
from emberlog.workers.recover.store_states import restore_relation, save_relation
from emberlog.workers.store.joined import Contribution
from emberlog.workers.store.relations import WorkerRelation
from emberlog.workers.store.stores import StaticStore
from emberlog.workers.wire.messages import Mail, Message, Progress, Running, added

NONE_LEFT = 2**62

_TOTAL, _WAITING = "total", "waiting"


class StagedWorker(Worker):
    def __init__(
        self, task: WorkerTask, statics: Mapping[str, StaticStore], report: Callable[[Progress], None] = lambda _: None
    ) -> None:
        super().__init__(task, statics, report)
        self.waiting: dict[tuple[int, int], WorkerRelation] = {}
        """By stage and by place in the order of a stage."""
        self.order = {name: place for place, name in enumerate(self.program.recursion.stage_order)}
        self.released: dict[str, list[Lanes]] = {relation.name: [] for relation in self.program.relations}
        self.delta: tuple[str, WorkerRelation] | None = None
        self.total = 0

    def run(self) -> Running:
        saved = self.task.saved_state
        iteration = 0
        if saved is None:
            yield from self._deliver(self.seed_contributions())
        else:
            iteration = self._take_up(saved)
        while True:
            stage, place, is_due = yield from self._lowest(iteration)
            if stage == NONE_LEFT:
                return
            if is_due:
                self._save(iteration)
            changed = self._release(stage, place)
            self.begin_iteration(iteration + 1)
            contributions = yield from self.rule_contributions()
            changed, total = yield from self._deliver(contributions, changed)
            iteration += 1
            progress = Progress(iteration, changed, total)
            self.report(progress)
            self.check_limits(progress)

    def results(self, relation: str) -> Iterator[list[Lane]]:
        width = len(self.program.relation(relation).columns)
        lanes = joined(self.released[relation], width)
        for begin in range(0, lanes.shape[1], RESULT_BATCH):
            yield list(lanes[:, begin : begin + RESULT_BATCH])

    def result_count(self, relation: str) -> int:
        return sum(lanes.shape[1] for lanes in self.released[relation])

    def _lowest(self, iteration: int) -> Generator[Mail, Mail, tuple[int, int, bool]]:
        """Returns the lowest stage and place that waits on any worker, and whether everyone wants a checkpoint before
        it."""
        mine = min(self.waiting, default=(NONE_LEFT, 0))
        is_due = int(self.task.is_checkpoint_due(iteration))
        received = yield [Message(mine, sums=(is_due,)) for _ in range(self.task.workers)]
        stage, place = min((message.numbers[0], message.numbers[1]) for message in received)
        return stage, place, added(received) == (self.task.workers,)

    def _save(self, iteration: int) -> None:
        assert self.task.checkpoints is not None
        with self.task.checkpoints.saving(iteration, is_alone=False) as state:
            state.number(_TOTAL, self.total)
            for name, parts in self.released.items():
                self.released[name] = [joined(parts, len(self.program.relation(name).columns))]
                state.grown(name, self.released[name][0])
            keys = sorted(self.waiting)
            state.whole(_WAITING, np.array(keys, np.int64).reshape(-1, 2).T)
            for key in keys:
                save_relation(state, _name_of(key), self.waiting[key])

    def _take_up(self, saved: SavedState) -> int:
        self.total = saved.number(_TOTAL)
        for name in self.released:
            self.released[name] = [saved.lanes(name)]
        for stage, place in saved.lanes(_WAITING).T.tolist():
            relation = WorkerRelation(self.program.relation(self.program.recursion.stage_order[place]), tracks=False)
            restore_relation(saved, _name_of((stage, place)), relation)
            self.waiting[stage, place] = relation
        return saved.iteration

    def _release(self, stage: int, place: int) -> int:
        name = self.program.recursion.stage_order[place]
        relation = self.waiting.pop((stage, place), None) or WorkerRelation(self.program.relation(name))
        self.delta = (name, relation)
        self.released[name].append(np.stack(relation.visible(relation.store.all)))
        self.total += relation.count
        return relation.count

    def _deliver(
        self, contributions: Iterable[tuple[str, Contribution]], changed: int = 0
    ) -> Generator[Mail, Mail, tuple[int, int]]:
        """Sends contributions to their owners, combined at the source; returns the sums of the delta and of all
        facts."""
        mail = self.empty_mail(changed, self.total)
        self.post_combined(mail, contributions)
        received = yield mail
        for name, channel in self.channels.items():
            self._wait(name, gather(received, channel, self.program.relation(name).width))
        everyone, total = added(received)
        return everyone, total

    def _wait(self, name: str, lanes: Lanes) -> None:
        relation = self.program.relation(name)
        stages = lanes[relation.columns[self.program.recursion.stage_columns[name]].lane]
        for stage in np.unique(stages).tolist():
            key = (stage, self.order[name])
            if key not in self.waiting:
                self.waiting[key] = WorkerRelation(relation, tracks=False)
            self.waiting[key].add(lanes[:, stages == stage])

    def started(self, atom: Atom) -> Iterator[list[Lane]]:
        if atom.relation not in self.released:
            yield from super().started(atom)
            return
        assert self.delta is not None
        name, relation = self.delta
        if name != atom.relation:
            return
        yield from relation.in_batches(relation.store.all, BATCH)


def _name_of(waiting: tuple[int, int]) -> str:
    stage, place = waiting
    return f"{_WAITING} {stage} {place}"
