"""The ways to run a program in this process: each takes a program as data and gives what came out."""

from __future__ import annotations

import signal
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any, TypeAlias

from emberlog.config import Execution, Limits
from emberlog.database import Database
from emberlog.datatypes import TYPE_NAMES, DataType
from emberlog.diagnostics import EmberlogError, Severity
from emberlog.engines.interpreter import interpreter
from emberlog.io.local_relation import LocalRelation
from emberlog.logical.build import build
from emberlog.logical.nodes import Fixpoint, LogicalPlan
from emberlog.logical.statistics import Statistics
from emberlog.optimize.pipeline import PASS_NAMES, plan_program
from emberlog.semantics.model import CheckedProgram, Column, Fact
from emberlog.workers.plan.capabilities import obstacles
from emberlog.workers.plan.compile import compile_fixpoint
from emberlog.workers.plan.mode import needs_rounds
from tests.crosscheck.compare import Answered, Crashed, Failed, Outcome
from tests.crosscheck.programs import Program, Value
from tests.crosscheck.times import decimal_of, from_microseconds, microseconds, scale_of, whole
from tests.local_runs import SETUPS, run_locally
from tests.oracle import evaluate as reference
from tests.programs import checked
from tests.property.made_up_statistics import made_up
from tests.simulated_post import simulated
from tests.statistics import counted

LIMITS = Limits(max_iterations=2_000, max_rows=100_000, timeout=60)
PATIENCE = 10.0
ASYNC_LIMITS = Limits(max_iterations=50_000, max_rows=100_000, timeout=60)

Answers: TypeAlias = Mapping[str, frozenset[Fact]]
Engine: TypeAlias = Callable[[Program], Outcome]
"""Raises NotApplicable where it cannot run the program at all."""


class NotApplicable(Exception):
    """The engine has no way to run such a program, and says so: no recursion without rounds, for example."""


