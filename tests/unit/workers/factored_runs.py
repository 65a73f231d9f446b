"""Runs recursions that factor, with a representation of the test's choice, and compares them with the reference."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from emberlog.config import DEFAULT_LIMITS, Limits
from emberlog.datatypes import STRING, DataType
from emberlog.logical.build import build
from emberlog.logical.nodes import Fixpoint
from emberlog.optimize.pipeline import optimize
from emberlog.semantics.model import CellValue, Fact
from emberlog.workers.fixpoint.factored_worker import FactoredWorker
from emberlog.workers.fixpoint.rounds import RoundsWorker
from emberlog.workers.fixpoint.team import run_workers
from emberlog.workers.fixpoint.worker import Worker, WorkerTask
from emberlog.workers.kernels.lanes import Lanes
from emberlog.workers.kernels.tuning import MATRIX_MEMORY
from emberlog.workers.plan.compile import CyclicProgram, compile_fixpoint
from emberlog.workers.plan.factored import factor
from emberlog.workers.plan.mode import Mode
from emberlog.workers.plan.placement import place
from emberlog.workers.plan.representation import Choice, Representation
from emberlog.workers.store.stores import StaticStore
from emberlog.workers.store.texts import TextCodes
from emberlog.workers.wire.messages import Progress
from tests.oracle.evaluate import evaluate
from tests.programs import checked

Inputs = Mapping[str, Iterable[Fact]]

W = TypeVar("W", bound=Worker)

DENSE = (Representation.MARKS, Representation.LANES, Representation.ROWS)
WORKERS = (1, 2, 3, 5)

TC = "declare arc(int a, int b). tc(X, Y) :- arc(X, Y). tc(X, Y) :- tc(X, Z), arc(Z, Y)."
SG = """
declare arc(int a, int b).
sg(X, Y) :- arc(P, X), arc(P, Y), X != Y.
sg(X, Y) :- arc(A, X), sg(A, B), arc(B, Y).
"""


@dataclass(slots=True)
class Ran:
    """What workers did; everything by worker."""

    rows: list[list[Fact]] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    reports: list[list[Progress]] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)
    grouped_by: list[tuple[int, ...]] = field(default_factory=list)

    @property
    def facts(self) -> frozenset[Fact]:
        return frozenset(fact for rows in self.rows for fact in rows)


def compiled(text: str) -> CyclicProgram:
    """The one recursion of a program."""
    plan = optimize(build(checked(text))).plan
    (fixpoint,) = (stratum.root for stratum in plan.strata if isinstance(stratum.root, Fixpoint))
    return compile_fixpoint(fixpoint)


def ran(
    text: str,
    inputs: Inputs,
    representation: Representation = Representation.AUTO,
    workers: int = 1,
    *,
    decompose: bool = True,
    limits: Limits = DEFAULT_LIMITS,
    memory: int = MATRIX_MEMORY,
) -> Ran:
    """Runs the recursion of a program by workers for recursions that factor."""
    program = compiled(text)
    factored = factor(program)

    def new(task: WorkerTask, statics: Mapping[str, StaticStore], report: Callable[[Progress], None]) -> FactoredWorker:
        return FactoredWorker(task, statics, report, factored=factored, representation=representation, memory=memory)

    result, team = _driven(program, inputs, new, workers, decompose, limits)
    for worker in team:
        assert worker.choice is not None
        result.choices.append(worker.choice)
        result.grouped_by.append(worker.grouped_by)
    return result


def ran_by_rounds(text: str, inputs: Inputs, workers: int = 1, *, decompose: bool = True) -> Ran:
    """The same by the general worker."""
    return _driven(compiled(text), inputs, RoundsWorker, workers, decompose, DEFAULT_LIMITS)[0]


def _driven(
    program: CyclicProgram,
    inputs: Inputs,
    new: Callable[[WorkerTask, Mapping[str, StaticStore], Callable[[Progress], None]], W],
    workers: int,
    decompose: bool,
    limits: Limits,
) -> tuple[Ran, list[W]]:
    codes = TextCodes()
    statics = {name: _encoded(inputs[name], types, codes) for name, types in program.static_types.items()}
    placement = place(program, mode=None if decompose else Mode.BSP)
    placement = replace(placement, statics=dict.fromkeys(placement.statics))
    result = Ran(reports=[[] for _ in range(workers)])
    team = [
        new(
            WorkerTask(program, placement, number, workers, codes, limits),
            {name: StaticStore(lanes) for name, lanes in statics.items()},
            result.reports[number].append,
        )
        for number in range(workers)
    ]
    run_workers(team)
    (relation,) = program.relations
    types = [column.type for column in relation.columns]
    for worker in team:
        lanes = [batch for batch in worker.results(relation.name)]
        result.rows.append([fact for batch in lanes for fact in _decoded(batch, types, codes)])
        result.counts.append(worker.result_count(relation.name))
    return result, team


def _encoded(facts: Iterable[Fact], types: Sequence[DataType], codes: TextCodes) -> Lanes:
    rows = list(facts)
    lanes = [[_code(row[place], type_, codes) for row in rows] for place, type_ in enumerate(types)]
    return np.array(lanes, np.int64).reshape(len(types), len(rows))


def _code(value: CellValue, type_: DataType, codes: TextCodes) -> int:
    if type_ == STRING:
        return codes.code(str(value))
    assert isinstance(value, int)
    return value


def _decoded(lanes: Sequence[np.ndarray], types: Sequence[DataType], codes: TextCodes) -> Iterable[Fact]:
    columns = [
        codes.decode(lane).to_pylist() if type_ == STRING else lane.tolist()
        for lane, type_ in zip(lanes, types, strict=True)
    ]
    return zip(*columns, strict=True)


def expected(text: str, inputs: Inputs) -> frozenset[Fact]:
    """The answer of the reference evaluator."""
    program = checked(text)
    (answer,) = evaluate(program, inputs).values()
    return answer


def assert_right(text: str, inputs: Inputs, representations: Sequence[Representation] = DENSE) -> None:
    """Every representation, on any number of workers, has each fact of the reference once, and counts it."""
    answer = expected(text, inputs)
    for representation in representations:
        for workers in WORKERS:
            result = ran(text, inputs, representation, workers)
            where = f"{representation.value}, {workers} workers: {result.choices[0].why}"
            assert result.facts == answer, where
            assert sum(map(len, result.rows)) == len(answer), where
            assert result.counts == [len(rows) for rows in result.rows], where
            assert len({choice for choice in result.choices}) == 1, where
