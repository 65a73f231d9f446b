"""Golden programs whose recursions are broken off and gone on with from checkpoints, in every mode."""

from __future__ import annotations

import os
from contextlib import nullcontext

import pytest

from emberlog.config import Execution
from emberlog.diagnostics import EmberlogError
from emberlog.io.facts import in_order, read_facts
from emberlog.logical.needed_strata import needed_strata
from emberlog.logical.nodes import Fixpoint, LogicalPlan
from emberlog.semantics.model import RecursionCase
from emberlog.workers.plan.capabilities import obstacles
from tests.golden.corpus import GoldenCase, all_cases
from tests.golden.test_golden import assert_same_facts, planned
from tests.interrupted_runs import broken_off
from tests.local_runs import run_locally

SETUPS = {
    "bsp": Execution(workers=2, mode="bsp"),
    "bsp, hash": Execution(workers=3, mode="bsp", representation="hash"),
    "decomposed": Execution(workers=3, representation="hash"),
    "async": Execution(workers=3, mode="async"),
}
WITH_ANSWERS = [case for case in all_cases() if case.expected_answers]
IS_COMPLETE = "EMBERLOG_EXAMPLES" in os.environ
RUNS = [
    (case, setup, after, every)
    for number, case in enumerate(WITH_ANSWERS)
    for place, setup in enumerate(SETUPS)
    for after, every in ((1, 1), (3, 2))
    if IS_COMPLETE or number % (2 * len(SETUPS)) == 2 * place + every - 1
]
"""Each case once, or with everything."""


def needs_rounds(plan: LogicalPlan) -> bool:
    """Whether the workers run a recursion of the plan that goes by rounds or stages."""
    cases = (RecursionCase.BOUNDED, RecursionCase.STAGED)
    recursions = [stratum.root for stratum in needed_strata(plan)[0] if isinstance(stratum.root, Fixpoint)]
    return any(one.recursion.case in cases and not obstacles(one) for one in recursions)


@pytest.mark.parametrize(("case", "setup", "after", "every"), RUNS, ids=lambda one: getattr(one, "name", one))
def test_answers(case: GoldenCase, setup: str, after: int, every: int) -> None:
    prepared = case.prepare()
    plan = planned(prepared)
    refused = pytest.raises(EmberlogError, match="DL334") if setup == "async" and needs_rounds(plan) else None
    with broken_off(after, every), refused or nullcontext():
        answers = run_locally(plan, prepared.inputs, prepared.limits, SETUPS[setup])
    if refused is not None:
        return
    for name, path in case.expected_answers.items():
        expected = read_facts(path, prepared.checked.relations[name].columns)
        assert_same_facts(expected, sorted(answers[name], key=in_order))
