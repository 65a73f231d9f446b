"""Runs one worker, which owns a partition of every relation of the recursion from the first round to the last.

A worker is a generator: it yields what it has for the others and is sent what they have for it. Whoever drives it
(a loop in this process, or tasks of a Spark job with sockets between them) only carries messages, so all of
them run the same code.
"""

from __future__ import annotations

import itertools
import time
from abc import abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from threading import RLock
from typing import TypeVar

import numpy as np

from emberlog.config import Limits
from emberlog.language.faults import Fault
from emberlog.language.registry import BUILT_IN
from emberlog.syntax.ast import Constant
from emberlog.workers.fixpoint.chains import Batch, ChainRunner, RelationAccess
from emberlog.workers.fixpoint.evaluate import Evaluator
from emberlog.workers.fixpoint.profile import Effort, Recorder
from emberlog.workers.kernels.hashing import parts_by_owner
from emberlog.workers.kernels.lanes import Lane, Lanes, Mask, joined, no_rows
from emberlog.workers.kernels.memory import check
from emberlog.workers.kernels.threads import MadeOnce, mapped, threads_here
from emberlog.workers.kernels.tuning import BATCH, FEWEST_AHEAD, JOINED_AT_ONCE, MOST_AHEAD, PIECES_PER_WORKER
from emberlog.workers.plan.closing_joins import keys_of
from emberlog.workers.plan.compile import CyclicProgram
from emberlog.workers.plan.faults import suspicion
from emberlog.workers.plan.hot_keys import with_hot_keys
from emberlog.workers.plan.placement import Placement
from emberlog.workers.plan.representation import Representation
from emberlog.workers.plan.rules import Atom, Combine, Intersect, Probe, RuleChain, Send
from emberlog.workers.plan.static_placement import NO_HOME
from emberlog.workers.recover.checkpoints import Checkpoints, SavedState
from emberlog.workers.store.hot_keys import NO_HOT_KEYS, HotKeys
from emberlog.workers.store.indexes import Intersection, Matches, PackedIndex, SortedLists, StaticIndexes
from emberlog.workers.store.joined import Contribution, Joined, rows_of, written_out
from emberlog.workers.store.partitioning import Hashed, Partitioning
from emberlog.workers.store.relations import WorkerRelation, refuse_negative
from emberlog.workers.store.stores import StaticStore, Store
from emberlog.workers.store.texts import Texts
from emberlog.workers.wire.messages import Mail, Message, Progress, Running

Found = TypeVar("Found")

FOR_ALL = 1 << 16
"""Added to the channel of valuations: they meet a hot key, and go to all workers."""


@dataclass(frozen=True, slots=True)
class WorkerTask:
    """Holds everything that a worker needs to know before it begins."""

    program: CyclicProgram
    placement: Placement
    number: int
    workers: int
    texts: Texts
    """Reads texts, and makes them."""
    limits: Limits
    profile: bool = False
    """Whether to count what each rule does; see `Worker.recorder`."""
    representation: Representation = Representation.AUTO
    """How the facts of a recursion that factors are kept."""
    stratum: int = 1
    """Its number in the plan, for errors."""
    memory: int | None = None
    """Bytes that the facts of the worker may use; None for no limit."""
    provenance: bool = False
    """Whether to keep in which iteration each fact came; see `KeepsHistory`."""
    checkpoints: Checkpoints | None = None
    """Where the state is kept from time to time, and what to go on from; None for never."""
    partitioning: Partitioning | None = None
    """Which worker owns a value; None for its hash."""
    alike: MadeOnce = field(default_factory=MadeOnce)
    """What it has in common with the other workers of its process."""
    hot_keys: HotKeys = NO_HOT_KEYS
    """Which rows of relations that do not change are on all workers."""

    @property
    def saved_state(self) -> SavedState | None:
        """Returns the checkpoint to resume from, or None. A second call returns None."""
        return None if self.checkpoints is None else self.checkpoints.resume_state()

    @property
    def moved_states(self) -> list[SavedState]:
        """Returns the checkpoints of an attempt with more or fewer workers to resume from; none a second time."""
        return [] if self.checkpoints is None else self.checkpoints.moved_states()

    def is_checkpoint_due(self, iteration: int, rows: int | None = None) -> bool:
        """Tells whether it is time for a checkpoint. `rows` is how many there are to save, where rows only come."""
        return self.checkpoints is not None and self.checkpoints.is_due(iteration, rows)


