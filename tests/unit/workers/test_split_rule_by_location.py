"""Rules are split where their data is elsewhere, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given

from emberlog.engines.spark.description import described
from emberlog.logical.nodes import Fixpoint, LogicalPlan
from emberlog.optimize.pipeline import plan_program
from emberlog.workers.plan.capabilities import obstacles
from emberlog.workers.plan.compile import CyclicProgram, compile_fixpoint
from emberlog.workers.plan.mode import Mode
from emberlog.workers.plan.placement import Placement, place
from emberlog.workers.plan.rules import Probe, Refute, RuleChain, Send, Start
from emberlog.workers.plan.split_rule_by_location import located_rules
from emberlog.workers.plan.static_placement import home_variable
from tests.golden.test_golden import WITH_ANSWERS
from tests.programs import checked
from tests.property.programs import RandomProgram
from tests.property.shapes import programs
from tests.property.test_programs import properties, read
from tests.unit.workers.test_compile import fixpoint

POINTS_TO = """
    declare assign(int a, int b). declare load(int a, int b). declare store(int a, int b).
    p(Y, X) :- assign(X, Y).
    p(Y, X) :- assign(Y, Z), p(Z, X).
    p(Y, W) :- load(Y, X), p(X, Z), p(Z, W).
    p(Z, W) :- store(Y, X), p(Y, Z), p(X, W).
"""


def located(text: str) -> list[str]:
    placement = place(compile_fixpoint(fixpoint(text)), mode=Mode.BSP)
    return [str(rule) for chain in placement.rules for rule in located_rules(chain, placement.homes)]


def test_each_rule_of_the_sequence_is_evaluated_where_its_data_is() -> None:
    assert located(POINTS_TO) == [
        "where Z is: p(Y, X) :- Δp(Z, X), assign(Y, Z).",
        "where X is: r3.1(Y, Z) :- Δp(X, Z), load(Y, X).",
        "where Z is: p(Y, W) :- r3.1(Y, Z), p(Z, W).",
        "where Z is: p(Y, W) :- Δp(Z, W), p(X, Z), load(Y, X).",
        "where Y is: r4.1(X, Z) :- Δp(Y, Z), store(Y, X).",
        "where X is: p(Z, W) :- r4.1(X, Z), p(X, W).",
        "where X is: r4.1(W, Y) :- Δp(X, W), store(Y, X).",
        "where Y is: p(Z, W) :- r4.1(W, Y), p(Y, Z).",
    ]


def test_what_shares_no_column_is_sent_to_every_worker() -> None:
    text = "declare n(int a). p(X) :- n(X). p(Z) :- p(X), p(Y), Z = (X + Y) mod 9."
    assert located(text) == [
        "where X is: r2.1(X) :- Δp(X).",
        "anywhere: p(X.2) :- r2.1(X), p(Y), X.2 = (X + Y) mod 9.",
        "where Y is: r2.1(Y) :- Δp(Y).",
        "anywhere: p(X.2) :- r2.1(Y), p(X), X.2 = (X + Y) mod 9.",
    ]
    assert any("Sent to every worker." in line for line in described(plan_program(checked(text)).plan))


def test_a_mark_in_the_head_says_where_facts_live_and_so_what_moves() -> None:
    rules = "declare arc(int a, int b). tc({0}X, {1}Y) :- arc(X, Y). tc({0}X, {1}Y) :- tc(X, Z), arc(Z, Y)."
    assert located(rules.format("", "#")) == ["where Z is: tc(X, Y) :- Δtc(X, Z), arc(Z, Y)."]
    assert located(rules.format("#", "")) == ["where X is: tc(X, Y) :- Δtc(X, Z), arc(Z, Y)."]


def fixpoints(plan: LogicalPlan) -> Iterator[Fixpoint]:
    for stratum in plan.strata:
        if isinstance(stratum.root, Fixpoint) and not obstacles(stratum.root):
            yield stratum.root


def check_moves(program: CyclicProgram, placement: Placement) -> None:
    for chain in placement.rules:
        check_moves_of(chain, program, placement)


def check_moves_of(chain: RuleChain, program: CyclicProgram, placement: Placement) -> None:
    """Follows a valuation: it moves only to where it is not yet, only for a relation of the recursion that is looked up
    next, and whatever is looked up is there."""
    members = {relation.name for relation in program.relations}
    at: str | None = None
    steps = iter(chain.steps)
    for step in steps:
        match step:
            case Start(atom):
                at = home_variable(atom, placement.homes)
            case Send(to_all=True):
                at = None
                step = next(steps)
                assert isinstance(step, Probe) and step.atom.relation in members, "nothing there needs it"
                assert not step.keys, "it is not needed everywhere"
            case Send(variable):
                assert variable != at, "it is there already"
                at = variable
                step = next(steps)
                assert isinstance(step, Probe) and step.atom.relation in members, "nothing there needs it"
                check_is_there(step, at, placement)
            case Probe(atom) if atom.relation in members:
                check_is_there(step, at, placement)
            case Probe(atom):
                column = placement.statics[atom.relation]
                assert column is None or (column in step.keys and atom.variables[column] == at)
            case Refute(relation, keys, variables) if relation not in members:
                column = placement.statics[relation]
                assert column is None or dict(zip(keys, variables, strict=True)).get(column) == at
            case _:
                pass


def check_is_there(step: Probe, at: str | None, placement: Placement) -> None:
    name = step.atom.relation
    columns = (placement.homes[name], *placement.copies.get(name, ()))
    assert any(column in step.keys and step.atom.variables[column] == at for column in columns)


def check_plan(plan: LogicalPlan) -> int:
    found = 0
    for root in fixpoints(plan):
        program = compile_fixpoint(root)
        for mode in (Mode.BSP, None):
            check_moves(program, place(program, mode=mode))
        found += 1
    return found


def test_exchanges_stand_only_where_the_partitioning_changes() -> None:
    """In the plans of all golden cases, as they are optimised and as they are written."""
    splits = 0
    for case in WITH_ANSWERS:
        checked = case.prepare().checked
        for off in (frozenset[str](), frozenset({"linearise"})):
            splits += check_plan(plan_program(checked, off=off).plan)
    assert splits > 50


@given(programs())
@properties
def test_random_programs_move_valuations_only_where_their_data_is_elsewhere(random: RandomProgram) -> None:
    check_plan(plan_program(read(random), off=frozenset({"linearise"})).plan)
