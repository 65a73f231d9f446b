"""Runs the steps of a rule over batches of valuations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import assert_never

import numpy as np

from emberlog.language.faults import Fault
from emberlog.language.registry import BUILT_IN, Functions
from emberlog.language.vectors import either, either_of
from emberlog.logical.nodes import Condition
from emberlog.semantics.totality import can_fail, condition_can_fail
from emberlog.workers.fixpoint.evaluate import Evaluator, refuse_null
from emberlog.workers.fixpoint.profile import Recorder
from emberlog.workers.kernels.lanes import Lane, Lanes, Mask
from emberlog.workers.kernels.memory import check
from emberlog.workers.kernels.tuning import WORTH_A_LOOK
from emberlog.workers.plan.closing_joins import keys_of, with_intersections
from emberlog.workers.plan.rules import (
    Assign,
    Atom,
    Bound,
    Intersect,
    Keep,
    Probe,
    Refute,
    RuleChain,
    Send,
    Start,
    Step,
    binds,
    needed_after,
    reads,
    step_text,
)
from emberlog.workers.store.indexes import Intersection, Matches, PackedIndex
from emberlog.workers.store.joined import Joined, LastJoin, last_join
from emberlog.workers.store.texts import Texts

SMALLEST, LARGEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Batch:
    """Holds valuations: a lane per variable that is still needed."""

    lanes: Mapping[str, Lane]
    rows: int
    is_joined: bool = False
    """Whether it is behind the last join of its rule, although it was asked for before that."""

    def kept(self, chosen: Mask | Lane) -> Batch:
        """Returns some of the rows: a mask, or row numbers."""
        lanes = {name: lane[chosen] for name, lane in self.lanes.items()}
        rows = int(chosen.sum()) if chosen.dtype == np.bool_ else len(chosen)
        return Batch(lanes, rows)


class RelationAccess(ABC):
    """Reads relations for a chain; a worker implements it."""

    members: frozenset[str]
    """The relations that change: they have no sorted lists."""
    recorder: Recorder | None = None
    """What hears how many rows each step hands on, if someone wants to know."""

    @abstractmethod
    def started(self, atom: Atom) -> Iterator[list[Lane]]:
        """Yields the rows of the atom's version, a lane per column, in batches."""

    @abstractmethod
    def matches(self, atom: Atom, keys: tuple[int, ...], values: Lanes) -> Iterator[Matches]:
        """Yields the rows that agree with the values in the key columns."""

    def partners(
        self, atom: Atom, keys: tuple[int, ...], values: Lanes, bound: Mapping[str, Lane]
    ) -> Iterator[Matches]:
        """Yields those matches that can lead anywhere, given all that is bound."""
        return self.matches(atom, keys, values)

    def contains(self, atom: Atom, keys: tuple[int, ...], values: Lanes) -> Mask:
        """Returns for which values the atom has a row that agrees with them in the key columns."""
        found = np.zeros(values.shape[1], np.bool_)
        if keys:
            for match in self.matches(atom, keys, values):
                found[match.probes] = True
        elif len(found):
            found[:] = next(iter(self.matches(atom, keys, values[:, :1])), None) is not None
        return found

    @abstractmethod
    def column(self, atom: Atom, keys: tuple[int, ...], column: int, rows: Lane) -> Lane:
        """Returns the values of a column in the rows that `matches` found by these keys."""

    @abstractmethod
    def intersection(self, step: Intersect) -> Intersection:
        """Returns the sorted lists of its atoms."""

    @abstractmethod
    def refuted(self, relation: str, keys: tuple[int, ...], values: Lanes) -> Mask:
        """Returns for which values the relation has a row that agrees with them."""


