"""The worker of a stream query: relations outlive its rounds, and a slide is a delta that comes and rows that expire.

It owns a partition of every relation that is kept up to date, and exchanges messages with others as any worker of a
recursion does, so that partitions may be in this process or anywhere.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping, Sequence

import numpy as np

from emberlog.streams.plan.expiring_program import BEATEN_UNTIL, LAST_SLIDE, NOT_YET, lost_name
from emberlog.streams.state.frontier_store import BestStore, FrontierStore
from emberlog.workers.fixpoint.chains import ChainRunner
from emberlog.workers.fixpoint.rounds import RoundsWorker
from emberlog.workers.fixpoint.worker import WorkerTask
from emberlog.workers.kernels.frontiers import NO_LOW, expand_seen
from emberlog.workers.kernels.indexes import NEW_PROBE
from emberlog.workers.kernels.lanes import Lane, Lanes
from emberlog.workers.kernels.tuning import BATCH, FEWEST_PAIRS, MOST_PAIRS
from emberlog.workers.plan.rules import Atom, Combine, Probe, RelationLayout, RuleChain, Start
from emberlog.workers.store.indexes import Matches
from emberlog.workers.store.joined import Contribution
from emberlog.workers.store.relations import WorkerRelation
from emberlog.workers.store.stores import StaticStore, Store
from emberlog.workers.wire.messages import Mail, Running

_DIRECTIONS = {
    Combine.MIN: 1,
    Combine.MAX: -1,
    Combine.ARG_MIN: 1,
    Combine.ARG_MAX: -1,
    Combine.CHOICE: 1,
}


class StreamWorker(RoundsWorker):
    remembers_extremes = False

    def __init__(
        self,
        task: WorkerTask,
        statics: Mapping[str, StaticStore],
        tracked: frozenset[str] = frozenset(),
        repaired: frozenset[str] = frozenset(),
    ) -> None:
        """`tracked` are the relations whose changes are asked for, `repaired` those of which only what is seen now is
        kept."""
        self.tracked = tracked
        self.repaired = repaired
        self.copied = frozenset(task.placement.copies) if task.workers > 1 else frozenset()
        self.slide = 0
        self.is_fresh = True
        self.expired: dict[str, int] = {}
        """How many facts of each relation the last slide let go."""
        super().__init__(task, statics)
        derived = {runner.chain.relation for runner in self.rules}
        self.going_on = [runner for runner in self.rules if _beginning(runner.chain) in derived]
        """The rules that begin with what rules derive. All others begin with what only arrives: in the first round of a
        slide they have all of it."""
        self.copies_go_on = any(name in derived for name, _ in self.copies)
        self.atoms_before: dict[int, tuple[Atom, ...]] = {}
        """The atoms that the chain of a rule has met before each atom that expires, by the id of that."""
        self.repairing_atoms: set[int] = set()
        """The ids of the atoms of rules that see only what is seen now."""
        self.joining_atoms: set[int] = set()
        """Those of them that begin a join of facts that expire. A fact that only holds longer is not joined again: what
        was derived from it is lost no later than it would have been, and found again if it is still true."""
        self._enter_atoms()

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
        return BestStore(relation.keys, directions, self.slide, tells_longer, tracks_changes=tracks_changes)

    def _enter_atoms(self) -> None:
        for runner in self.rules:
            atoms = [step.atom for step in runner.chain.steps if isinstance(step, Start | Probe)]
            expiring = [atom for atom in atoms if atom.relation in self.relations]
            self.atoms_before.update((id(atom), tuple(expiring[:place])) for place, atom in enumerate(expiring))
            if runner.chain.relation in self.repaired:
                self.repairing_atoms.update(map(id, atoms))
                self.joining_atoms.update(map(id, atoms if len(expiring) > 1 else ()))

    def store(self, relation: str) -> FrontierStore:
        return _frontier(self.relations[relation])

    def move(self, slide: int, arrived: Mapping[str, Lanes]) -> Running:
        """Moves to a slide: what expires is let go, what arrived is entered, and the rules run on that alone."""
        self.slide = slide
        self.begun = 0
        self.began = time.monotonic()
        for relation in (*self.relations.values(), *self.copies.values()):
            compacted = _frontier(relation).compacted()
            if compacted is not None:
                relation.store = compacted
                relation.indexes.clear()
        for copy in self.copies.values():
            _frontier(copy).expire(slide)
        self.expired = {name: _frontier(relation).expire(slide) for name, relation in self.relations.items()}
        yield from self.settle(self._contributions(arrived))

    def end(self) -> dict[str, tuple[Lanes, Lanes]]:
        """Ends a slide, and returns the visible rows that came and went of each tracked relation."""
        for copy in self.copies.values():
            _frontier(copy).settle()
        changes = {name: _frontier(relation).settle() for name, relation in self.relations.items()}
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
        relations = (*self.relations.values(), *self.copies.values())
        indexes = (index for relation in relations for index in relation.indexes.values())
        return sum(_frontier(relation).bytes for relation in relations) + sum(index.bytes for index in indexes)

    def visible(self, relation: str, rows: Lanes) -> Lanes:
        """Returns rows of a store, in the lanes that are shown, as the columns of the relation."""
        layout = self.relations[relation].layout
        columns = layout.columns[: -len(_added(layout))]
        return rows[[column.lane for column in columns]] if columns else np.empty((0, rows.shape[1]), np.int64)

    def hides_ranks(self, relation: str) -> bool:
        """Tells whether rows can differ in what answers do not show: what an argmin or argmax made its choice by."""
        return Combine.CHOICE in self.relations[relation].layout.combine

    def rules_of_round(self) -> Sequence[ChainRunner]:
        return self.rules if self.begun == 1 else self.going_on

    def _update_copies(self) -> Generator[Mail, Mail, None]:
        if self.begun == 0 or self.copies_go_on:
            yield from super()._update_copies()
            return
        for copy in self.copies.values():
            copy.advance()

    def started(self, atom: Atom) -> Iterator[list[Lane]]:
        if id(atom) not in self.repairing_atoms or atom.relation not in self.relations:
            return super().started(atom)
        relation = self.relations[atom.relation]
        store = _frontier(relation)
        return relation.in_batches(store.seen_news if id(atom) in self.joining_atoms else store.seen_delta, BATCH)

    def partners(
        self, atom: Atom, keys: tuple[int, ...], values: Lanes, bound: Mapping[str, Lane]
    ) -> Iterator[Matches]:
        if atom.relation not in self.relations:
            return self.matches(atom, keys, values)
        if id(atom) in self.repairing_atoms:
            until, beaten = np.full(values.shape[1], self.slide), np.full(values.shape[1], NOT_YET)
        else:
            before = self.atoms_before[id(atom)]
            until = np.minimum.reduce([bound[one.variables[-1]] for one in before])
            ranked = [one for one in before if BEATEN_UNTIL in _added(self.program.relation(one.relation))]
            beaten = np.maximum.reduce([np.full_like(until, NOT_YET), *(bound[one.variables[-2]] for one in ranked)])
        return _seen_matches(self.probed(atom, keys), keys, values, until, beaten)


def _beginning(chain: RuleChain) -> str:
    """Names the relation whose delta a rule begins with."""
    (start,) = (step for step in chain.steps if isinstance(step, Start))
    return start.atom.relation


def _added(relation: RelationLayout) -> tuple[str, ...]:
    """Names the columns that the expiring program added to those of the relation."""
    return (LAST_SLIDE,) if len(relation.combine) == 1 else (BEATEN_UNTIL, LAST_SLIDE)


def _frontier(relation: WorkerRelation) -> FrontierStore:
    assert isinstance(relation.store, FrontierStore)
    return relation.store


def _seen_matches(
    relation: WorkerRelation, keys: tuple[int, ...], values: Lanes, until: Lane, beaten: Lane
) -> Iterator[Matches]:
    """Yields the rows that agree with the values of the keys. Each probe holds until a slide, and is beaten until one:
    only pairs that hold, and are the best of their keys, at the same slide are ever seen."""
    store, index = _frontier(relation), relation.index(keys)
    values = np.ascontiguousarray(values)
    low = index.low if index.is_direct else NO_LOW
    is_ranked = len(store.directions) > 0
    chains = (index.heads, low, index.following, store.rows, index.lanes, values, is_ranked, store.slide)
    probe, row = 0, NEW_PROBE
    capacity = max(FEWEST_PAIRS, min(4 * values.shape[1], MOST_PAIRS))
    while probe < values.shape[1]:
        pairs = (np.empty(capacity, np.int64), np.empty(capacity, np.int64))
        probe, row, found = expand_seen(*chains, until, beaten, probe, row, *pairs)
        capacity = MOST_PAIRS
        if found:
            yield Matches(pairs[0][:found], pairs[1][:found])
