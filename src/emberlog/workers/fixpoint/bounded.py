"""Runs a bounded recursion: every round starts anew from the relations of the round before (`@iterations`)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping

import numpy as np

from emberlog.language.faults import Fault
from emberlog.workers.fixpoint.worker import Worker, WorkerTask, gather
from emberlog.workers.kernels.lanes import Lane, Lanes
from emberlog.workers.kernels.tuning import BATCH, FEW_ROWS
from emberlog.workers.plan.rules import Atom
from emberlog.workers.recover.store_states import restore_relation, save_relation
from emberlog.workers.store.history import HistoryBatch, KeepsHistory
from emberlog.workers.store.joined import Contribution
from emberlog.workers.store.relations import WorkerRelation
from emberlog.workers.store.stores import KeyedStore, SetStore, StaticStore
from emberlog.workers.wire.messages import Mail, Progress, Running, added


class BoundedWorker(Worker, KeepsHistory):
    def __init__(
        self, task: WorkerTask, statics: Mapping[str, StaticStore], report: Callable[[Progress], None] = lambda _: None
    ) -> None:
        super().__init__(task, statics, report)
        self.previous = {relation.name: WorkerRelation(relation, tracks=False) for relation in self.program.relations}
        self.rounds: list[dict[str, WorkerRelation]] = []
        """The facts of each round, if the task asks for provenance."""

    def run(self) -> Running:
        own_seeds = yield from self._owned(self.seed_contributions())
        rounds = self.program.recursion.iterations
        assert rounds is not None
        saved = self.task.saved_state
        if saved is not None:
            for name, relation in self.previous.items():
                restore_relation(saved, name, relation)
        for iteration in range(1 if saved is None else saved.iteration + 1, rounds + 1):
            self.begin_iteration(iteration)
            contributions = yield from self.rule_contributions()
            following = self._begun_with(own_seeds)
            leaving = self.leaving_home(following, contributions)
            if self.lands == self.members:
                deque(leaving, maxlen=0)
            else:
                arrived = yield from self._owned(leaving)
                for name, relation in following.items():
                    relation.add(arrived[name])
            differs = sum(self._differs(self.previous[name], following[name]) for name in following)
            if differs and iteration == rounds:  # nobody will know whether it would have come to rest
                differs = sum(_changed_rows(self.previous[name], following[name]) for name in following)
            self.previous = following
            if self.task.provenance:
                self.rounds.append(following)
            total = sum(relation.count for relation in following.values())
            received = yield self.empty_mail(differs, total, int(self.task.is_checkpoint_due(iteration)))
            changed, total, due = added(received)
            everyone = Progress(iteration, changed, total)
            self.report(everyone)
            self.check_limits(everyone)
            if everyone.changed == 0:
                return
            if due == self.task.workers:
                self._save(iteration)

    def _differs(self, before: WorkerRelation, after: WorkerRelation) -> bool:
        """Tells whether a round changed a relation. A sum that became too large is met here, so its rule is named."""
        try:
            return not _same(before, after)
        except Fault as fault:
            rule = next(chain.name for chain in self.program.rules if chain.relation == after.layout.name)
            raise Fault(fault.code, f"{fault.message} in rule {rule}", *fault.notes, rule=rule) from fault

    def _begun_with(self, seeds: Mapping[str, Lanes]) -> dict[str, WorkerRelation]:
        """Returns the relations of a round before the rules contribute to them."""
        begun = {name: _emptied(relation) for name, relation in self.previous.items()}
        for name, relation in begun.items():
            relation.add(seeds[name])
        return begun

    def _save(self, iteration: int) -> None:
        assert self.task.checkpoints is not None
        with self.task.checkpoints.saving(iteration, is_alone=False) as state:
            for name, relation in self.previous.items():
                save_relation(state, name, relation, is_new=True)

    def results(self, relation: str) -> Iterator[list[Lane]]:
        return self.previous[relation].batches()

    def result_count(self, relation: str) -> int:
        return self.previous[relation].count

    def history(self, relation: str) -> Iterator[HistoryBatch]:
        for iteration, facts in enumerate(self.rounds, start=1):
            for columns in facts[relation].batches():
                yield HistoryBatch.of_iteration(columns, iteration)

    def _owned(self, contributions: Iterable[tuple[str, Contribution]]) -> Generator[Mail, Mail, dict[str, Lanes]]:
        """Returns the contributions to the facts that this worker owns, from all workers, combined where they were
        made."""
        mail = self.empty_mail()
        self.post_combined(mail, contributions)
        received = yield mail
        return {
            name: gather(received, channel, self.program.relation(name).width)
            for name, channel in self.channels.items()
        }

    def started(self, atom: Atom) -> Iterator[list[Lane]]:
        if atom.relation not in self.previous:
            yield from super().started(atom)
            return
        relation = self.previous[atom.relation]
        yield from relation.in_batches(relation.store.all, BATCH)


def _emptied(relation: WorkerRelation) -> WorkerRelation:
    """Returns an empty relation for the next round, which most often has as many facts."""
    store = relation.store
    return WorkerRelation(
        relation.layout, tracks=False, store=store.emptied() if isinstance(store, KeyedStore) else None
    )


def _same(one: WorkerRelation, other: WorkerRelation) -> bool:
    """Tells whether two rounds have the same facts as rules see them, so an average of twice as many is the same."""
    left, store = one.store.all, other.store
    assert isinstance(store, SetStore | KeyedStore)
    if left.shape != store.all.shape:
        return False
    if _has_same_keys(one, other):
        return _look_the_same(one, left, store.all)  # as most often, they came in the same order
    # Most rounds differ, and show it early.
    return all(_has_all(other, np.ascontiguousarray(left[:, :end])) for end in (FEW_ROWS, left.shape[1]))


def _changed_rows(before: WorkerRelation, after: WorkerRelation) -> int:
    """Counts the facts of a round that the round before did not have, or those that are gone if there are none."""
    rows, store = after.store.all, before.store
    assert isinstance(store, SetStore | KeyedStore)
    if isinstance(store, KeyedStore):
        numbers = store.find(rows)
        is_known = numbers >= 0
        known_rows = zip(
            before.visible(store.rows[:, numbers[is_known]]), after.visible(rows[:, is_known]), strict=True
        )
        differs = np.logical_or.reduce([old != new for old, new in known_rows])
        return int((~is_known).sum() + differs.sum()) or before.count - after.count
    both = SetStore(store.width)
    both.add(store.all)
    known = both.count
    both.add(rows)
    return both.count - known or before.count - after.count


def _has_all(relation: WorkerRelation, rows: Lanes) -> bool:
    store = relation.store
    if isinstance(store, SetStore):
        return store.contains_all(rows)
    assert isinstance(store, KeyedStore)
    numbers = store.find(rows)
    return bool((numbers >= 0).all()) and _look_the_same(relation, store.rows[:, numbers], rows)


def _look_the_same(relation: WorkerRelation, left: Lanes, right: Lanes) -> bool:
    return all(map(np.array_equal, relation.visible(left), relation.visible(right)))


def _has_same_keys(one: WorkerRelation, other: WorkerRelation) -> bool:
    """Tells whether two rounds have the same keys in the same order."""
    keys = one.layout.keys
    return np.array_equal(one.store.all[:keys], other.store.all[:keys])
