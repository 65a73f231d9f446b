"""Holds the relations of a recursion that only grows or improves, on one worker: rules read them, contributions enter.

Workers in rounds, workers without rounds and those of streams all build on this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np

from emberlog.workers.fixpoint.round_checkpoints import RoundCheckpoints
from emberlog.workers.fixpoint.worker import Worker, WorkerTask
from emberlog.workers.kernels import tables
from emberlog.workers.kernels.lanes import Lane, Lanes, joined
from emberlog.workers.kernels.tuning import BATCH, BYTES_IN_TABLE, MOST_REMEMBERED, SENT_AT_ONCE
from emberlog.workers.plan.rules import Atom, Combine, Probe, RelationLayout, RuleChain
from emberlog.workers.store.history import HistoryBatch, KeepsHistory, RelationHistory
from emberlog.workers.store.indexes import Matches
from emberlog.workers.store.joined import Contribution, width_of, written_out
from emberlog.workers.store.relations import WorkerRelation, new_store
from emberlog.workers.store.stores import KeyedStore, SetStore, StaticStore, Store
from emberlog.workers.wire.messages import Progress

NO_LIMIT = 1 << 62


class GrowingWorker(Worker, KeepsHistory):
    remembers_extremes: ClassVar[bool] = True
    """Whether what left this worker holds to the end: facts that expire have to be sent again."""

    def __init__(
        self, task: WorkerTask, statics: Mapping[str, StaticStore], report: Callable[[Progress], None] = lambda _: None
    ) -> None:
        super().__init__(task, statics, report)
        self.relations = self.new_relations()
        self.copies: dict[tuple[str, int], WorkerRelation] = {}
        """By relation and column: what is kept by another column, too."""
        if task.workers > 1:
            for name, columns in task.placement.copies.items():
                for column in columns:
                    self.copies[name, column] = self.new_relation(_copied(self.program.relation(name)))
        self.histories = {
            name: RelationHistory(relation) for name, relation in self.relations.items() if task.provenance
        }
        self.outgoing: dict[str, Store] = {}
        """By relation, what a round has for other workers so far."""
        sends_all = task.placement.shares_memory and task.workers > 1 and self.recorder is None and task.memory is None
        self.sent_as_they_are = frozenset(
            relation.name for relation in self.program.relations if sends_all and not relation.combine
        )
        """Sets of which everything is sent that rules derive: to look for what is there twice takes as long here as
        where it is looked for in any case."""
        self.shipped: dict[str, Store] = {}
        """By relation of extremes, what left before, and what a round has so far."""
        sends = any(runner.next_send(0) is not None for runner in self.rules)
        combines = any(relation.combine for relation in self.program.relations)
        self.saving = RoundCheckpoints(
            task,
            self.named_relations,
            self.outgoing,
            is_alone=self.is_alone,
            # Facts only come, and until the round ends nobody sends any.
            can_cut_rounds=not (sends or self.copies or combines),
        )

    @property
    def is_alone(self) -> bool:
        """Tells whether a checkpoint of this worker holds whatever the others know."""
        return self.task.placement.is_decomposed or self.task.workers == 1

    def new_relations(self) -> dict[str, WorkerRelation]:
        return {layout.name: self.new_relation(layout) for layout in self.program.relations}

    def new_relation(self, layout: RelationLayout) -> WorkerRelation:
        """Returns an empty relation of the recursion."""
        return WorkerRelation(layout)

    def new_combiner(self, layout: RelationLayout, width: int) -> Store:
        """Returns an empty store in which contributions of this width are combined before they leave the worker."""
        if not layout.largest_per_key:
            return new_store(layout)
        keys = layout.keys + 1
        return SetStore(width) if width == keys else KeyedStore(keys, (tables.MAX,))

    def named_relations(self) -> Iterator[tuple[str, WorkerRelation]]:
        """Lists all relations and copies under the names that they have in a checkpoint."""
        yield from self.relations.items()
        for (name, column), copy in self.copies.items():
            yield f"{name} by {column}", copy

    def advance(self) -> int:
        """Ends a round; returns the number of facts that came or changed."""
        self.saving.begin_round()
        return sum(relation.advance() for relation in self.relations.values())

    def total(self) -> int:
        return sum(relation.count for relation in self.relations.values())

    # Contributions that leave

    def portions(
        self, contributions: Iterable[tuple[str, Contribution]], most: int
    ) -> Iterator[tuple[dict[str, Lanes], bool]]:
        """Combines contributions, so that at most one per fact, or per key, leaves the worker; yields about `most`
        bytes of them at a time, and whether they are the last. An extreme leaves only if it is better than all that
        left for its key before. Facts that only have to be handed to another thread are not combined."""
        whole: dict[str, list[Lanes]] = {}
        for name, contribution in contributions:
            if name in self.sent_as_they_are:
                whole.setdefault(name, []).extend(written_out(contribution))
                if sum(lanes.shape[1] for batches in whole.values() for lanes in batches) >= SENT_AT_ONCE:
                    yield self._portion_of(most) | _joined(whole), False
                    whole = {}
                continue
            store = self._leaving_by(name, contribution)
            self.keep(store, contribution)
            waiting = [*self.outgoing.values(), *self.shipped.values()]
            if sum(one.fresh * (8 * len(one.rows) + BYTES_IN_TABLE) for one in waiting) > most:
                yield self._portion_of(most), False
        yield self._portion_of(most) | _joined(whole), True

    def _leaving_by(self, name: str, contribution: Contribution) -> Store:
        """Returns the store that combines contributions to a relation until they leave."""
        layout = self.program.relation(name)
        stores = self.shipped if self.remembers_extremes and _is_extreme(layout) else self.outgoing
        if name not in stores:
            stores[name] = self.new_combiner(layout, width_of(contribution))
        return stores[name]

    def _portion_of(self, most: int) -> dict[str, Lanes]:
        portion = {name: store.all for name, store in self.outgoing.items()}
        self.outgoing.clear()
        for name, store in list(self.shipped.items()):
            store.advance()
            portion[name] = np.ascontiguousarray(store.delta)
            if store.count > MOST_REMEMBERED or store.count * (8 * len(store.rows) + BYTES_IN_TABLE) > most:
                del self.shipped[name]  # what leaves twice does no harm
        return portion

    def combined(self, contributions: Iterable[tuple[str, Contribution]]) -> Iterable[tuple[str, Lanes]]:
        """Combines contributions, and returns all of them at once."""
        everything, _ = next(self.portions(contributions, NO_LIMIT))
        self.shipped.clear()
        return everything.items()

    # Results

    def results(self, relation: str) -> Iterator[list[Lane]]:
        return self.relations[relation].batches()

    def result_count(self, relation: str) -> int:
        return self.relations[relation].count

    def known(self, relation: str) -> Iterator[Lanes]:
        return self.relations[relation].known()

    def history(self, relation: str) -> Iterator[HistoryBatch]:
        return self.histories[relation].batches()

    # Reading relations of the recursion

    def stands_still(self, chain: RuleChain) -> bool:
        """Tells whether the rule looks into sets alone: values of the others become better under its eyes."""
        looked_into = {step.atom.relation for step in chain.steps if isinstance(step, Probe)}
        return all(self.program.relation(name).combine == () for name in looked_into & self.members)

    def started(self, atom: Atom) -> Iterator[list[Lane]]:
        if atom.relation not in self.relations:
            yield from super().started(atom)
            return
        begin = self.saving.position.begin_rule()
        if begin is None:
            return
        for batch in self.saving.position.counted(self.relations[atom.relation].delta_batches(BATCH, begin)):
            self.saving.save_within_round()
            yield batch

    def matches(self, atom: Atom, keys: tuple[int, ...], values: Lanes) -> Iterator[Matches]:
        if atom.relation not in self.relations:
            return super().matches(atom, keys, values)
        return self.probed(atom, keys).matches(keys, values, atom.version)

    def column(self, atom: Atom, keys: tuple[int, ...], column: int, rows: Lane) -> Lane:
        if atom.relation not in self.relations:
            return super().column(atom, keys, column, rows)
        return self.probed(atom, keys).column(column, rows)

    def probed(self, atom: Atom, keys: tuple[int, ...]) -> WorkerRelation:
        """Returns the copy that has all rows of these keys on this worker; without keys, this worker's part of the
        relation."""
        if self.task.workers == 1 or not keys or self.task.placement.homes[atom.relation] in keys:
            return self.relations[atom.relation]
        return next(copy for (name, column), copy in self.copies.items() if name == atom.relation and column in keys)


def _joined(batches: Mapping[str, list[Lanes]]) -> dict[str, Lanes]:
    return {name: joined(lanes, len(lanes[0])) for name, lanes in batches.items()}


def _is_extreme(layout: RelationLayout) -> bool:
    """Tells whether a contribution that is not better than an earlier one to its key makes no difference."""
    return bool(layout.combine) and all(rule in (Combine.MIN, Combine.MAX) for rule in layout.combine)


def _copied(layout: RelationLayout) -> RelationLayout:
    """Returns the layout of a copy. It gets whole values, not growth: the newest sum is the largest."""
    rules = tuple(Combine.MAX if rule in (Combine.SUM_INT, Combine.SUM_FLOAT) else rule for rule in layout.combine)
    return replace(layout, combine=rules, largest_per_key=False)
