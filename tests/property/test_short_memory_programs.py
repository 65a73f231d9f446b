"""Random programs whose workers are short of memory at odd moments: the answer is that of the reference."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from emberlog.config import Execution
from emberlog.optimize.pipeline import plan_program
from tests.local_runs import run_locally
from tests.property.programs import RandomProgram
from tests.property.shapes import programs
from tests.property.test_programs import LIMITS, assert_same, by_reference, outcome, properties, read
from tests.short_memory import short_memory

PORTION = 16
"""Bytes of memory for each byte that is shipped at a time."""

SETUPS = {
    "one worker": Execution(workers=1, representation="hash", memory=100 * PORTION),
    "one worker, bsp": Execution(workers=1, mode="bsp", representation="hash", memory=PORTION),
    "bsp": Execution(workers=2, mode="bsp", representation="hash", memory=PORTION),
    "bsp, larger portions": Execution(workers=3, mode="bsp", representation="hash", memory=500 * PORTION),
    "decomposed": Execution(workers=3, representation="hash", memory=100 * PORTION),
}


@given(programs(), st.sampled_from(list(SETUPS)), st.integers(0, 2**32), st.sampled_from((0.02, 0.2, 0.6)))
@properties
def test_short_of_memory_the_answer_is_that_of_the_reference(
    random: RandomProgram, setup: str, seed: int, likely: float
) -> None:
    program = read(random)
    plan = plan_program(program).plan
    with short_memory(seed, likely):
        found = outcome(lambda: run_locally(plan, random.facts, LIMITS, SETUPS[setup]))
    assert_same(found, by_reference(program, random), setup)
