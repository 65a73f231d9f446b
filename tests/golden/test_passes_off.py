"""Every golden case with each pass off in turn, and planned by statistics, right and wrong ones: one answer."""

from __future__ import annotations

import pytest

from emberlog.engines.interpreter import interpreter
from emberlog.io.facts import in_order, read_facts
from emberlog.optimize.pipeline import PASS_NAMES, plan_program
from tests.golden.corpus import GoldenCase
from tests.golden.test_golden import WITH_ANSWERS, assert_same_facts, by_name
from tests.property.made_up_statistics import made_up
from tests.statistics import counted


@pytest.mark.parametrize("case", WITH_ANSWERS, ids=by_name)
def test_answers(case: GoldenCase) -> None:
    prepared = case.prepare()
    statistics = counted(prepared.checked, prepared.inputs)
    plans = [
        plan_program(prepared.checked, statistics=statistics).plan,
        plan_program(prepared.checked, statistics=made_up(prepared.checked)).plan,
        *(plan_program(prepared.checked, off={name}).plan for name in PASS_NAMES),
    ]
    seen = [plan_program(prepared.checked).plan]  # which runs with the other tests of the case
    for plan in plans:
        if plan in seen:
            continue
        seen.append(plan)
        answers = interpreter.run(plan, prepared.inputs, prepared.limits)
        for name, path in case.expected_answers.items():
            expected = read_facts(path, prepared.checked.relations[name].columns)
            assert_same_facts(expected, sorted(answers[name], key=in_order))
