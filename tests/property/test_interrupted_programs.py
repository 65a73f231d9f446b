"""Random programs that are broken off and gone on with from checkpoints: the answer is that of the reference."""

from __future__ import annotations

from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from emberlog.config import Execution
from emberlog.optimize.pipeline import plan_program
from tests.interrupted_runs import broken_off, broken_off_within
from tests.local_runs import run_locally
from tests.property.programs import RandomProgram
from tests.property.shapes import programs
from tests.property.test_programs import LIMITS, SURE_DIGITS, assert_same, by_reference, outcome, properties, read

SETUPS = {
    "one worker": Execution(workers=1),
    "bsp": Execution(workers=2, mode="bsp", representation="hash"),
    "bsp, rows": Execution(workers=3, mode="bsp"),
    "decomposed": Execution(workers=3, representation="hash"),
}


@given(programs(), st.sampled_from(list(SETUPS)), st.integers(0, 4), st.integers(1, 3))
@properties
def test_an_interrupted_program_gives_the_answer_of_the_reference(
    random: RandomProgram, setup: str, after: int, every: int
) -> None:
    program = read(random)
    plan = plan_program(program).plan
    with broken_off(after, every):
        found = outcome(partial(run_locally, plan, random.facts, LIMITS, SETUPS[setup]), SURE_DIGITS)
    assert_same(found, by_reference(program, random, SURE_DIGITS), setup)


@given(
    programs(),
    st.sampled_from(list(SETUPS)),
    st.integers(0, 12),
    st.integers(1, 3),
    st.sampled_from((100, 500, 1 << 62)),
)
@properties
def test_a_program_that_is_interrupted_within_rounds(
    random: RandomProgram, setup: str, checkpoints: int, batch: int, portion: int
) -> None:
    program = read(random)
    plan = plan_program(program).plan
    with broken_off_within(checkpoints, batch, portion):
        found = outcome(partial(run_locally, plan, random.facts, LIMITS, SETUPS[setup]), SURE_DIGITS)
    assert_same(found, by_reference(program, random, SURE_DIGITS), setup)
