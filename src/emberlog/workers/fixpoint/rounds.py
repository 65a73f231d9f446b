"""Runs a recursion that only grows or improves, in rounds over deltas until nothing changes: sets, meets, sums."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping

import numpy as np

from emberlog.workers.fixpoint.growing import NO_LIMIT, GrowingWorker
from emberlog.workers.fixpoint.slices import Slices
from emberlog.workers.fixpoint.worker import WorkerTask, gather
from emberlog.workers.kernels.lanes import Lane, Lanes
from emberlog.workers.kernels.memory import TooLarge, give_back
from emberlog.workers.kernels.tuning import PORTIONS
from emberlog.workers.plan.mode import Mode
from emberlog.workers.plan.rules import Probe, RelationLayout
from emberlog.workers.store.joined import Contribution
from emberlog.workers.store.relations import WorkerRelation
from emberlog.workers.store.stores import SetStore, StaticStore
from emberlog.workers.wire.messages import Mail, Progress, Running, added


class RoundsWorker(GrowingWorker):
    def __init__(
        self, task: WorkerTask, statics: Mapping[str, StaticStore], report: Callable[[Progress], None] = lambda _: None
    ) -> None:
        super().__init__(task, statics, report)
        self._has_begun = False
        """Whether the relations know all that the recursion begins with."""
        self.begun = 0
        """The iteration whose delta the rules read, or have read last."""
        self.slices: Slices | None = None
        """If memory was too short for all keys at once."""
        self._portion = NO_LIMIT if task.memory is None else task.memory // PORTIONS

    def run(self) -> Running:
        try:
            yield from self.settle(self.seed_contributions())
            return
        except (TooLarge, MemoryError):
            if not self.goes_by_slices:
                raise
        # Only out here is the exception gone, and with it all that its frames refer to.
        self.saving.is_off = True
        self.slices = Slices(self.program.relations, self.task.placement.homes)
        told = self.saving.told
        for progress in (yield from self.slices.run(self, len(told), told[-1][1] if told else 0)):
            self._tell(progress)

    def settle(self, contributions: Iterable[tuple[str, Contribution]]) -> Running:
        """Enters contributions, and runs the rules until nothing changes."""
        moved, saved = self.task.moved_states, self.task.saved_state
        has_news = True
        if moved:
            changed = self._resumed(self.saving.restore_moved(moved, self.relations))
            iteration = min(state.iteration for state in moved)
        elif saved is None:
            _, _, _, has_news = yield from self._deliver(contributions, self.advance(), 0)
            changed, iteration = self.advance(), 0
        else:
            changed, iteration = self._resumed(self.saving.restore(saved, self.relations)), saved.iteration
            if self.task.placement.is_decomposed and self.task.workers > 1:
                # A worker without a checkpoint begins anew, and needs the seeds of all. Here they are known already.
                yield from self._deliver(contributions, changed, iteration)
        self._has_begun = True
        self._note(iteration)
        while has_news:
            self.saving.iteration = iteration
            if not self.is_alone:
                yield from self._update_copies()
            self.begin_iteration(iteration + 1)
            derived = yield from self.rule_contributions()
            if self.is_alone:
                everyone, total = changed, self._total_before()
                if self._mixes_rounds():
                    derived = iter(list(self.combined(derived)))
                self._enter(derived)
                is_due = self.saving.is_due(iteration + 1)
            else:
                if not self.histories:  # which say which values a round began with
                    derived = self.leaving_home(self.relations, derived)
                everyone, total, is_due, has_news = yield from self._deliver(derived, changed, iteration + 1)
            if everyone == 0:
                break
            iteration += 1
            progress = Progress(iteration, everyone, total)
            self._tell(progress)
            self.check_limits(progress)
            changed = self.advance()
            self._note(iteration)
            if is_due:
                self.saving.save(iteration)
        self.saving.swaps = 0  # nobody had anything to send

    def run_round(self, iteration: int) -> Running:
        """Runs the rules over the delta, and enters what they derive here."""
        self.begin_iteration(iteration)
        self._enter((yield from self.rule_contributions()))

    def begin_iteration(self, iteration: int) -> None:
        super().begin_iteration(iteration)
        self.begun = iteration
        if self.goes_by_slices:
            for relation in self.relations.values():
                relation.begin_round()

    def _enter(self, contributions: Iterable[tuple[str, Contribution]]) -> None:
        for name, contribution in contributions:
            self.keep(self.relations[name], contribution)

    def _resumed(self, changed: int) -> int:
        """Tells what a checkpoint says of earlier rounds; returns the number of rows of the delta, as it was given."""
        if self.task.placement.is_decomposed:
            # The driver puts the rounds of such workers together, and did not hear of these in this attempt.
            for iteration, (new, total) in enumerate(self.saving.told, 1):
                self.report(Progress(iteration, new, total))
        return changed

    def _tell(self, progress: Progress) -> None:
        self.saving.told.append((progress.changed, progress.total))
        self.report(progress)

    def _note(self, iteration: int) -> None:
        for history in self.histories.values():
            history.note(iteration)

    def _mixes_rounds(self) -> bool:
        """Tells whether rules could see values that are improved in the same round. That is as good for the result, but
        a history says which values a round began with."""
        is_improved_in_place = any(relation.combine for relation in self.program.relations)
        reads_once = len(self.rules) == 1 and not any(
            isinstance(step, Probe) and step.atom.relation in self.relations for step in self.rules[0].chain.steps
        )
        return bool(self.histories) and is_improved_in_place and not reads_once

    def _total_before(self) -> int:
        """Returns how many facts there were when the round began, which may have been in an earlier attempt."""
        sets = [relation.store for relation in self.relations.values() if isinstance(relation.store, SetStore)]
        return self.total() - sum(store.fresh for store in sets)

    # When memory is short

    @property
    def _may_spill(self) -> bool:
        """Tells whether facts are all that has to be known. Sums are known by more than their facts; provenance records
        what happens, and that would happen more than once."""
        return not self.task.provenance and not any(relation.largest_per_key for relation in self.program.relations)

    @property
    def goes_by_slices(self) -> bool:
        """Tells whether the keys can be gone through one after the other."""
        return self._may_spill and self._has_begun and self.task.placement.is_decomposed

    def new_relation(self, layout: RelationLayout) -> WorkerRelation:
        """Returns an empty relation. Its facts can be looked at section by section if no rule looks any up."""
        steps = (step for chain in self.program.rules for step in chain.steps)
        looks_up = any(isinstance(step, Probe) and step.atom.relation in self.members for step in steps)
        spills = self._may_spill and not looks_up and self.task.placement.mode is Mode.BSP
        return WorkerRelation(layout, spills=spills)

    def forget(self) -> None:
        """Empties the relations, because what they have is on disk."""
        self.relations = self.new_relations()
        give_back()

    @property
    def spilled(self) -> str:
        if self.slices is not None:
            return "keys were gone through slice by slice"
        if any(relation.is_spilled for relation in self.relations.values()):
            return "facts were kept in sections on disk"
        return ""

    def results(self, relation: str) -> Iterator[list[Lane]]:
        if self.slices is None:
            return super().results(relation)
        visible = self.relations[relation].visible
        return (visible(lanes) for lanes in self.slices.finished[relation].batches())

    def result_count(self, relation: str) -> int:
        return super().result_count(relation) if self.slices is None else self.slices.finished[relation].count

    def known(self, relation: str) -> Iterator[Lanes]:
        yield from super().known(relation)
        if self.slices is not None:
            yield from self.slices.known(relation)

    # Between workers

    def _deliver(
        self, contributions: Iterable[tuple[str, Contribution]], changed: int, iteration: int
    ) -> Generator[Mail, Mail, tuple[int, int, bool, bool]]:
        """Sends contributions to their owners, combined at the source; returns the sums of the delta and of all facts,
        whether everyone wants a checkpoint of the round, and whether the next delta may have anything: if nobody sent a
        row or entered one at home that was new, it has not."""
        if self.task.workers == 1:
            total = self.total()
            self._enter(contributions)
            return changed, total, self.saving.is_due(iteration), True
        portions, is_last, is_over = self.portions(contributions, self._portion), False, False
        total = self._total_before()
        sums: tuple[int, int] | None = None
        due = news = 0
        while not is_over:
            # Who is through waits for those who are not.
            portion, is_last = ({}, True) if is_last else next(portions)
            is_due = self.saving.is_due(iteration)
            rows = sum(lanes.shape[1] for lanes in portion.values())
            rows += sum(relation.fresh for relation in self.relations.values())
            mail = self.empty_mail(changed, total, int(is_due), int(not is_last), rows)
            for name, lanes in portion.items():
                self.post(mail, self.channels[name], lanes, self.route(name, lanes))
            received = yield mail
            everyone, total_of_all, due, more, news_of_all = added(received)
            news += news_of_all
            sums = sums or (everyone, total_of_all)
            is_over = more == 0
            self._receive(received)
            if self._has_begun:
                self.saving.swaps += 1
                if due == self.task.workers and not is_over and self.saving.can_cut_rounds:
                    self.saving.save(self.saving.iteration)
        assert sums is not None
        return *sums, due == self.task.workers, news > 0

    def _receive(self, received: Mail) -> None:
        if self.saving.drained:
            return  # the recursion is over, and knows only what is not written yet
        for name, channel in self.channels.items():
            self.relations[name].add(gather(received, channel, self.program.relation(name).contribution_width))

    def _update_copies(self) -> Generator[Mail, Mail, None]:
        """Sends the delta of relations that are kept by another column, too, to the workers that keep it."""
        if not self.copies:
            return
        mail = self.empty_mail()
        for channel, (name, column) in enumerate(self.copies):
            relation = self.relations[name]
            lanes = np.ascontiguousarray(relation.store.delta)
            self.post(mail, channel, lanes, lanes[relation.layout.columns[column].lane])
        received = yield mail
        for channel, copy in enumerate(self.copies.values()):
            rows = gather(received, channel, copy.layout.width)
            if isinstance(copy.store, SetStore) and self.task.checkpoints is None:
                copy.store.append(rows)  # what was new to its owner is new here; unless a round is done again
            else:
                copy.store.add(rows)
            copy.advance()
