"""Recursion that only grows or improves: rounds over deltas until nothing changes (sets, meets, monotone sums)."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

import numpy as np

from emberlog.workers.fixpoint.chains import BATCH
from emberlog.workers.fixpoint.round_position import RoundPosition
from emberlog.workers.fixpoint.slices import DEEPEST, Age, Slice, SliceCounts, Slices, aged
from emberlog.workers.fixpoint.worker import Worker, WorkerTask, gather
from emberlog.workers.kernels import tables
from emberlog.workers.kernels.lanes import Lane, Lanes
from emberlog.workers.kernels.memory import TooLarge, give_back
from emberlog.workers.plan.mode import Mode
from emberlog.workers.plan.rules import Atom, Combine, Probe, RelationLayout
from emberlog.workers.recover.checkpoints import SavedState, StateToSave
from emberlog.workers.recover.store_states import restore_resident, restore_rest, save_resident
from emberlog.workers.store.history import HistoryBatch, KeepsHistory, RelationHistory
from emberlog.workers.store.indexes import Matches
from emberlog.workers.store.joined import Contribution, width_of
from emberlog.workers.store.relations import WorkerRelation, new_store
from emberlog.workers.store.stores import KeyedStore, SetStore, StaticStore, Store
from emberlog.workers.wire.messages import Mail, Progress, Running

NO_LIMIT = 1 << 62
PORTIONS = 16
"""What leaves a worker at a time takes at most this part of its memory; what comes from the others as much."""
BYTES_IN_TABLE = 32
"""Of a row, beside its lanes."""

_TOLD = "rounds"


class RoundsWorker(Worker, KeepsHistory):
    def __init__(
        self, task: WorkerTask, statics: Mapping[str, StaticStore], report: Callable[[Progress], None] = lambda _: None
    ) -> None:
        super().__init__(task, statics, report)
        self.residents = self._new_residents()
        self._has_begun = False
        """Whether the residents know all that the recursion begins with."""
        self._begun = 0
        """The iteration whose delta the rules read, or have read last."""
        self.slices: Slices | None = None
        """If memory was too short for all keys at once."""
        self.told: list[tuple[int, int]] = []
        """Of each round, how many facts changed and how many there were."""
        self.histories = {
            name: RelationHistory(resident) for name, resident in self.residents.items() if task.provenance
        }
        self._portion = NO_LIMIT if task.memory is None else task.memory // PORTIONS
        self.copies: dict[tuple[str, int], WorkerRelation] = {}
        if task.workers > 1:
            for name, columns in task.placement.copies.items():
                for column in columns:
                    self.copies[name, column] = self.new_resident(_copied(self.program.relation(name)))
        self._iteration = 0
        """The last one that is over."""
        self._place = RoundPosition()
        """In the round after it."""
        self._swaps = 0
        """How often workers sent each other a portion of it."""
        self._round_began = 0.0
        self._outgoing: dict[str, Store] = {}
        """By relation, what that round has for other workers so far."""
        sends = any(runner.next_send(0) is not None for runner in self.rules)
        combines = any(relation.combine for relation in self.program.relations)
        self._rounds_can_be_cut = not (sends or self.copies or combines)
        """Whether a round can be gone on with in its middle: facts only come, and until it ends nobody sends any."""
        self.drained: dict[str, int] = {}
        """Of a recursion that is over: how many rows of its relations an earlier attempt has written; or this one, at
        the last checkpoint."""
        self.drained_to: list[str] = []
        """The files of an earlier attempt."""

    def run(self) -> Running:
        try:
            yield from self.settle(self.seed_contributions())
            return
        except (TooLarge, MemoryError):
            if not self._goes_by_slices:
                raise
        # Only out here is the exception gone, and with it all that its frames refer to.
        yield from self._go_on_in_slices()

    def settle(self, contributions: Iterable[tuple[str, Contribution]]) -> Running:
        """Enters contributions, and runs the rules until nothing changes."""
        alone = self._is_alone
        saved = self.task.saved_state
        if saved is None:
            yield from self._deliver(contributions, self._advance(), 0)
            changed, iteration = self._advance(), 0
        else:
            changed, iteration = self._take_up(saved), saved.iteration
            if self.task.placement.is_decomposed and self.task.workers > 1:
                # A worker without a checkpoint begins anew, and needs the seeds of all. Here they are known already.
                yield from self._deliver(contributions, changed, iteration)
        self._has_begun = True
        self._note(iteration)
        while True:
            self._iteration = iteration
            if not alone:
                yield from self._update_copies()
            self.begin_iteration(iteration + 1)
            derived = yield from self.rule_contributions()
            if alone:
                everyone, total = changed, self._total_before()
                if self._mixes_rounds():
                    derived = iter(list(self._combined(derived)))
                for name, lanes in derived:
                    self.keep(self.residents[name], lanes)
                is_due = self._is_checkpoint_due(iteration + 1)
            else:
                everyone, total, is_due = yield from self._deliver(derived, changed, iteration + 1)
            if everyone == 0:
                self._swaps = 0  # nobody had anything to send
                return
            iteration += 1
            progress = Progress(iteration, everyone, total)
            self.told.append((everyone, total))
            self.report(progress)
            self.check_limits(progress)
            changed = self._advance()
            self._note(iteration)
            if is_due:
                self._save(iteration)

    # When memory is short

    @property
    def _may_spill(self) -> bool:
        """Sums are known by more than their facts; provenance records what happens, and that would happen more than
        once."""
        return not self.task.provenance and not any(relation.largest_per_key for relation in self.program.relations)

    @property
    def _goes_by_slices(self) -> bool:
        """Whether the keys can be gone through one after the other."""
        return self._may_spill and self._has_begun and self.task.placement.is_decomposed

    @property
    def _goes_by_sections(self) -> bool:
        """Whether the facts can be looked at section by section: no rule looks any up."""
        steps = (step for chain in self.program.rules for step in chain.steps)
        looks_up = any(isinstance(step, Probe) and step.atom.relation in self.members for step in steps)
        return self._may_spill and not looks_up and self.task.placement.mode is Mode.BSP

    @property
    def spilled(self) -> str:
        if self.slices is not None:
            return "keys were gone through slice by slice"
        if any(resident.is_spilled for resident in self.residents.values()):
            return "facts were kept in sections on disk"
        return ""

    def _go_on_in_slices(self) -> Running:
        slices = self.slices = Slices(self.program.relations, self.task.placement.homes)
        counts = SliceCounts()
        total = self.told[-1][1] if self.told else 0
        counts.withdraw(len(self.told), total)
        self._divide(slices, 0, len(self.told))
        self._forget()
        while slices.waiting:
            yield from self._close_slice(slices, counts)
            self._forget()
        for progress in counts.told(total):
            self.told.append((progress.changed, progress.total))
            self.report(progress)

    def _close_slice(self, slices: Slices, counts: SliceCounts) -> Running:
        """Brings the next slice to its end, or divides it."""
        one = slices.waiting[-1]
        iteration, total, is_entered = one.iteration, 0, False
        try:
            changed = self._enter(one)
            is_entered = True
            if not changed:
                counts.add(iteration + 1, 0, self._total())
            while changed:
                now = self._total()
                self.begin_iteration(iteration + 1)
                derived = yield from self.rule_contributions()
                for name, contribution in derived:
                    self.keep(self.residents[name], contribution)
                iteration += 1
                counts.add(iteration, changed, now - total)
                total = now
                self.check_limits(Progress(iteration, changed, slices.total + total))
                changed = self._advance()
            slices.finish(self.residents)
            return
        except (TooLarge, MemoryError):
            if one.depth == DEEPEST:
                raise
        slices.waiting.pop()
        counts.withdraw(iteration, total)
        if is_entered:
            self._divide(slices, one.depth + 1, iteration)
        else:
            slices.divide({name: one.rows(name) for name in self.residents}, one.depth + 1, iteration)

    def _enter(self, one: Slice) -> int:
        """Brings the round back that the slice goes on with; gives the number of rows of the delta."""
        changed = 0
        for age in Age:
            for name, resident in self.residents.items():
                for lanes in one.known[name][age].batches():
                    resident.add(lanes)
            if age is not Age.IMPROVED:
                changed = self._advance()
        return changed

    def _divide(self, slices: Slices, depth: int, iteration: int) -> None:
        """Lets what is known after an iteration wait in slices."""
        for resident in self.residents.values():
            if resident.began_with is not None and self._begun == iteration:
                resident.end_round()  # the iteration is told, but the next one was not come to
        slices.divide({name: aged(resident) for name, resident in self.residents.items()}, depth, iteration)

    def begin_iteration(self, iteration: int) -> None:
        super().begin_iteration(iteration)
        self._begun = iteration
        if self._goes_by_slices:
            for resident in self.residents.values():
                resident.begin_round()

    def _forget(self) -> None:
        """What the residents have is on disk."""
        self.residents = self._new_residents()
        give_back()

    def _new_residents(self) -> dict[str, WorkerRelation]:
        return {relation.name: self.new_resident(relation) for relation in self.program.relations}

    def _mixes_rounds(self) -> bool:
        """Whether rules could see values that are improved in the same round. That is as good for the result, but a
        history says which values a round began with."""
        is_improved_in_place = any(relation.combine for relation in self.program.relations)
        reads_once = len(self.rules) == 1 and not any(
            isinstance(step, Probe) and step.atom.relation in self.residents for step in self.rules[0].chain.steps
        )
        return bool(self.histories) and is_improved_in_place and not reads_once

    def _note(self, iteration: int) -> None:
        for history in self.histories.values():
            history.note(iteration)

    def history(self, relation: str) -> Iterator[HistoryBatch]:
        return self.histories[relation].batches()

    def results(self, relation: str) -> Iterator[list[Lane]]:
        resident = self.residents[relation]
        if self.slices is None:
            return resident.batches()
        return (resident.visible(lanes) for lanes in self.slices.finished[relation].batches())

    def result_count(self, relation: str) -> int:
        return self.residents[relation].count if self.slices is None else self.slices.finished[relation].count

    def known(self, relation: str) -> Iterator[Lanes]:
        yield from self.residents[relation].known()
        if self.slices is not None:
            yield from self.slices.known(relation)

    def new_resident(self, relation: RelationLayout) -> WorkerRelation:
        return WorkerRelation(relation, spills=self._goes_by_sections)

    def new_combiner(self, relation: RelationLayout, width: int) -> Store:
        """Where contributions of this width are combined before they leave the worker."""
        if not relation.largest_per_key:
            return new_store(relation)
        keys = relation.keys + 1
        return SetStore(width) if width == keys else KeyedStore(keys, (tables.MAX,))

    def _advance(self) -> int:
        """Ends a round; gives the number of facts that came or changed."""
        self._place, self._swaps, self._round_began = RoundPosition(), 0, time.monotonic()
        return sum(resident.advance() for resident in self.residents.values())

    def _is_checkpoint_due(self, iteration: int) -> bool:
        """There are none of what is on disk only for this attempt."""
        if self.task.checkpoints is None:
            return False  # this is asked in every round, and a round can be short
        is_spilled = any(resident.is_spilled for resident in self.residents.values())
        return not is_spilled and self.task.is_checkpoint_due(iteration, self._rows_to_save)

    @property
    def _rows_to_save(self) -> int | None:
        """If rows only come."""
        stores = [*(resident.store for _, resident in self._all_residents()), *self._outgoing.values()]
        return sum(store.count for store in stores) if all(isinstance(store, SetStore) for store in stores) else None

    def _total(self) -> int:
        return sum(resident.count for resident in self.residents.values())

    def _total_before(self) -> int:
        """How many facts there were when the round began, which may have been in an earlier attempt."""
        sets = [resident.store for resident in self.residents.values() if isinstance(resident.store, SetStore)]
        return self._total() - sum(store.fresh for store in sets)

    # Checkpoints

    @property
    def _is_alone(self) -> bool:
        return self.task.placement.is_decomposed or self.task.workers == 1

    def _save_within(self) -> None:
        """If it is time, and the round is one that can be gone on with here. Workers in step each have a place of
        their own in it, but only in a long one: in short ones they would never save the same."""
        checkpoints = self.task.checkpoints
        if checkpoints is None or not self._rounds_can_be_cut or self.slices is not None:
            return
        # Of a round that was sent in part, only what all have after the same portion is saved.
        if self._swaps or not self._is_checkpoint_due(self._iteration):
            return
        if self._is_alone or checkpoints.is_long(time.monotonic() - self._round_began):
            self._save(self._iteration, is_agreed=self._is_alone)

    def _save(self, iteration: int, *, is_agreed: bool = True) -> None:
        with self._saving(iteration, is_agreed=is_agreed) as state:
            self._save_state(state, iteration)

    def _saving(self, iteration: int, *, is_agreed: bool) -> AbstractContextManager[StateToSave]:
        assert self.task.checkpoints is not None
        return self.task.checkpoints.saving(
            iteration, self._swaps, is_alone=self._is_alone, is_agreed=is_agreed, rows=self._rows_to_save
        )

    def _save_state(self, state: StateToSave, iteration: int) -> None:
        state.grown(_TOLD, np.array(self.told, np.int64).reshape(-1, 2).T)
        self._place.save(state)
        for name, resident in self._all_residents():
            save_resident(state, name, resident)
        for name, store in self._outgoing.items():
            state.grown(_leaving(name, iteration), store.all)

    def is_drain_due(self) -> bool:
        """Whether it is time for a checkpoint while results are written."""
        return self.slices is None and self._is_checkpoint_due(self._iteration)

    def save_drained(self, rows: Mapping[str, int], files: Sequence[str]) -> None:
        """The first so many rows of relations are in these files. What a relation has no longer changes."""
        with self._saving(self._iteration, is_agreed=self._is_alone) as state:
            if self.drained:
                state.unchanged()
            else:
                self._save_state(state, self._iteration)
            for name, count in rows.items():
                state.number(_drained(name), count)
            state.results(files)
        self.drained = dict(rows)

    def _take_up(self, saved: SavedState) -> int:
        """Goes on from a checkpoint; gives the number of rows of the delta."""
        self.told = [(changed, total) for changed, total in saved.lanes(_TOLD).T.tolist()]
        if self.task.placement.is_decomposed:
            # The driver puts the rounds of such workers together, and did not hear of these in this attempt.
            for iteration, (changed, total) in enumerate(self.told, 1):
                self.report(Progress(iteration, changed, total))
        drained = {name: saved.number_or_zero(_drained(name)) for name in self.residents}
        if any(drained.values()):
            self.drained, self.drained_to = drained, saved.results
            for name, resident in self.residents.items():
                restore_rest(saved, name, resident, drained[name])
            return 0
        for name, resident in self._all_residents():
            restore_resident(saved, name, resident)
        self._place, self._swaps, self._round_began = RoundPosition.saved(saved), saved.swaps, time.monotonic()
        for name in self.residents:
            if saved.has(_leaving(name, saved.iteration)):
                lanes = saved.lanes(_leaving(name, saved.iteration))
                self._outgoing[name] = store = SetStore(len(lanes))
                store.take_over(lanes, lanes.shape[1])
        return sum(resident.store.delta.shape[1] for resident in self.residents.values())

    def _all_residents(self) -> Iterator[tuple[str, WorkerRelation]]:
        yield from self.residents.items()
        for (name, column), copy in self.copies.items():
            yield f"{name} by {column}", copy

    def _deliver(
        self, contributions: Iterable[tuple[str, Contribution]], changed: int, iteration: int
    ) -> Generator[Mail, Mail, tuple[int, int, bool]]:
        """Sends contributions to their owners, combined at the source; gives the sums of the delta and of all facts,
        and whether everyone wants a checkpoint of the round."""
        if self.task.workers == 1:
            total = self._total()
            for name, lanes in contributions:
                self.keep(self.residents[name], lanes)
            return changed, total, self._is_checkpoint_due(iteration)
        portions, is_last, is_over = self._portions(contributions, self._portion), False, False
        sums: tuple[int, int] | None = None
        due: tuple[int, ...] = ()
        while not is_over:
            # Who is through waits for those who are not.
            portion, is_last = ({}, True) if is_last else next(portions)
            is_due = self._is_checkpoint_due(iteration)
            mail = self.empty_mail(changed, self._total_before(), int(is_due), int(not is_last))
            for name, lanes in portion.items():
                self.post(mail, self.channels[name], lanes, self.route(name, lanes))
            received = yield mail
            changes, totals, due, more = zip(*(message.numbers for message in received), strict=True)
            sums = sums or (sum(changes), sum(totals))
            is_over = not any(more)
            self._receive(received)
            if self._has_begun:
                self._swaps += 1
                if all(due) and not is_over and self._rounds_can_be_cut:
                    self._save(self._iteration)
        assert sums is not None
        return *sums, all(due)

    def _receive(self, received: Mail) -> None:
        if self.drained:
            return  # the recursion is over, and knows only what is not written yet
        for name, channel in self.channels.items():
            self.residents[name].add(gather(received, channel, self.program.relation(name).contribution_width))

    def _combined(self, contributions: Iterable[tuple[str, Contribution]]) -> Iterable[tuple[str, Lanes]]:
        """At most one contribution per fact, or per key, and round leaves the worker."""
        everything, _ = next(self._portions(contributions, NO_LIMIT))
        return everything.items()

    def _portions(
        self, contributions: Iterable[tuple[str, Contribution]], most: int
    ) -> Iterator[tuple[dict[str, Lanes], bool]]:
        """Combined contributions of so many bytes at a time, and whether they are the last."""
        stores = self._outgoing
        for name, contribution in contributions:
            if name not in stores:
                stores[name] = self.new_combiner(self.program.relation(name), width_of(contribution))
            self.keep(stores[name], contribution)
            if sum(one.count * (8 * len(one.rows) + BYTES_IN_TABLE) for one in stores.values()) > most:
                portion = {name: store.all for name, store in stores.items()}
                stores.clear()
                yield portion, False
        portion = {name: store.all for name, store in stores.items()}
        stores.clear()
        yield portion, True

    def _update_copies(self) -> Generator[Mail, Mail, None]:
        """Sends the delta of relations that are kept by another column, too, to the workers that keep it."""
        if not self.copies:
            return
        mail = self.empty_mail()
        for channel, (name, column) in enumerate(self.copies):
            resident = self.residents[name]
            lanes = np.ascontiguousarray(resident.store.delta)
            self.post(mail, channel, lanes, lanes[resident.relation.columns[column].lane])
        received = yield mail
        for channel, copy in enumerate(self.copies.values()):
            copy.store.add(gather(received, channel, copy.relation.width))
            copy.advance()

    # Reading relations of the recursion

    def started(self, atom: Atom) -> Iterator[list[Lane]]:
        if atom.relation not in self.residents:
            yield from super().started(atom)
            return
        begin = self._place.begin_rule()
        if begin is None:
            return
        for batch in self._place.counted(self.residents[atom.relation].delta_batches(BATCH, begin)):
            self._save_within()
            yield batch

    def matches(self, atom: Atom, keys: tuple[int, ...], values: Lanes) -> Iterator[Matches]:
        if atom.relation not in self.residents:
            return super().matches(atom, keys, values)
        return self._probed(atom, keys).matches(keys, values, atom.version)

    def column(self, atom: Atom, keys: tuple[int, ...], column: int, rows: Lane) -> Lane:
        if atom.relation not in self.residents:
            return super().column(atom, keys, column, rows)
        return self._probed(atom, keys).column(column, rows)

    def _probed(self, atom: Atom, keys: tuple[int, ...]) -> WorkerRelation:
        """The copy that has all rows of these keys on this worker; without keys, this worker's part of the relation."""
        if self.task.workers == 1 or not keys or self.task.placement.homes[atom.relation] in keys:
            return self.residents[atom.relation]
        return next(copy for (name, column), copy in self.copies.items() if name == atom.relation and column in keys)


def _drained(relation: str) -> str:
    """The name of the number of rows that are written."""
    return f"{relation} drained"


def _leaving(relation: str, iteration: int) -> str:
    """The name of what waits for the end of a round."""
    return f"{relation} leaving {iteration}"


def _copied(relation: RelationLayout) -> RelationLayout:
    """A copy gets whole values, not growth: the newest sum is the largest."""
    rules = tuple(Combine.MAX if rule in (Combine.SUM_INT, Combine.SUM_FLOAT) else rule for rule in relation.combine)
    return replace(relation, combine=rules, largest_per_key=False)
