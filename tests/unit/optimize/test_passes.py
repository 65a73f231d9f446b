"""Every pass, alone, on the programs of its fixture file."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from emberlog.logical.build import build
from emberlog.logical.invariants import check_invariants
from emberlog.logical.nodes import LogicalPlan
from emberlog.logical.program_invariants import ProgramInvariants
from emberlog.logical.rule_text import program_lines
from emberlog.optimize.context import PassContext
from emberlog.optimize.pipeline import PASS_NAMES, PASSES, RULE_PASSES
from emberlog.render.plan_text import plan_text
from emberlog.semantics.model import CheckedProgram
from tests.programs import checked
from tests.statistics import written
from tests.unit.optimize.fixture_file import FIXTURES, Case, read_cases, write_cases

RULE_PASS_NAMES = tuple(one.name for one in RULE_PASSES)


def run_rule_passes(program: CheckedProgram, case: Case, names: tuple[str, ...]) -> CheckedProgram:
    invariants = ProgramInvariants(program)
    for one in RULE_PASSES:
        if one.name in names:
            program = one.run(program, written(case.program)).checked
            invariants.check(program, one.name)
            check_invariants(build(program), one.name)
    return program


def run_passes(plan: LogicalPlan, names: tuple[str, ...]) -> LogicalPlan:
    for one in PASSES:
        if one.name in names:
            plan = one.run(plan, PassContext())
            check_invariants(plan, one.name)
    return plan


def shown(plan: LogicalPlan, other: LogicalPlan) -> str:
    """The strata in which the plans differ, or all of the plan where strata come or go; types are left out."""
    kept = plan.strata
    if len(plan.strata) == len(other.strata):
        kept = tuple(one for one, two in zip(plan.strata, other.strata, strict=True) if one != two)
    inputs = plan.inputs if plan.inputs != other.inputs else {}
    return plan_text(replace(plan, strata=kept, inputs=inputs, outputs=(), queries=())) or "(the same)"


def planned(program: CheckedProgram, case: Case) -> LogicalPlan:
    return replace(build(program), statistics=written(case.program))


def before_and_after(name: str, case: Case) -> tuple[str, str]:
    """The rules, for a pass that goes from rules to rules; otherwise the plans."""
    program = run_rule_passes(checked(case.program, params={}), case, case.passes_first)
    if name in RULE_PASS_NAMES:
        rewritten = run_rule_passes(program, case, (name,))
        rules = "\n".join(program_lines(program))
        return rules, "(the same)" if rewritten is program else "\n".join(program_lines(rewritten))
    before = run_passes(planned(program, case), case.passes_first)
    after = run_passes(before, (name,))
    if after is before:
        everything = plan_text(replace(before, inputs={}, outputs=(), queries=()))
        return everything, "(the same)"
    return shown(before, after), shown(after, before)


def update_fixtures(name: str) -> None:
    cases = []
    for case in read_cases(name):
        before, after = before_and_after(name, case)
        cases.append(replace(case, before=before, after=after))
    write_cases(name, cases)


if os.environ.get("EMBERLOG_UPDATE"):
    for pass_name in PASS_NAMES:
        update_fixtures(pass_name)

ALL_CASES = [(name, case) for name in PASS_NAMES for case in read_cases(name)]


@pytest.mark.parametrize(("name", "case"), ALL_CASES, ids=lambda value: getattr(value, "title", value))
def test_pass_gives_the_plan_of_its_fixture(name: str, case: Case) -> None:
    assert before_and_after(name, case) == (case.before, case.after)


@pytest.mark.parametrize(("name", "case"), ALL_CASES, ids=lambda value: getattr(value, "title", value))
def test_pass_returns_the_same_object_when_it_has_nothing_to_do(name: str, case: Case) -> None:
    program = run_rule_passes(checked(case.program, params={}), case, (*case.passes_first, name))
    if name in RULE_PASS_NAMES:
        if name != "rewrite_demand":  # which does not ask whether somebody ran it before
            assert run_rule_passes(program, case, (name,)) is program
        return
    done = run_passes(planned(program, case), (*case.passes_first, name))
    if name != "derive_delta_rules":  # nor does this
        assert run_passes(done, (name,)) is done


def test_every_pass_has_a_fixture_file_and_every_fixture_file_a_pass() -> None:
    assert sorted(path.stem for path in FIXTURES.glob("*.txt")) == sorted(PASS_NAMES)
