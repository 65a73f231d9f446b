"""Golden cases of which only the relations that no other reads are asked for: what folds a recursion is then computed
in one go with it, and the answers stay."""

from __future__ import annotations

from dataclasses import replace

from emberlog.events import Event, ExecutorChosen
from emberlog.io.facts import in_order, read_facts
from emberlog.logical.nodes import LogicalPlan
from emberlog.logical.traverse import plans_of, scans
from tests.golden.corpus import GoldenCase, all_cases
from tests.golden.test_golden import assert_same_facts, planned
from tests.local_runs import SETUPS, run_locally

SETUPS_TRIED = ("cyclic-1", "cyclic-3", "decomposed")


def with_last_relations(plan: LogicalPlan) -> LogicalPlan:
    read = {scan.relation for stratum in plan.strata for one in plans_of(stratum.root) for scan in scans(one)}
    return replace(plan, outputs=tuple(name for name in plan.outputs if name not in read))


def folding_cases() -> list[GoldenCase]:
    """Those in which something is folded."""
    found = []
    for case in all_cases():
        if not case.expected_answers:
            continue
        prepared, events = case.prepare(), list[Event]()
        plan = with_last_relations(planned(prepared))
        run_locally(plan, prepared.inputs, prepared.limits, listener=events.append)
        if any(isinstance(event, ExecutorChosen) and "never listed" in event.why for event in events):
            found.append(case)
    return found


def test_answers_of_what_folds_a_recursion() -> None:
    cases = folding_cases()
    assert len(cases) > 5
    for case in cases:
        prepared = case.prepare()
        plan = with_last_relations(planned(prepared))
        for setup in SETUPS_TRIED:
            answers = run_locally(plan, prepared.inputs, prepared.limits, SETUPS[setup])
            assert sorted(answers) == sorted(plan.answers)
            for name, facts in answers.items():
                expected = read_facts(case.expected_answers[name], prepared.checked.relations[name].columns)
                assert_same_facts(expected, sorted(facts, key=in_order))
