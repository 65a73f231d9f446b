"""Random recursions that only grow or improve, without rounds: the reference's answer, whenever messages arrive.

`EMBERLOG_EXAMPLES` sets the number of programs; `python3 dev.py async-full` takes 1,000.
"""

from __future__ import annotations

import os
from functools import partial

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from emberlog.config import Execution, Limits
from emberlog.logical.nodes import Fixpoint, LogicalPlan
from emberlog.optimize.pipeline import plan_program
from emberlog.workers.plan.capabilities import obstacles
from emberlog.workers.plan.compile import compile_fixpoint
from emberlog.workers.plan.mode import needs_rounds
from tests.local_runs import run_locally
from tests.property.programs import RandomProgram
from tests.property.shapes import programs
from tests.property.test_programs import SURE_DIGITS, assert_same, by_reference, outcome, properties, read
from tests.simulated_post import simulated

LIMITS = Limits(max_iterations=20_000, max_rows=200_000)
"""Iterations are local rounds here: a worker that hears of facts one by one has many of them."""

searched = settings(properties, max_examples=int(os.environ.get("EMBERLOG_EXAMPLES", "40")))


def is_monotone(plan: LogicalPlan) -> bool:
    """Whether workers run some recursion of the plan, and each of them can go without rounds."""
    recursions = [stratum.root for stratum in plan.strata if isinstance(stratum.root, Fixpoint)]
    run_by_workers = [compile_fixpoint(one) for one in recursions if not obstacles(one)]
    return bool(run_by_workers) and all(needs_rounds(program) is None for program in run_by_workers)


@given(random=programs(), seed=st.integers(0, 2**32))
@searched
def test_without_rounds_the_answer_is_that_of_the_reference(random: RandomProgram, seed: int) -> None:
    program = read(random)
    plan = plan_program(program).plan
    assume(is_monotone(plan))
    expected = by_reference(program, random, SURE_DIGITS)
    for workers in (1, 2, 3, 5):
        execution = Execution(workers=workers, mode="async")
        with simulated(seed):
            found = outcome(partial(run_locally, plan, random.facts, LIMITS, execution), SURE_DIGITS)
        assert_same(found, expected, f"{workers} workers")
