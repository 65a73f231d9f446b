"""Strata that are computed here for another engine: within which bounds, and what is said of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from emberlog.config import DEFAULT_EXECUTION, DEFAULT_LIMITS, ON_ONE_MACHINE, Bounds, Execution, Limits
from emberlog.datatypes import INT
from emberlog.diagnostics import EmberlogError
from emberlog.engines.experience import Experience
from emberlog.engines.local import kept
from emberlog.engines.local.kept import KeptInputs
from emberlog.engines.local.small_strata import PassedBound, SmallStrata
from emberlog.events import Event, ExecutorChosen, IterationFinished, ignore
from emberlog.io.local_relation import LocalRelation
from emberlog.logical.needed_strata import needed_strata
from emberlog.logical.statistics import NO_STATISTICS
from emberlog.optimize.pipeline import plan_program
from emberlog.semantics.model import Column, Fact
from tests.programs import checked

PATIENT = ON_ONE_MACHINE
"""However busy the machine is."""

TC = "tc(X, Y) :- arc(X, Y). tc(X, Y) :- tc(X, Z), arc(Z, Y)."
PAIRS = "pair(X, Y) :- arc(X, _), arc(_, Y)."
FEW: list[Fact] = [(number, number + 1) for number in range(10)]
SOME: list[Fact] = [(number, number + 1) for number in range(1_200)]


def computed(
    text: str,
    arcs: list[Fact],
    bounds: Bounds | None = PATIENT,
    limits: Limits = DEFAULT_LIMITS,
    execution: Execution = DEFAULT_EXECUTION,
) -> tuple[dict[str, int], list[Event]]:
    plan = plan_program(checked(text, inputs={"arc": [Column("a", INT), Column("b", INT)]})).plan
    events: list[Event] = []
    small = SmallStrata(plan, limits, events.append, execution, {}, bounds)
    known = {"arc": LocalRelation(["a", "b"], [INT, INT], arcs)}
    for stratum in needed_strata(plan)[0]:
        outcome = small.compute(stratum, known, NO_STATISTICS, limits.max_rows)
        known |= outcome.relations
    return {name: len(known[name]) for name in plan.outputs}, events


@pytest.mark.parametrize(
    ("arcs", "how"),
    [
        (FEW, "the plan interpreter in the driver's process"),
        (SOME, "1 worker in the driver's process"),
    ],
)
def test_it_is_said_who_computes_it_and_how_much_it_reads(arcs: list[Fact], how: str) -> None:
    count = len(arcs) * (len(arcs) + 1) // 2
    facts, events = computed(TC, arcs)
    assert facts == {"tc": count}
    *_, chosen = (event for event in events if isinstance(event, ExecutorChosen))
    assert (chosen.executor, chosen.how, chosen.why) == ("driver", how, f"reads {len(arcs):,} facts")
    assert max(event.total_rows for event in events if isinstance(event, IterationFinished)) == count


@pytest.mark.parametrize(
    ("bounds", "said"),
    [
        (replace(PATIENT, derived=5_000), "it derives more than 5,000 facts in the driver's process"),
        (replace(PATIENT, written=80_000), "it derives more than 5,000 facts in the driver's process"),
        (replace(ON_ONE_MACHINE, seconds=1e-6), "it takes more than 1e-06 s in the driver's process"),
    ],
)
def test_workers_that_pass_a_bound_give_up(bounds: Bounds, said: str) -> None:
    with pytest.raises(PassedBound) as caught:
        computed(TC, SOME, bounds)
    assert str(caught.value) == said
    assert computed(TC, SOME, None)[0] == {"tc": 720_600}


def test_a_join_that_is_too_much_for_the_interpreter_is_given_up_while_it_grows() -> None:
    with pytest.raises(PassedBound, match="more than the interpreter does"):
        computed(PAIRS, SOME)
    assert computed(PAIRS, FEW)[0] == {"pair": 100}


def test_a_limit_of_the_run_is_an_error_also_where_it_is_below_a_bound() -> None:
    with pytest.raises(EmberlogError) as caught:
        computed(TC, SOME, limits=Limits(max_rows=3_000))
    assert caught.value.diagnostics[0].code == "DL511"
    with pytest.raises(EmberlogError) as caught:
        computed(TC, SOME, limits=Limits(max_iterations=2))
    assert caught.value.diagnostics[0].code == "DL510"


def test_what_was_read_here_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_program(checked(TC, inputs={"arc": [Column("a", INT), Column("b", INT)]})).plan
    inputs = KeptInputs()
    known = {"arc": LocalRelation(["a", "b"], [INT, INT], SOME)}
    for _ in range(2):
        small = SmallStrata(plan, DEFAULT_LIMITS, ignore, DEFAULT_EXECUTION, {}, PATIENT, None, inputs)
        (stratum,) = needed_strata(plan)[0]
        assert small.compute(stratum, known, NO_STATISTICS, None).rows["tc"] == 720_600
        monkeypatch.setattr(kept, "_encoded", None)


def test_what_passed_a_bound_before_is_not_tried_again() -> None:
    plan = plan_program(checked(TC, inputs={"arc": [Column("a", INT), Column("b", INT)]})).plan
    experience = Experience()
    tried: list[tuple[bool, int]] = []
    for arcs in (SOME, SOME, FEW):
        events: list[Event] = []
        bounds = replace(PATIENT, derived=1_000)
        small = SmallStrata(plan, DEFAULT_LIMITS, events.append, DEFAULT_EXECUTION, {}, bounds, experience)
        known = {"arc": LocalRelation(["a", "b"], [INT, INT], arcs)}
        (stratum,) = needed_strata(plan)[0]
        try:
            outcome = small.compute(stratum, known, NO_STATISTICS, None)
            tried.append((False, outcome.rows["tc"]))
        except PassedBound as problem:
            tried.append((problem.is_known, len(events)))
    (first, events_then), (second, events_again), (_, count) = tried
    assert (first, second, count) == (False, True, 55)
    assert events_then > 0 == events_again