class TooLong(Exception):
    """The engine computes and computes."""


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Raises TooLong after so many seconds of processor time: a limit of the run itself may not be heeded."""

    def stop(number: int, frame: object) -> None:
        raise TooLong(f"{seconds:.0f} seconds of processor time were not enough")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def outcome(run: Callable[[], Answers]) -> Outcome:
    """What came out: answers, the code of the first error, or where a traceback began."""
    try:
        with patience(PATIENCE):
            return Answered({name: frozenset(facts) for name, facts in run().items()})
    except EmberlogError as error:
        first = next(one for one in error.diagnostics if one.severity is Severity.ERROR)
        if first.code.startswith("DL9"):
            return Crashed(f"{first.code}: {first.message}")
        return Failed(first.code, first.message)
    except NotApplicable:
        raise
    except TooLong as error:
        return Crashed(f"no end: {error}")
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = place.filename.rsplit("/src/", 1)[-1]
        return Crashed(f"{type(error).__name__} in {where}, {place.name}: {error} (line {place.lineno})")


def type_named(text: str) -> DataType:
    """Returns the type that programs of the generator call so: a plain one, a decimal, or a list or pair of plain
    ones."""
    name, _, inside = text.removesuffix(">").partition("<")
    if inside:
        return DataType(name, tuple(map(type_named, inside.split(", "))))
    return DataType("decimal", scale=int(text[8:-1])) if text.startswith("decimal(") else TYPE_NAMES[text]


def read(program: Program) -> CheckedProgram:
    columns = {
        one.name: [Column(f"c{place}", type_named(type_)) for place, type_ in enumerate(one.types)]
        for one in program.inputs
        if not one.is_inline and not one.is_declared
    }
    return checked(program.text, params={}, inputs=columns)


def raw(program: Program) -> dict[str, list[Fact]]:
    """The registered rows as engines keep them: moments, durations and decimals are ints."""
    return {one.name: [tuple(map(_raw, row)) for row in one.rows] for one in program.inputs if not one.is_inline}


def _raw(value: Value) -> Any:
    match value:
        case date():
            return whole(value)
        case timedelta():
            return microseconds(value)
        case Decimal():
            return int(value.scaleb(scale_of(value)))
        case _:
            return value


def in_python(program: CheckedProgram, answers: Answers) -> Answers:
    """The answers with values as Python knows them, by the types of their columns."""
    return {
        name: frozenset(
            tuple(
                _shown(value, column.type) for value, column in zip(row, program.relations[name].columns, strict=True)
            )
            for row in rows
        )
        for name, rows in answers.items()
    }


def _shown(value: Any, type_: DataType) -> Any:
    if value is None or not type_.is_told_by_type:
        return value
    match type_.name:
        case "date":
            return from_microseconds(value * 86_400_000_000).date()
        case "timestamp":
            return from_microseconds(value)
        case "duration":
            return timedelta(microseconds=value)
        case "decimal":
            return decimal_of(Fraction(value, 10 ** (type_.scale or 0)), type_.scale or 0)
        case name:
            parts = type_.parts * len(value) if name == "list" else type_.parts
            return tuple(map(_shown, value, parts))


def without_zone(value: Any) -> Any:
    """A value of a database, whose timestamps say that they are in UTC."""
    if isinstance(value, tuple):
        return tuple(map(without_zone, value))
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


def _by_reference(program: Program) -> Answers:
    return reference.evaluate(read(program), raw(program), LIMITS)


def _as_built(program: Program) -> Answers:
    return interpreter.run(build(read(program)), raw(program), LIMITS)


def planned(program: Program) -> LogicalPlan:
    """With statistics that are right, as if the data were large, wrong, or missing."""
    read_program = read(program)
    right = counted(read_program, raw(program))
    chance = Random(len(program.text))
    known = chance.choice((right, _enlarged(right), made_up(read_program), {}))
    return plan_program(read_program, statistics=known).plan


def _enlarged(statistics: Statistics) -> Statistics:
    """A thousand times the data: what is not worth while for a few rows is planned."""
    return {
        name: replace(
            one,
            rows=1000 * one.rows,
            columns=tuple(replace(column, distinct=1000 * column.distinct, frequent={}) for column in one.columns),
        )
        for name, one in statistics.items()
    }


def _interpreted(program: Program) -> Answers:
    return interpreter.run(planned(program), raw(program), LIMITS)


def _without_a_pass(program: Program) -> Answers:
    read_program = read(program)
    off = frozenset({Random(program.text).choice(PASS_NAMES)})
    known = counted(read_program, raw(program))
    return interpreter.run(plan_program(read_program, off=off, statistics=known).plan, raw(program), LIMITS)


def _by_workers(execution: Execution) -> Callable[[Program], Answers]:
    def run(program: Program) -> Answers:
        return run_locally(planned(program), raw(program), LIMITS, execution)

    return run


def goes_without_rounds(plan: LogicalPlan) -> bool:
    """Tells whether workers run some recursion of the plan, and none of these needs rounds."""
    recursions = [stratum.root for stratum in plan.strata if isinstance(stratum.root, Fixpoint)]
    run_by_workers = [compile_fixpoint(one) for one in recursions if not obstacles(one)]
    return bool(run_by_workers) and all(needs_rounds(one) is None for one in run_by_workers)


def _without_rounds(workers: int) -> Callable[[Program], Answers]:
    def run(program: Program) -> Answers:
        plan = planned(program)
        if not goes_without_rounds(plan):
            raise NotApplicable
        with simulated(len(program.text)):
            return run_locally(plan, raw(program), ASYNC_LIMITS, Execution(workers=workers, mode="async"))

    return run


def _by_database(program: Program) -> Answers:
    db: Database[LocalRelation] = Database(engine="local")
    for name, rows in program.registered.items():
        db[name] = list(rows)
    result = db.datalog(program.text, limits=LIMITS)
    return {name: frozenset(tuple(map(without_zone, row)) for row in result[name].collect()) for name in result}


_RUNS: Mapping[str, Callable[[Program], Answers]] = {
    "reference": _by_reference,
    "plan as built": _as_built,
    "interpreter": _interpreted,
    "without a pass": _without_a_pass,
    "1 worker": _by_workers(SETUPS["cyclic-1"]),
    "2 workers": _by_workers(SETUPS["cyclic-2"]),
    "3 workers": _by_workers(SETUPS["cyclic-3"]),
    "decomposed": _by_workers(SETUPS["decomposed"]),
    "without rounds": _without_rounds(2),
    "database": _by_database,
}


def _engine(name: str, run: Callable[[Program], Answers]) -> Engine:
    if name == "database":
        return lambda program: outcome(lambda: run(program))
    return lambda program: outcome(lambda: in_python(read(program), run(program)))


IN_PROCESS: Mapping[str, Engine] = {name: _engine(name, run) for name, run in _RUNS.items()}
