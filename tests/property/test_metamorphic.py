"""Programs written differently have the same answer, optimised or not, with each pass and without.

`EMBERLOG_EXAMPLES` sets the number of programs; `python3 dev.py metamorphic` runs 1,000 for each kind of change.
"""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, assume, given, reject, seed, settings
from hypothesis import strategies as st

from emberlog.diagnostics import EmberlogError
from emberlog.logical.build import build
from emberlog.optimize.pipeline import PASS_NAMES, RULE_PASSES, plan_program
from tests.property.made_up_statistics import made_up
from tests.property.metamorphoses import METAMORPHOSES, Metamorphosis
from tests.property.programs import RandomProgram
from tests.property.rewritable_shapes import rewritable_programs
from tests.property.shapes import programs
from tests.property.test_programs import Answers, by_plan, by_reference, properties, read
from tests.statistics import counted


@pytest.mark.parametrize("metamorphosis", METAMORPHOSES, ids=lambda one: one.__name__)
def test_a_program_written_differently_has_the_same_answer(metamorphosis: Metamorphosis) -> None:
    @seed(20261115)
    @given(st.one_of(programs(), rewritable_programs()), st.data())
    @properties
    def check(random: RandomProgram, data: st.DataObject) -> None:
        program = read(random)
        expected = by_reference(program, random)
        assume(not isinstance(expected, str))  # which of two comes first is nobody's business
        changed = metamorphosis(data.draw, random, program)
        try:
            rewritten = read(changed)
        except EmberlogError:
            reject()  # such as an aggregated value that is read twice in its recursion
        statistics = counted(rewritten, random.facts)
        off = data.draw(st.sampled_from((None, *PASS_NAMES)), "a pass that is off")
        plans = {
            "rule by rule": build(rewritten),
            "optimised": plan_program(rewritten).plan,
            "with statistics": plan_program(rewritten, statistics=statistics).plan,
            "with wrong ones": plan_program(rewritten, statistics=made_up(rewritten)).plan,
            f"without {off}": plan_program(rewritten, off={off} if off else set(), statistics=statistics).plan,
        }
        for what, plan in plans.items():
            found = by_plan(plan, random)
            assert _as_asked(found, expected) == expected, what

    check()


def _as_asked(found: Answers | str, expected: Answers | str) -> Answers | str:
    """Without the relations that only the other writing has."""
    if isinstance(found, str) or isinstance(expected, str):
        return found
    return {name: facts for name, facts in found.items() if name in expected}


def test_random_programs_give_every_pass_that_rewrites_bodies_something_to_do() -> None:
    """Otherwise the tests above would show nothing about it."""
    changed: Counter[str] = Counter()

    @seed(20261115)
    @given(rewritable_programs())
    @settings(max_examples=400, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    def look(random: RandomProgram) -> None:
        program = read(random)
        optimized = plan_program(program, statistics=made_up(program))
        changed.update(change.name for change in optimized.changes if change.changed)

    look()
    of_plans = {"aggregate_eagerly", "ask_for_existence", "reduce_by_semijoin", "reorder_joins"}
    rewriting = {one.name for one in RULE_PASSES} | of_plans
    assert {name for name in rewriting if changed[name] < 3} == set()
