"""Random programs on the cyclic workers of this process: one answer, whatever their number and wherever facts live.

`EMBERLOG_EXAMPLES` sets the number of programs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from unittest.mock import patch

from hypothesis import given

from emberlog.config import Execution
from emberlog.logical.nodes import Fixpoint, PlannedStratum
from emberlog.logical.statistics import Statistics
from emberlog.optimize.pipeline import plan_program
from emberlog.semantics.model import RecursionCase
from emberlog.workers.plan.capabilities import obstacles
from emberlog.workers.plan.compile import CyclicProgram
from emberlog.workers.plan.placement import Copies
from emberlog.workers.plan.worker_plan import WorkerPlanner
from tests.local_runs import SETUPS, run_locally
from tests.property.programs import RandomProgram
from tests.property.shapes import programs
from tests.property.test_programs import LIMITS, SURE_DIGITS, assert_same, by_reference, outcome, properties, read
from tests.statistics import counted


@given(programs())
@properties
def test_every_set_up_gives_the_answer_of_the_reference(random: RandomProgram) -> None:
    program = read(random)
    expected = by_reference(program, random, SURE_DIGITS)
    plan = plan_program(program, statistics=counted(program, random.facts)).plan
    for name, execution in SETUPS.items():
        found = outcome(partial(run_locally, plan, random.facts, LIMITS, execution), SURE_DIGITS)
        assert_same(found, expected, name)


def counts_rounds(stratum: PlannedStratum) -> bool:
    cases = (RecursionCase.STAGED, RecursionCase.BOUNDED)
    return isinstance(stratum.root, Fixpoint) and stratum.root.recursion.case in cases


@contextmanager
def every_key_is_hot() -> Iterator[None]:
    with patch.multiple("emberlog.workers.store.hot_keys", FEWEST_HOT=0, HOT_SHARE=1e-9):
        yield


def nothing_fits(_: WorkerPlanner, compiled: Iterable[CyclicProgram], __: Statistics) -> Copies:
    return Copies({name: 1 << 40 for one in compiled for name in one.statics}, 0)


@given(programs())
@properties
def test_what_is_read_may_be_too_large_to_be_everywhere_and_its_keys_hot(random: RandomProgram) -> None:
    program = read(random)
    expected = by_reference(program, random)
    plan = plan_program(program).plan
    with patch.object(WorkerPlanner, "_copies", nothing_fits), every_key_is_hot():
        for workers, mode in ((2, "auto"), (3, "bsp"), (2, "async")):
            if mode == "async" and any(map(counts_rounds, plan.strata)):
                continue
            execution = Execution(workers=workers, mode=mode)
            found = outcome(partial(run_locally, plan, random.facts, LIMITS, execution))
            assert_same(found, expected, f"{workers} workers, {mode}")


@given(programs())
@properties
def test_without_the_optimizer_the_workers_give_the_same_answer(random: RandomProgram) -> None:
    """Plans then have constants, projections and filters in places where the optimizer would not leave them."""
    program = read(random)
    plan = plan_program(program, off=frozenset({"push_down_filter", "fold_constants", "simplify"})).plan
    found = outcome(partial(run_locally, plan, random.facts, LIMITS, SETUPS["cyclic-2"]), SURE_DIGITS)
    assert_same(found, by_reference(program, random, SURE_DIGITS), "cyclic-2")


def test_most_recursions_of_random_programs_are_for_the_workers() -> None:
    """Otherwise the properties above would compare the interpreter with the reference, and say nothing."""
    refused = accepted = 0

    @given(programs())
    @properties
    def look(random: RandomProgram) -> None:
        nonlocal refused, accepted
        for stratum in plan_program(read(random)).plan.strata:
            if isinstance(stratum.root, Fixpoint):
                refused += bool(obstacles(stratum.root))
                accepted += not obstacles(stratum.root)

    look()
    assert accepted > refused
