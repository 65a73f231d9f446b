"""Passes that rewrite bodies, on programs made for them: the answer stays the reference's."""

from __future__ import annotations

from hypothesis import given

from emberlog.optimize.pipeline import PASS_NAMES, plan_program
from tests.property.made_up_statistics import made_up
from tests.property.programs import RandomProgram
from tests.property.rewritable_shapes import rewritable_programs
from tests.property.test_programs import assert_same, by_plan, by_reference, properties, read
from tests.statistics import counted


@given(rewritable_programs())
@properties
def test_each_pass_gives_the_answer_of_the_reference(random: RandomProgram) -> None:
    """Alone, all together, and all but one; with statistics and without."""
    program = read(random)
    expected = by_reference(program, random)
    assert_same(by_plan(plan_program(program).plan, random), expected, "all passes")
    counted_ones, statistics = counted(program, random.facts), made_up(program)
    assert_same(by_plan(plan_program(program, statistics=counted_ones).plan, random), expected, "with statistics")
    assert_same(by_plan(plan_program(program, statistics=statistics).plan, random), expected, "with wrong ones")
    for name in PASS_NAMES:
        alone = plan_program(program, off=set(PASS_NAMES) - {name}, statistics=statistics).plan
        assert_same(by_plan(alone, random), expected, f"only {name}")
        without = plan_program(program, off={name}, statistics=statistics).plan
        assert_same(by_plan(without, random), expected, f"without {name}")