class Worker(RelationAccess):
    """Does what all kinds of recursion share: reads relations, runs rules, sends contributions to their owners."""

    def __init__(
        self, task: WorkerTask, statics: Mapping[str, StaticStore], report: Callable[[Progress], None] = lambda _: None
    ) -> None:
        self.task = task
        self.program = task.program
        self.statics = statics
        self.members = frozenset(relation.name for relation in self.program.relations)
        self.static_indexes: dict[str, StaticIndexes] = {}
        """By relation. Workers that share a relation may share its indexes: who has some puts them here."""
        self.intersections: dict[Intersect, Intersection] = {}
        self.making = RLock()
        """Held while an index is made that several threads may ask for."""
        self.report = report
        self.began = time.monotonic()
        self.effort = Effort()
        self.partitioning = task.partitioning or Hashed(task.workers)
        self.recorder = Recorder() if task.profile else None
        self.channels = {relation.name: number for number, relation in enumerate(self.program.relations)}
        self.functions = BUILT_IN.with_registered(self.program.functions)
        self.seeds = [self.runner(chain) for chain in self.program.seeds]
        placement = task.placement
        chains = placement.rules if task.workers > 1 else self.program.rules
        if task.hot_keys:
            split = task.hot_keys.values
            chains = tuple(with_hot_keys(chain, placement.homes, placement.statics, split) for chain in chains)
        self.rules = [self.runner(chain) for chain in chains]
        self.lands = placement.lands if task.workers > 1 else self.members
        """The relations of which recursive rules derive only what this worker owns."""

    def runner(self, chain: RuleChain, access: RelationAccess | None = None) -> ChainRunner:
        """Returns what runs a rule: over the relations of this worker, or those of `access`."""
        return ChainRunner(chain, access or self, self.task.texts, self.functions)

    @abstractmethod
    def run(self) -> Running:
        """Runs the recursion to its end; afterwards `results` has this worker's facts."""

    @abstractmethod
    def results(self, relation: str) -> Iterator[list[Lane]]:
        """Yields the facts of a relation that this worker owns, in batches: a lane per column."""

    @abstractmethod
    def result_count(self, relation: str) -> int:
        """Returns how many facts `results` gives."""

    def known(self, relation: str) -> Iterator[Lanes]:
        """Contributions to a relation that are known to be right however far the recursion has come, in small batches:
        what another executor can go on with. Nothing is known of recursions in which facts can be taken back."""
        return iter(())

    @property
    def spilled(self) -> str:
        """Returns what it did about a memory that was too short, in a few words; nothing if it had enough."""
        return ""

    # Reading relations

    def started(self, atom: Atom) -> Iterator[list[Lane]]:
        """Yields this worker's share of a relation that does not change: what it has of one that is spread, and an
        equal part of one that everyone has, in several pieces."""
        rows = self.statics[atom.relation].all
        count, first, workers = rows.shape[1], 0, 1
        if self.task.placement.statics[atom.relation] is None:
            first, workers = self.task.number, self.task.workers
        # Dealt out in turn: rows that stand together often cost as much as each other.
        size = BATCH if workers == 1 else max(min(BATCH, count // (PIECES_PER_WORKER * workers)), 1)
        for start in range(first * size, count, size * workers):
            part = rows[:, start : start + size]
            yield [part[lane] for lane in range(part.shape[0])]

    def matches(self, atom: Atom, keys: tuple[int, ...], values: Lanes) -> Iterator[Matches]:
        return self.static_index(atom.relation, keys).matches(values)

    def column(self, atom: Atom, keys: tuple[int, ...], column: int, rows: Lane) -> Lane:
        return self.static_index(atom.relation, keys).column(column, rows)

    def contains(self, atom: Atom, keys: tuple[int, ...], values: Lanes) -> Mask:
        if atom.relation in self.members:
            return super().contains(atom, keys, values)
        return self.static_index(atom.relation, keys).contains(values)

    def refuted(self, relation: str, keys: tuple[int, ...], values: Lanes) -> Mask:
        return self.static_index(relation, keys).contains(values)

    def intersection(self, step: Intersect) -> Intersection:
        if step not in self.intersections:
            with self.making:
                if step not in self.intersections:
                    lists = [self._sorted_lists(atom, step.variable) for atom in step.atoms]
                    self.intersections[step] = Intersection(lists)
        return self.intersections[step]

    def _sorted_lists(self, atom: Atom, variable: str) -> SortedLists:
        keys, column = keys_of(atom, variable), atom.variables.index(variable)
        return self._indexes_of(atom.relation).sorted_lists(keys, column)

    def static_index(self, relation: str, keys: tuple[int, ...]) -> PackedIndex:
        return self._indexes_of(relation).packed(keys)

    def _indexes_of(self, relation: str) -> StaticIndexes:
        if relation not in self.static_indexes:
            with self.making:
                if relation not in self.static_indexes:
                    self.static_indexes[relation] = StaticIndexes(self.statics[relation])
        return self.static_indexes[relation]

    # Contributions

    def seed_contributions(self) -> Iterator[tuple[str, Contribution]]:
        """Yields what the facts of the program and its rules without recursion contribute, this worker's share of
        it."""
        self._look_out()
        if self.task.number == 0:
            for facts in self.program.facts:
                yield facts.relation, self._fact_lanes(facts.relation, facts.rows)
        for runner in self.seeds:
            if runner.first_step == 0 and self.task.number != 0:
                continue  # a rule without atoms has one valuation, and one worker has it
            yield from self.heads(runner, runner.first_step, runner.start())

    def _look_out(self) -> None:
        """Raises a suspicion if a value that is looked up does not exist for a row of what does not change."""
        for watch in self.program.watches:
            evaluator = Evaluator(watch.rule, watch.types, self.task.texts, self.functions, watch.nullable)
            for lanes in self.started(watch.atom):
                named = dict(zip(watch.atom.variables, lanes, strict=True))
                if evaluator.mask(watch.condition, named, len(lanes[0])).any():
                    raise suspicion(watch.rule)

    def _fact_lanes(self, relation: str, rows: tuple[tuple[object, ...], ...]) -> Lanes:
        evaluator = Evaluator(relation, {}, self.task.texts)
        lanes = [[evaluator.constant(Constant(cell)) for cell in row] for row in rows]  # type: ignore[arg-type]
        width = len(rows[0]) if rows else self.program.relation(relation).width
        return np.ascontiguousarray(np.array(lanes, np.int64).reshape(-1, width).T)

    def heads(self, runner: ChainRunner, begin: int, batches: Iterator[Batch]) -> Iterator[tuple[str, Contribution]]:
        """Yields the contributions of batches that have come to a step of the rule."""
        chain = runner.chain
        heads = self._ends(runner, begin, batches)
        if self.recorder is None:
            yield from ((chain.relation, head) for head in heads)
            return
        for head in self.recorder.timed(chain.name, chain.relation, heads):
            self.recorder.gave(chain.name, chain.relation, rows_of(head))
            yield chain.relation, head

    def _ends(self, runner: ChainRunner, begin: int, batches: Iterator[Batch]) -> Iterator[Contribution]:
        chain, end = runner.chain, runner.last_join
        if end is not None and begin <= end.position and self.program.relation(chain.relation).is_lone_keyed:
            step = chain.steps[end.position]
            assert isinstance(step, Probe)
            if step.atom.relation in self.statics and self.statics[step.atom.relation].count:
                index = self.static_index(step.atom.relation, step.keys)
                at_end = self._run_ahead(runner, begin, end.position, batches, _unchanged)
                is_sum = self.program.relation(chain.relation).combine == (Combine.SUM_FLOAT,)
                for batch in _together(at_end) if is_sum else at_end:
                    yield self.contributions_of(runner, batch) if batch.is_joined else runner.joined(end, batch, index)
                return
        yield from self._run_ahead(runner, begin, len(chain.steps), batches, partial(self.contributions_of, runner))

    def _run_ahead(
        self, runner: ChainRunner, begin: int, end: int, batches: Iterator[Batch], last: Callable[[Batch], Found]
    ) -> Iterator[Found]:
        """Takes batches through steps of a rule, and yields what `last` makes of each. Other threads of this worker do
        that for some while what comes of those before is entered; everything comes in the same order."""
        is_alone = threads_here() == 1 or self.recorder is not None or bool(self.program.functions)
        if is_alone or begin == end or not self.stands_still(runner.chain):
            yield from map(last, runner.run(begin, end, batches))
            return

        def through(piece: Batch) -> list[Found]:
            return [last(batch) for batch in runner.run(begin, end, iter((piece,)))]

        for found in mapped(through, _in_pieces(batches)):
            yield from found

    def stands_still(self, chain: RuleChain) -> bool:
        """Tells whether what the rule looks into stays as it is while facts are entered."""
        return True

    def contributions_of(self, runner: ChainRunner, batch: Batch) -> Lanes:
        """Returns the heads of valuations that have come to the end of a rule. What is negative is refused here:
        workers hand on only the largest contribution of a key."""
        lanes, relation = runner.contributions(batch), self.program.relation(runner.chain.relation)
        refuse_negative(relation, lanes)
        return lanes

    def keep(self, store: WorkerRelation | Store, contribution: Contribution) -> None:
        """Enters contributions, and counts those that are new there if someone wants to know."""
        before = store.fresh
        if not (isinstance(contribution, Joined) and store.add_joined(contribution)):
            for lanes in written_out(contribution):
                store.add(lanes)
        if self.recorder is not None:
            self.recorder.kept(store.fresh - before)

    def leaving_home(
        self, relations: Mapping[str, WorkerRelation], contributions: Iterable[tuple[str, Contribution]]
    ) -> Iterator[tuple[str, Contribution]]:
        """Enters what belongs to this worker whatever it is, and yields the rest."""
        for name, contribution in contributions:
            if name in self.lands:
                self.keep(relations[name], contribution)
            else:
                yield name, contribution

    def rules_of_round(self) -> Sequence[ChainRunner]:
        """Returns the recursive rules that the delta may have something for: the same ones on all workers."""
        return self.rules

    def rule_contributions(self) -> Generator[Mail, Mail, Iterator[tuple[str, Contribution]]]:
        """Returns what the recursive rules make of the delta; on the way, valuations may move between workers."""
        under_way = [(runner, runner.first_step, runner.start()) for runner in self.rules_of_round()]
        finished: list[tuple[ChainRunner, Contribution]] = []
        while any(runner.next_send(begin) is not None for runner, begin, _ in under_way):
            mail = self.empty_mail()
            moving: list[tuple[int, ChainRunner, int, list[str], Iterator[Batch]]] = []
            for number, (runner, begin, batches) in enumerate(under_way):
                send = runner.next_send(begin)
                if send is None:
                    heads = self.heads(runner, begin, batches)
                    finished += ((runner, lanes) for _, lanes in heads)
                    continue
                names = runner.carried(send)
                staying: Iterator[Batch] = iter(())
                if runner.send(send).at_home and send == begin == runner.first_step:
                    for_all, staying = self._met_by_hot_keys(runner, send)
                else:
                    lanes, route = self.leaving(runner, begin, send, batches)
                    for_owner, for_all = self.divided(runner.send(send), lanes, route)
                    self.post(mail, number, *for_owner)
                if for_all is not None:
                    self.post(mail, number + FOR_ALL, for_all, None)
                moving.append((number, runner, send + 1, names, staying))
            received = yield mail
            under_way = [
                (runner, begin, itertools.chain(staying, (as_batch(names, _arrived(received, number, len(names))),)))
                for number, runner, begin, names, staying in moving
            ]
        return self._remaining(finished, under_way)

    def leaving(
        self, runner: ChainRunner, begin: int, send: int, batches: Iterator[Batch]
    ) -> tuple[Lanes, Lane | None]:
        """Valuations that have come to a Send step: what they carry, and the values that say where to unless to all."""
        names, step = runner.carried(send), runner.send(send)
        moved = list(self._timed(runner, runner.run(begin, send, batches)))
        lanes = joined([_stacked(batch, names) for batch in moved], len(names))
        return lanes, None if step.to_all else lanes[names.index(step.variable)]

    def _met_by_hot_keys(self, runner: ChainRunner, send: int) -> tuple[Lanes | None, Iterator[Batch]]:
        """Returns the valuations at the start of a rule that meet a hot key, and yields the others, which stay: the
        delta is gone through twice, as it may be too large to be copied."""
        names, step = runner.carried(send), runner.send(send)
        assert step.meets is not None
        hot_keys, relation = self.task.hot_keys, step.meets
        met = [
            _stacked(batch.kept(hot), names)
            for batch in runner.start(records=False)
            if (hot := hot_keys.is_hot(relation, batch.lanes[step.variable])).any()
        ]
        others = (
            batch.kept(~hot) if (hot := hot_keys.is_hot(relation, batch.lanes[step.variable])).any() else batch
            for batch in runner.start()
        )
        return joined(met, len(names)) if met else None, self._timed(runner, others)

    def divided(self, step: Send, lanes: Lanes, route: Lane | None) -> tuple[tuple[Lanes, Lane | None], Lanes | None]:
        """Returns the valuations that go where a step says, with their route, and those that meet a hot key and go to
        all; None for none."""
        if step.meets is None or route is None:
            return (lanes, route), None
        hot = self.task.hot_keys.is_hot(step.meets, route)
        if not hot.any():
            return (lanes, route), None
        return (np.ascontiguousarray(lanes[:, ~hot]), route[~hot]), np.ascontiguousarray(lanes[:, hot])

    def _remaining(
        self,
        finished: list[tuple[ChainRunner, Contribution]],
        under_way: list[tuple[ChainRunner, int, Iterator[Batch]]],
    ) -> Iterator[tuple[str, Contribution]]:
        for runner, lanes in finished:
            if self.recorder is not None:
                self.recorder.enter(runner.chain.name, runner.chain.relation)
            yield runner.chain.relation, lanes
        for runner, begin, batches in under_way:
            yield from self.heads(runner, begin, batches)

    def _timed(self, runner: ChainRunner, batches: Iterator[Batch]) -> Iterator[Batch]:
        if self.recorder is None:
            return batches
        return self.recorder.timed(runner.chain.name, runner.chain.relation, batches)

    def begin_iteration(self, iteration: int) -> None:
        """Notes that the rules will now read the delta of this iteration."""
        if self.recorder is not None:
            self.recorder.iteration = iteration

    # Sending

    def empty_mail(self, *sums: int) -> Mail:
        return [Message(sums=sums) for _ in range(self.task.workers)]

    def post(self, mail: Mail, channel: int, lanes: Lanes, route: Lane | None) -> None:
        """Puts each row into the message to the worker that owns its value in `route`, or into every message; once for
        each channel."""
        if not lanes.shape[1]:
            return
        if route is None:
            for message in mail:
                message.batches[channel] = lanes
            return
        for worker, part in parts_by_owner(lanes, self.partitioning.owners(route), self.task.workers):
            mail[worker].batches[channel] = part

    def post_combined(self, mail: Mail, contributions: Iterable[tuple[str, Contribution]]) -> None:
        """Combines contributions where they were made, and addresses what is left to the owners of the facts."""
        combined = {relation.name: WorkerRelation(relation, tracks=False) for relation in self.program.relations}
        for name, contribution in contributions:
            self.keep(combined[name], contribution)
        for name, relation in combined.items():
            lanes = relation.contributed()
            self.post(mail, self.channels[name], lanes, self.route(name, lanes))

    def route(self, relation: str, lanes: Lanes) -> Lane:
        """Returns what says which worker owns a contribution: the value of its home column."""
        home = self.task.placement.homes[relation]
        if home == NO_HOME:
            return np.zeros(lanes.shape[1], np.int64)
        lane: Lane = lanes[self.program.relation(relation).columns[home].lane]
        return lane

    def owns_keyless(self) -> bool:
        """Tells whether this worker has the relations without keys."""
        return int(self.partitioning.owners(np.zeros(1, np.int64))[0]) == self.task.number

    def check_limits(self, progress: Progress) -> None:
        limits = self.task.limits
        if limits.max_iterations is not None and progress.iteration > limits.max_iterations:
            raise self._passed("DL510", f"{limits.max_iterations:,} iterations", "max_iterations", progress)
        if limits.max_rows is not None and progress.total > limits.max_rows:
            raise self._passed("DL511", f"{limits.max_rows:,} rows", "max_rows", progress)
        if limits.timeout is not None and time.monotonic() - self.began > limits.timeout:
            raise self._passed("DL512", f"{limits.timeout:,} seconds", "timeout", progress)
        check()

    def _passed(self, code: str, limit: str, option: str, progress: Progress) -> Fault:
        names = ", ".join(self.channels)
        facts = "fact" if progress.changed == 1 else "facts"
        notes = (
            f"iteration {progress.iteration:,} added {progress.changed:,} {facts}, {progress.total:,} in all",
            f"if the program comes to an end by itself, raise {option}; "
            "if it makes new values for ever, bound them with a condition such as `D < 1000`",
        )
        rule = next((chain.name for chain in self.program.rules), "")
        return Fault(
            code, f"the limit of {limit} was passed in stratum {self.task.stratum}: {names}", *notes, rule=rule
        )


def spilled_on(workers: Sequence[str]) -> str:
    """Returns what several workers did about their memory, as one line."""
    found = [one for one in workers if one]
    if not found:
        return ""
    return f"memory was short on {len(found):,} of {len(workers):,} workers: {', '.join(dict.fromkeys(found))}"


def gather(received: Mail, channel: int, width: int) -> Lanes:
    """Returns all rows of a channel, from every worker."""
    return joined([message.batches[channel] for message in received if channel in message.batches], width)


def _arrived(received: Mail, number: int, width: int) -> Lanes:
    """Returns the valuations of a rule that came from everyone, for this worker or for all."""
    channels = [number, number + FOR_ALL]
    parts = [message.batches[one] for message in received for one in channels if one in message.batches]
    return joined(parts, width)


def _stacked(batch: Batch, names: list[str]) -> Lanes:
    return np.stack([batch.lanes[name] for name in names]) if names else no_rows(0)


def _together(batches: Iterator[Batch]) -> Iterator[Batch]:
    """Yields batches in front of a join that is added up and not written out, several as one: to add up takes a look at
    every key."""
    waiting: list[Batch] = []
    for batch in batches:
        if batch.is_joined:
            yield batch
            continue
        waiting.append(batch)
        if sum(one.rows for one in waiting) >= JOINED_AT_ONCE:
            yield _as_one(waiting)
            waiting = []
    if waiting:
        yield _as_one(waiting)


def _in_pieces(batches: Iterator[Batch]) -> Iterator[Batch]:
    """Divides batches among threads, where that pays, but never so that what comes of it fills the memory."""
    for batch in batches:
        size = max(FEWEST_AHEAD, min(MOST_AHEAD, batch.rows // (2 * threads_here())))
        if batch.rows <= size:
            yield batch
            continue
        for begin in range(0, batch.rows, size):
            lanes = {name: lane[begin : begin + size] for name, lane in batch.lanes.items()}
            yield Batch(lanes, min(size, batch.rows - begin))


def _unchanged(batch: Batch) -> Batch:
    return batch


def _as_one(batches: Sequence[Batch]) -> Batch:
    if len(batches) == 1:
        return batches[0]
    lanes = {name: np.concatenate([one.lanes[name] for one in batches]) for name in batches[0].lanes}
    return Batch(lanes, sum(one.rows for one in batches))


def as_batch(names: list[str], lanes: Lanes) -> Batch:
    return Batch(dict(zip(names, lanes, strict=True)), lanes.shape[1])
