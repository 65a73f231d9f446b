"""A worker whose relations outlive its rounds: each slide is a delta that comes in, and rows that expire.

It owns a partition of every relation that is kept up to date, and like any worker of the cyclic executor it gives mail
and is sent mail, so that partitions may be in this process or anywhere.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from emberlog.streams.plan.expiring_program import BEATEN_UNTIL, LAST_SLIDE, NOT_YET
from emberlog.streams.plan.repairing import lost_name
from emberlog.streams.state.best_store import BestStore
from emberlog.streams.state.frontier_store import FrontierStore
from emberlog.streams.state.seen_matches import seen_matches
from emberlog.workers.fixpoint.rounds import RoundsWorker
from emberlog.workers.fixpoint.worker import WorkerTask
from emberlog.workers.kernels.lanes import Lane, Lanes
from emberlog.workers.kernels.tuning import BATCH
from emberlog.workers.plan.rules import Atom, Combine, Probe, RelationLayout, Start
from emberlog.workers.store.indexes import Matches
from emberlog.workers.store.joined import Contribution
from emberlog.workers.store.relations import WorkerRelation
from emberlog.workers.store.stores import StaticStore, Store
from emberlog.workers.wire.messages import Progress, Running

_DIRECTIONS = {
    Combine.MIN: 1,
    Combine.MAX: -1,
    Combine.ARG_MIN: 1,
    Combine.ARG_MAX: -1,
    Combine.CHOICE: 1,
}


class StreamWorker(RoundsWorker):
    def __init__(
        self,
        task: WorkerTask,
        statics: Mapping[str, StaticStore],
        tracked: frozenset[str] = frozenset(),
        repaired: frozenset[str] = frozenset(),
        report: Callable[[Progress], None] = lambda _: None,
    ) -> None:
        """`tracked` are the relations whose changes somebody wants to know, `repaired` those of which only what is seen
        now is kept."""
        self.tracked = tracked
        self.repaired = repaired
        self.copied = frozenset(task.placement.copies) if task.workers > 1 else frozenset()
        self.slide = 0
        self.is_fresh = True
        self.expired: dict[str, int] = {}
        """Of each relation, how many facts the last slide let go."""
        super().__init__(task, statics, report)
        self.atoms_before = dict(self._find_atoms_before())
        """Of each atom that expires in a rule, by its id, those that its chain has met before."""
        self.repairing_atoms = frozenset(self._find_repairing_atoms())
        """The atoms, by their ids, of rules that see only what is seen now."""
        self.joining_atoms = frozenset(self._find_joining_atoms())
        """Those of them that begin a join of facts that expire. A fact that only holds longer is not joined again: what
        was derived from it is lost no later than it would have been, and found again if it is still true."""

    def new_relation(self, relation: RelationLayout) -> WorkerRelation:
        return WorkerRelation(relation, store=self._new_store(relation, tracks_changes=relation.name in self.tracked))

    def new_combiner(self, relation: RelationLayout, width: int) -> Store:
        return self._new_store(relation)

    def _new_store(self, relation: RelationLayout, *, tracks_changes: bool = False) -> FrontierStore:
        ranks = relation.combine[: -len(_added(relation))]
        directions = tuple(_DIRECTIONS[rule] for rule in ranks)
        if relation.name not in self.repaired:
            return FrontierStore(relation.keys, directions, self.slide, tracks_changes=tracks_changes)
        tells_longer = relation.name in self.copied
        return BestStore(
            relation.keys, directions, self.slide, tracks_changes=tracks_changes, tells_longer=tells_longer
        )

    def _find_atoms_before(self) -> Iterator[tuple[int, tuple[Atom, ...]]]:
        for runner in self.rules:
            before: list[Atom] = []
            for step in runner.chain.steps:
                if isinstance(step, Start | Probe) and step.atom.relation in self.relations:
                    yield id(step.atom), tuple(before)
                    before.append(step.atom)

    def _find_repairing_atoms(self) -> Iterator[int]:
        for runner in self.rules:
            if runner.chain.relation in self.repaired:
                yield from (id(step.atom) for step in runner.chain.steps if isinstance(step, Start | Probe))

    def _find_joining_atoms(self) -> Iterator[int]:
        for runner in self.rules:
            steps = [step for step in runner.chain.steps if isinstance(step, Start | Probe)]
            if sum(step.atom.relation in self.relations for step in steps) > 1:
                yield from (id(step.atom) for step in steps if id(step.atom) in self.repairing_atoms)

    def store(self, relation: str) -> FrontierStore:
        return _frontier(self.relations[relation])

    def move(self, slide: int, arrived: Mapping[str, Lanes]) -> Running:
        """Goes on to a slide: what expires is let go, what arrived is entered, and the rules run on that alone."""
        self.slide = slide
        self.began = time.monotonic()
        for resident in (*self.relations.values(), *self.copies.values()):
            tidied = _frontier(resident).tidied()
            if tidied is not None:
                resident.store = tidied
                resident.indexes.clear()
        for copy in self.copies.values():
            _frontier(copy).expire(slide)
        self.expired = {name: _frontier(resident).expire(slide) for name, resident in self.relations.items()}
        yield from self.settle(self._contributions(arrived))

    def end(self) -> dict[str, tuple[Lanes, Lanes]]:
        """Ends a slide; gives the visible rows that came and went of each tracked relation."""
        for copy in self.copies.values():
            _frontier(copy).settle()
        changes = {name: _frontier(resident).settle() for name, resident in self.relations.items()}
        return {name: changes[name] for name in self.tracked}

    def _contributions(self, arrived: Mapping[str, Lanes]) -> Iterator[tuple[str, Contribution]]:
        if self.is_fresh:
            self.is_fresh = False
            yield from self.seed_contributions()
        yield from arrived.items()
        for name in self.repaired:
            store = self.store(name)
            assert isinstance(store, BestStore)
            if store.lost.shape[1]:
                yield lost_name(name), np.vstack([store.lost, np.full(store.lost.shape[1], self.slide)])
        # What the program itself says may have been beaten by something that was lost.
        if self.task.number == 0:
            for facts in self.program.facts:
                if facts.relation in self.repaired:
                    yield facts.relation, self._fact_lanes(facts.relation, facts.rows)

    @property
    def state_bytes(self) -> int:
        residents = (*self.relations.values(), *self.copies.values())
        indexes = (index for resident in residents for index in resident.indexes.values())
        return sum(_frontier(resident).bytes for resident in residents) + sum(index.bytes for index in indexes)

    def visible(self, relation: str, rows: Lanes) -> Lanes:
        """Rows of a store, in the lanes that are shown, as the columns of the relation."""
        resident = self.relations[relation].layout
        columns = resident.columns[: -len(_added(resident))]
        return rows[[column.lane for column in columns]] if columns else np.empty((0, rows.shape[1]), np.int64)

    def hides_ranks(self, relation: str) -> bool:
        """Whether rows can differ in what nobody sees: in what the choice of an argmin or argmax was made by."""
        return Combine.CHOICE in self.relations[relation].layout.combine

    def started(self, atom: Atom) -> Iterator[list[Lane]]:
        if id(atom) not in self.repairing_atoms or atom.relation not in self.relations:
            return super().started(atom)
        resident = self.relations[atom.relation]
        store = _frontier(resident)
        return resident.in_batches(store.seen_news if id(atom) in self.joining_atoms else store.seen_delta, BATCH)

    def partners(
        self, atom: Atom, keys: tuple[int, ...], values: Lanes, bound: Mapping[str, Lane]
    ) -> Iterator[Matches]:
        if atom.relation not in self.relations:
            return self.matches(atom, keys, values)
        if id(atom) in self.repairing_atoms:
            resident = self.probed(atom, keys)
            until, beaten = np.full(values.shape[1], self.slide), np.full(values.shape[1], NOT_YET)
            return seen_matches(_frontier(resident), resident.index(keys), values, until, beaten)
        before = self.atoms_before[id(atom)]
        until = np.minimum.reduce([bound[one.variables[-1]] for one in before])
        ranked = [one for one in before if BEATEN_UNTIL in _added(self.program.relation(one.relation))]
        beaten = np.maximum.reduce([np.full_like(until, NOT_YET), *(bound[one.variables[-2]] for one in ranked)])
        resident = self.probed(atom, keys)
        return seen_matches(_frontier(resident), resident.index(keys), values, until, beaten)


def _added(relation: RelationLayout) -> tuple[str, ...]:
    """The columns that the expiring program added to those of the relation."""
    return (LAST_SLIDE,) if len(relation.combine) == 1 else (BEATEN_UNTIL, LAST_SLIDE)


def _frontier(resident: WorkerRelation) -> FrontierStore:
    assert isinstance(resident.store, FrontierStore)
    return resident.store