class ChainRunner:
    """Runs one rule, and knows after each step which variables are still needed."""

    def __init__(self, chain: RuleChain, access: RelationAccess, texts: Texts, functions: Functions = BUILT_IN) -> None:
        self.access = access
        self.evaluator = Evaluator(chain.name, chain.types, texts, functions, chain.nullable)
        self.chain = with_intersections(chain, access.members)
        self.needed = needed_after(self.chain)
        self.last_join = last_join(self.chain)
        self.tail = _tail(self.chain)
        self.step_texts = tuple(map(step_text, self.chain.steps)) if access.recorder is not None else ()

    def next_send(self, begin: int) -> int | None:
        """Returns the position of the next step that moves valuations to other workers."""
        steps = enumerate(self.chain.steps)
        return next((position for position, step in steps if position >= begin and isinstance(step, Send)), None)

    def carried(self, position: int) -> list[str]:
        """Returns the variables that move with the Send step at this position: bound before it, and needed behind
        it."""
        bound: set[str] = set()
        for step in self.chain.steps[:position]:
            bound |= binds(step)
        return sorted(bound & (self.needed[position] | reads(self.chain.steps[position])))

    def send(self, position: int) -> Send:
        """Returns the Send step at this position."""
        step = self.chain.steps[position]
        assert isinstance(step, Send)
        return step

    def run(self, begin: int, end: int, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Takes batches through the steps `[begin, end)`."""
        if begin == end:
            yield from batches
            return
        if begin == self.tail and end == len(self.chain.steps):
            for batch in batches:
                weighed = self._weighed(batch)
                if weighed.rows:
                    self._record(end - 1, weighed.rows)
                    yield weighed
            return
        step = self.chain.steps[begin]
        for batch in batches:
            try:
                results = self._step(begin, batch)
                if isinstance(step, Assign):
                    results = iter((next(results),))
            except Fault:
                if not (isinstance(step, Assign) and step.is_early):
                    raise
                # Perhaps a later step drops the valuations for which it fails: it is tried again behind those.
                later = _with_step_later(self.chain, begin)
                careful = ChainRunner(later, self.access, self.evaluator.texts, self.evaluator.functions)
                if self.last_join is None or end != self.last_join.position:
                    yield from careful.run(begin, end, iter((batch,)))
                    continue
                for joined in careful.run(begin, len(careful.chain.steps), iter((batch,))):
                    yield replace(joined, is_joined=True)
                continue
            for result in results:
                if result.rows:
                    self._record(begin, result.rows)
                    yield from self.run(begin + 1, end, iter((result,)))

    def _weighed(self, batch: Batch) -> Batch:
        """Takes a batch through the last steps, which can fail. A fault counts only for a valuation for which all other
        steps hold: a value that there is not makes what reads it neither true nor false."""
        lanes, missing = dict(batch.lanes), dict[str, Mask]()
        alive, faults = np.ones(batch.rows, np.bool_), list[tuple[Mask, Step]]()
        for step in self.chain.steps[self.tail :]:
            unknown = either_of(missing.get(name) for name in reads(step))
            match step:
                case Assign(variable, expression):
                    lanes[variable], bad = self.evaluator.weighed_lane(expression, lanes, batch.rows)
                    gone = either(unknown, bad)
                    if gone is not None:
                        missing[variable] = gone
                case Keep(condition):
                    holds, bad = self.evaluator.weighed_mask(condition, lanes, batch.rows)
                    gone = either(unknown, bad)
                    alive &= holds if gone is None else holds | gone
                case Refute(relation, keys, variables, guards):
                    dropped = self._refuted(relation, keys, variables, guards, Batch(lanes, batch.rows))
                    alive &= ~dropped if unknown is None else ~dropped | unknown
                    bad = None
                case _:
                    raise AssertionError("DL901: this step has no place behind one that can fail")
            if bad is not None:
                faults.append((bad if unknown is None else bad & ~unknown, step))
        for bad, step in faults:
            if (bad & alive).any():
                raise self._fault(step, lanes, int(np.argmax(bad & alive)))
        return _only(Batch(lanes, batch.rows), self.needed[-1]).kept(alive)

    def _fault(self, step: Step, lanes: Mapping[str, Lane], row: int) -> Fault:
        if isinstance(step, Assign):
            return self.evaluator.fault(step.expression, lanes, row)
        assert isinstance(step, Keep)
        return self.evaluator.fault_of_condition(step.condition, lanes, row)

    def _refuted(
        self,
        relation: str,
        keys: tuple[int, ...],
        variables: tuple[str, ...],
        guards: tuple[Condition, ...],
        batch: Batch,
    ) -> Mask:
        dropped = self.access.refuted(relation, keys, _stacked(batch, variables))
        for guard in guards:
            dropped &= self.evaluator.mask(guard, batch.lanes, batch.rows)
        return dropped

    def _record(self, place: int, rows: int) -> None:
        if self.access.recorder is not None:
            self.access.recorder.handed_on(self.chain.name, self.chain.relation, place, self.step_texts[place], rows)

    def start(self, *, records: bool = True) -> Iterator[Batch]:
        """Yields the batches behind the Start step; a rule without atoms has one valuation. Where they are gone through
        again, their rows are recorded once."""
        if not self.chain.steps or not isinstance(self.chain.steps[0], Start):
            yield Batch({}, 1)
            return
        atom = self.chain.steps[0].atom
        for lanes in self.access.started(atom):
            batch = self._named(atom, lanes, self.needed[0])
            if atom.asks:
                batch = _without_repeats(batch)
            if records:
                self._record(0, batch.rows)
            yield batch

    @property
    def first_step(self) -> int:
        return 1 if self.chain.steps and isinstance(self.chain.steps[0], Start) else 0

    def _named(self, atom: Atom, lanes: list[Lane], needed: frozenset[str]) -> Batch:
        rows = len(lanes[0])
        seen: dict[str, Lane] = {}
        same: Mask | None = None
        for name, lane in zip(atom.variables, lanes, strict=True):
            if name in seen:
                agrees = seen[name] == lane
                same = agrees if same is None else same & agrees
            else:
                seen[name] = lane
        batch = Batch({name: lane for name, lane in seen.items() if name in needed}, rows)
        return batch if same is None else batch.kept(same)

    def _step(self, index: int, batch: Batch) -> Iterator[Batch]:
        step: Step = self.chain.steps[index]
        needed = self.needed[index]
        match step:
            case Assign(variable, expression):
                lane = self.evaluator.lane(expression, batch.lanes, batch.rows)
                lanes = {name: old for name, old in batch.lanes.items() if name in needed}
                if variable in needed:
                    lanes[variable] = lane
                yield Batch(lanes, batch.rows)
            case Keep(condition):
                mask = self.evaluator.mask(condition, batch.lanes, batch.rows)
                kept = _only(batch, needed)
                yield kept if mask.all() else kept.kept(mask)
            case Refute(relation, keys, variables, guards):
                dropped = self._refuted(relation, keys, variables, guards, batch)
                yield _only(batch, needed).kept(~dropped)
            case Probe(atom, keys):
                yield from self._probe(atom, keys, batch, needed)
            case Intersect():
                yield from self._intersect(step, batch, needed)
            case Start() | Send():
                raise AssertionError("DL901: this step has no place here")
            case _:
                assert_never(step)

    def _probe(self, atom: Atom, keys: tuple[int, ...], batch: Batch, needed: frozenset[str]) -> Iterator[Batch]:
        values = _stacked(batch, tuple(atom.variables[key] for key in keys))
        kept = _only(batch, needed)
        new = [name for column, name in enumerate(atom.variables) if column not in keys]
        if atom.asks and needed.isdisjoint(new) and len(set(new)) == len(new):
            yield kept.kept(self.access.contains(atom, keys, values))
            return
        for found in self.access.partners(atom, keys, values, batch.lanes):
            if len(found.probes) >= WORTH_A_LOOK:
                check()
            lanes = {name: lane[found.probes] for name, lane in kept.lanes.items()}
            agrees: Mask | None = None
            fresh: dict[str, Lane] = {}
            for column, name in enumerate(atom.variables):
                if column in keys or (name not in needed and atom.variables.count(name) == 1):
                    continue
                lane = self.access.column(atom, keys, column, found.rows)
                if name in fresh:
                    same = fresh[name] == lane
                    agrees = same if agrees is None else agrees & same
                fresh.setdefault(name, lane)
            lanes |= {name: lane for name, lane in fresh.items() if name in needed}
            result = Batch(lanes, len(found.probes))
            yield result if agrees is None else result.kept(agrees)

    def _intersect(self, step: Intersect, batch: Batch, needed: frozenset[str]) -> Iterator[Batch]:
        intersection = self.access.intersection(step)
        keys = [
            _stacked(batch, tuple(atom.variables[key] for key in keys_of(atom, step.variable))) for atom in step.atoms
        ]
        lows, highs = self._limits(step, batch)
        kept = _only(batch, needed)
        if not needed:
            yield Batch({}, intersection.count(keys, lows, highs))
            return
        for found in intersection.pairs(keys, lows, highs):
            lanes = {name: lane[found.probes] for name, lane in kept.lanes.items()}
            if step.variable in needed:
                lanes[step.variable] = found.rows
            yield Batch(lanes, len(found.probes))

    def _limits(self, step: Intersect, batch: Batch) -> tuple[Lane | None, Lane | None]:
        """Returns the smallest and the largest value that the variable may have, both included."""
        lows = [self._included(bound, batch, 1) for bound in step.lows]
        highs = [self._included(bound, batch, -1) for bound in step.highs]
        low = np.maximum.reduce([lane for lane, _ in lows]) if lows else None
        high = np.minimum.reduce([lane for lane, _ in highs]) if highs else None
        impossible = np.logical_or.reduce([mask for _, mask in (*lows, *highs)]) if lows or highs else False
        if np.any(impossible):
            low = np.where(impossible, LARGEST, SMALLEST if low is None else low)
            high = np.where(impossible, SMALLEST, LARGEST if high is None else high)
        return low, high

    def _included(self, bound: Bound, batch: Batch, step: int) -> tuple[Lane, Mask]:
        """Returns the next value if the bound itself is excluded, and where there is none."""
        lane = self.evaluator.lane(bound.value, batch.lanes, batch.rows)
        if not bound.is_excluded:
            return lane, np.zeros(batch.rows, np.bool_)
        is_last = lane == (LARGEST if step > 0 else SMALLEST)
        return np.where(is_last, lane, lane + step), is_last

    def joined(self, end: LastJoin, batch: Batch, index: PackedIndex) -> Joined:
        """Returns the contributions of a batch that has come to the last join."""
        step = self.chain.steps[end.position]
        assert isinstance(step, Probe)
        numbers = index.groups(_stacked(batch, tuple(step.atom.variables[key] for key in step.keys)))
        base = None if end.base is None else batch.lanes[end.base]
        return Joined(self.chain.name, index, numbers, end.key, base, end.column)

    def contributions(self, batch: Batch) -> Lanes:
        """Returns the head of the rule, a lane per column of its contributions."""
        lanes = [self.evaluator.lane(value, batch.lanes, batch.rows) for value in self.chain.head]
        for place in self.chain.checked:
            refuse_null(self.chain.name, lanes[place])
        return np.stack(lanes) if lanes else np.empty((0, batch.rows), np.int64)


def _tail(chain: RuleChain) -> int:
    """Returns the place of the first of the last steps that can fail, behind which there is no join; the number of
    steps if there is none."""
    place = len(chain.steps)
    for position in range(len(chain.steps) - 1, -1, -1):
        step = chain.steps[position]
        if not isinstance(step, Assign | Keep | Refute) or (isinstance(step, Assign) and step.is_early):
            break
        if (isinstance(step, Assign) and can_fail(step.expression, chain.types)) or (
            isinstance(step, Keep) and condition_can_fail(step.condition, chain.types)
        ):
            place = position
    return place


def _without_repeats(batch: Batch) -> Batch:
    if not batch.lanes:
        return replace(batch, rows=min(batch.rows, 1))
    lanes = np.unique(np.stack(list(batch.lanes.values())), axis=1)
    return Batch(dict(zip(batch.lanes, lanes, strict=True)), lanes.shape[1])


def _only(batch: Batch, needed: frozenset[str]) -> Batch:
    return Batch({name: lane for name, lane in batch.lanes.items() if name in needed}, batch.rows)


def _stacked(batch: Batch, variables: tuple[str, ...]) -> Lanes:
    if not variables:
        return np.empty((0, batch.rows), np.int64)
    return np.stack([batch.lanes[name] for name in variables])


def _with_step_later(chain: RuleChain, index: int) -> RuleChain:
    """Returns the chain with an early step behind all that do not need its variable."""
    early = chain.steps[index]
    assert isinstance(early, Assign)
    before, after = list(chain.steps[:index]), []
    waiting = {early.variable}
    for step in chain.steps[index + 1 :]:
        if reads(step) & waiting:
            after.append(step)
            waiting |= binds(step)
        else:
            before.append(step)
    return replace(chain, steps=(*before, replace(early, is_early=False), *after))
