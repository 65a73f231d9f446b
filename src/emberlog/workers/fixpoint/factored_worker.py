"""Runs recursions that factor: numbers the values of both sides, chooses a representation, and runs it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

import numpy as np

from emberlog.diagnostics import InternalError
from emberlog.workers.fixpoint.bit_matrix import BitMatrix, RuleSteps
from emberlog.workers.fixpoint.chains import RelationAccess
from emberlog.workers.fixpoint.closures import BitsClosure, Closure, MarksClosure, Pairs, Sources, grouped, sampled
from emberlog.workers.fixpoint.profile import Counts
from emberlog.workers.fixpoint.rounds import RoundsWorker
from emberlog.workers.fixpoint.worker import Worker, WorkerTask, gather
from emberlog.workers.kernels.lanes import Lane, Lanes, Mask, joined
from emberlog.workers.kernels.memory import check
from emberlog.workers.kernels.tuning import BATCH, FEW_SOURCES, MATRIX_MEMORY, MOST_STEPS
from emberlog.workers.plan.factored import Factored
from emberlog.workers.plan.representation import (
    Choice,
    ClosureSample,
    MatrixSize,
    Representation,
    choose_closure,
    choose_matrix,
)
from emberlog.workers.plan.rules import Atom, Intersect, RuleChain
from emberlog.workers.store.history import HistoryBatch, KeepsHistory
from emberlog.workers.store.indexes import Intersection, Matches
from emberlog.workers.store.joined import written_out
from emberlog.workers.store.numbering import Steps, domain_of, numbered, standing_still
from emberlog.workers.store.stores import StaticStore
from emberlog.workers.wire.messages import Mail, Progress, Running, added

LARGEST_NUMBER = 2**31 - 1
"""Steps are numbered in 32 bits."""

LEFT, RIGHT = 0, 1

_STEPS, _NUMBERED = "steps", "numbered"

Made = TypeVar("Made")

_log = logging.getLogger("emberlog")


class Solution(Protocol):
    """Runs a recursion in one representation."""

    def run(self) -> Running: ...

    def batches(self) -> Iterator[list[Lane]]: ...

    def count(self) -> int: ...


class FactoredWorker(Worker, KeepsHistory):
    """Chooses a representation, and runs it. Every worker knows all steps, numbers all values the same way, and so
    takes the same decisions."""

    def __init__(
        self,
        task: WorkerTask,
        statics: Mapping[str, StaticStore],
        report: Callable[[Progress], None] = lambda _: None,
        *,
        factored: Factored,
        representation: Representation = Representation.AUTO,
        memory: int = MATRIX_MEMORY,
    ) -> None:
        super().__init__(task, statics, report)
        self.factored = factored
        self.asked_for = representation
        self.memory = memory
        self.choice: Choice | None = None
        """Known once the worker has seen its data; `why` is a line for people."""
        self.solution: Solution | None = None

    @property
    def grouped_by(self) -> tuple[int, ...]:
        """Returns the columns in which a batch of results is constant over long runs; none when facts are hashed."""
        if self.choice is None or self.choice.representation is Representation.HASH:
            return ()
        columns = self.factored.relation.columns
        return tuple(number for number, column in enumerate(columns) if column.lane in self.factored.left)

    def run(self) -> Running:
        recorder = self.recorder
        seeds = [
            (lanes, None if recorder is None else recorder.current)
            for _, one in self.seed_contributions()
            for lanes in written_out(one)
        ]
        if self.asked_for is Representation.HASH:
            self.choice = Choice(Representation.HASH, "hash: asked for")
        elif (step_lanes := self._alike(_STEPS, self._all_steps)) is None:
            self.choice = Choice(Representation.HASH, "hash: the steps of a rule are many more than the facts it reads")
        else:
            yield from self._choose(joined([lanes for lanes, _ in seeds], self.factored.relation.width), step_lanes)
        if self.solution is None:
            self.solution = _HashedRows(self, seeds)
        if self.task.number == 0 and self.choice is not None:
            _log.info("%s: %s", self.factored.relation.name, self.choice.why)
        yield from self.solution.run()

    @property
    def closure(self) -> Closure | None:
        """Returns the solution, if its facts are found while they are listed."""
        return self.solution if isinstance(self.solution, Closure) else None

    @property
    def is_sooner_counted(self) -> bool:
        """Tells whether the facts are bits, which are counted in far less time than listed."""
        return isinstance(self.solution, BitsClosure | BitMatrix)

    @property
    def in_rounds(self) -> RoundsWorker | None:
        """Returns the worker that goes in rounds, if facts are hashed."""
        return self.solution if isinstance(self.solution, _HashedRows) else None

    def results(self, relation: str) -> Iterator[list[Lane]]:
        assert self.solution is not None
        return self.solution.batches()

    def result_count(self, relation: str) -> int:
        assert self.solution is not None
        return self.solution.count()

    def known(self, relation: str) -> Iterator[Lanes]:
        """Closures keep nothing: what they find goes out as they find it."""
        match self.solution:
            case _HashedRows() as hashed:
                yield from hashed.known(relation)
            case BitMatrix() as matrix:
                places = [column.lane for column in self.factored.relation.columns]
                for columns in matrix.batches():
                    yield np.stack([columns[places.index(lane)] for lane in range(len(places))])
            case _:
                return

    @property
    def spilled(self) -> str:
        return self.solution.spilled if isinstance(self.solution, _HashedRows) else ""

    def history(self, relation: str) -> Iterator[HistoryBatch]:
        match self.solution:
            case _HashedRows() as hashed:
                return hashed.history(relation)
            case MarksClosure() | BitMatrix() as solution:
                return solution.history()
            case _:
                raise InternalError(f"DL902: the history of {relation} was not recorded")

    def watch(self, progress: Progress) -> None:
        self.report(progress)
        self.check_limits(progress)

    def _count(self, rule: int | None, iteration: int, kept: int, seconds: float) -> None:
        """Notes facts that are new, for a profile; those of all rules together, if none is named."""
        if self.recorder is None:
            return
        names = [one.name for one in (self.factored.rules if rule is None else self.factored.rules[rule : rule + 1])]
        if iteration == 0:
            facts = ["facts"] if any(one.rows for one in self.program.facts) else []
            names = [*facts, *dict.fromkeys(runner.chain.name for runner in self.seeds)]
        self.recorder.bits(", ".join(names), self.factored.relation.name, iteration, kept, seconds)

    # Steps

    def _all_steps(self) -> list[tuple[Lanes | None, Lanes | None]] | None:
        """Returns the step relation of each rule and side; None if there are too many to be worth it."""
        result: list[tuple[Lanes | None, Lanes | None]] = []
        for rule in self.factored.rules:
            sides: list[Lanes | None] = []
            for chain in (rule.left, rule.right):
                lanes = self._steps(chain) if chain is not None else None
                if chain is not None and lanes is None:
                    return None
                sides.append(lanes)
            result.append((sides[LEFT], sides[RIGHT]))
        return result

    def _steps(self, chain: RuleChain) -> Lanes | None:
        runner = self.runner(chain, _WholeStatics(self))
        read = sum(self.statics[name].count for name in self.factored.relations_of_steps)
        most = min(MOST_STEPS + 4 * read, LARGEST_NUMBER)
        made: list[Lanes] = []
        count = 0
        for batch in runner.run(runner.first_step, len(chain.steps), runner.start()):
            check()
            made.append(runner.contributions(batch))
            count += batch.rows
            if count > most:
                return None
        return joined(made, len(chain.head))

    # The choice

    def _choose(
        self, seeds: Lanes, step_lanes: Sequence[tuple[Lanes | None, Lanes | None]]
    ) -> Generator[Mail, Mail, None]:
        left_seeds, right_seeds = seeds[list(self.factored.left)], seeds[list(self.factored.right)]
        pairs, rules = yield from self._numbered(left_seeds, right_seeds, step_lanes)
        numbers = np.stack([pairs.left.numbers(left_seeds), pairs.right.numbers(right_seeds)]).astype(np.int64)
        if self._closes_sources():
            own = yield from self._owned(numbers)
            (steps,) = rules
            yield from self._choose_closure(pairs, own, steps.right)
            return
        self.choice = self._matrix_choice(pairs, rules)
        if self.choice.representation is Representation.ROWS:
            own = yield from self._owned(numbers)
            self.solution = BitMatrix(
                rules,
                pairs,
                own,
                self.task.number,
                self.task.workers,
                self.watch,
                tells_of_all=not self.task.placement.is_decomposed,
                checkpoints=self.task.checkpoints,
                keeps_history=self.task.provenance,
                count=self._count,
            )

    def _closes_sources(self) -> bool:
        """Sources are closed without any exchange, so not where rounds are asked for."""
        alone = self.task.placement.is_decomposed or self.task.workers == 1
        return alone and self.factored.is_one_sided and self.asked_for is not Representation.ROWS

    def _numbered(
        self, left_seeds: Lanes, right_seeds: Lanes, step_lanes: Sequence[tuple[Lanes | None, Lanes | None]]
    ) -> Generator[Mail, Mail, tuple[Pairs, Sequence[RuleSteps]]]:
        """Returns all values that a side can have, those of everyone's seeds and those that steps lead to, as numbers,
        and the steps between these: of each rule, or where sources are closed of all together."""
        mail = self.empty_mail()
        for channel, seeds in ((LEFT, left_seeds), (RIGHT, right_seeds)):
            values = domain_of([seeds], len(seeds)).values
            for message in mail:
                message.batches[channel] = values
        received = yield mail
        self.task.alike.forget(_STEPS)

        def made() -> tuple[Pairs, Sequence[RuleSteps]]:
            left = numbered(gather(received, LEFT, len(left_seeds)), [lanes for lanes, _ in step_lanes])
            right = numbered(gather(received, RIGHT, len(right_seeds)), [lanes for _, lanes in step_lanes])
            if left.domain.count >= FEW_SOURCES:
                left, right = left.with_neighbours_together(), right.with_neighbours_together()
            pairs = Pairs(self.factored, left.domain, right.domain)
            if self._closes_sources():
                return pairs, [RuleSteps(standing_still(left.domain.count), right.all_steps())]
            return pairs, [RuleSteps(left.steps(rule), right.steps(rule)) for rule in range(len(step_lanes))]

        return self._alike(_NUMBERED, made)

    def _alike(self, name: str, make: Callable[[], Made]) -> Made:
        """Returns what all workers make alike; each by itself where somebody counts what they do."""
        return make() if self.recorder is not None else self.task.alike.get(name, make)

    def _owned(self, pairs: Lanes) -> Generator[Mail, Mail, Lanes]:
        """Returns the pairs of numbers whose left number is this worker's, from all workers."""
        mail = self.empty_mail()
        for worker, message in enumerate(mail):
            message.batches[LEFT] = pairs[:, pairs[0] % self.task.workers == worker]
        received = yield mail
        return gather(received, LEFT, 2)

    def _choose_closure(self, pairs: Pairs, own: Lanes, steps: Steps) -> Generator[Mail, Mail, None]:
        sources = grouped(own[0], own[1], pairs.left.count)
        if self.asked_for is Representation.AUTO and self.task.provenance:
            self.choice = Choice(Representation.MARKS, "marks: they tell in which iteration a fact came")
        elif self.asked_for is Representation.AUTO:
            sample = yield from self._sample_of_all(steps, sources)
            self.choice = choose_closure(sample, pairs.right.count)
        else:
            self.choice = Choice(self.asked_for, f"{self.asked_for.value}: asked for")
        settings = (steps, sources, pairs, self.check_limits, self.report, self.memory // 2, self._count)
        is_lanes = self.choice.representation is Representation.LANES
        self.solution = BitsClosure(*settings) if is_lanes else MarksClosure(*settings)

    def _sample_of_all(self, steps: Steps, sources: Sources) -> Generator[Mail, Mail, ClosureSample]:
        mine = sampled(steps, sources)
        received = yield self.empty_mail(mine.sources, mine.sampled, mine.facts, mine.steps, mine.visits)
        return ClosureSample(*added(received))

    def _matrix_choice(self, pairs: Pairs, rules: Sequence[RuleSteps]) -> Choice:
        if self.asked_for is Representation.ROWS:
            return Choice(Representation.ROWS, "rows: asked for")
        going_on = np.full(pairs.left.count, self.task.provenance)
        for rule in rules:
            going_on |= rule.left.has_steps()
        size = MatrixSize(pairs.left.count, pairs.right.count, int(going_on.sum()))
        choice = choose_matrix(size, self.task.workers, self.memory)
        if self.asked_for is Representation.AUTO:
            return choice
        return Choice(
            choice.representation, f"{choice.why}; {self.asked_for.value} needs a decomposed plan with a free column"
        )


class _WholeStatics(RelationAccess):
    """Reads relations that do not change, with no regard to a worker's share of them."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.members = worker.members

    def started(self, atom: Atom) -> Iterator[list[Lane]]:
        rows = self.worker.statics[atom.relation].all
        for begin in range(0, rows.shape[1], BATCH):
            yield list(rows[:, begin : begin + BATCH])

    def matches(self, atom: Atom, keys: tuple[int, ...], values: Lanes) -> Iterator[Matches]:
        return self.worker.matches(atom, keys, values)

    def column(self, atom: Atom, keys: tuple[int, ...], column: int, rows: Lane) -> Lane:
        return self.worker.column(atom, keys, column, rows)

    def intersection(self, step: Intersect) -> Intersection:
        return self.worker.intersection(step)

    def refuted(self, relation: str, keys: tuple[int, ...], values: Lanes) -> Mask:
        return self.worker.refuted(relation, keys, values)


class _HashedRows(RoundsWorker):
    """Runs the recursion in rounds, with the seeds that are known already."""

    def __init__(self, worker: FactoredWorker, seeds: list[tuple[Lanes, Counts | None]]) -> None:
        super().__init__(worker.task, worker.statics, worker.report)
        self.began = worker.began
        self.static_indexes = worker.static_indexes
        self.recorder = worker.recorder
        self.known_seeds = seeds
        self.relation = worker.factored.relation.name

    def seed_contributions(self) -> Iterator[tuple[str, Lanes]]:
        while self.known_seeds:  # each can go when it is entered
            lanes, counts = self.known_seeds.pop()
            if self.recorder is not None and counts is not None:
                self.recorder.current = counts
            yield self.relation, lanes

    def batches(self) -> Iterator[list[Lane]]:
        return self.results(self.relation)

    def count(self) -> int:
        return self.result_count(self.relation)
