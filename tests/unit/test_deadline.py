"""A timeout holds for all that a run does, and gives the same error wherever it is passed."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

import emberlog
from emberlog import Limits
from emberlog.deadline import check_time, end_of, within
from emberlog.diagnostics import EmberlogError
from emberlog.logical.build import build
from emberlog.logical.nodes import Fixpoint
from emberlog.optimize.pipeline import optimize, plan_program
from emberlog.semantics.analysis import analyze
from emberlog.workers.plan.compile import compile_fixpoint
from tests.programs import checked, parsed

TEXT = "tc(X, Y) :- arc(X, Y). tc(X, Y) :- tc(X, Z), arc(Z, Y). tc(1, Y)?"
TREE = parsed(TEXT)
PROGRAM = checked(TEXT)
PLAN = plan_program(PROGRAM).plan
(FIXPOINT,) = (stratum.root for stratum in PLAN.strata if isinstance(stratum.root, Fixpoint))

PHASES: dict[str, tuple[Callable[[], object], str]] = {
    "reading": (lambda: parsed(TEXT), "reading the program"),
    "checking": (lambda: analyze(TREE), "checking the program"),
    "planning": (lambda: build(PROGRAM), "planning the program"),
    "rewriting rules": (lambda: plan_program(PROGRAM), "planning the program"),
    "rewriting plans": (lambda: optimize(PLAN), "planning the program"),
    "compiling": (lambda: compile_fixpoint(FIXPOINT), "planning the program"),
}


@pytest.mark.parametrize("phase", PHASES)
def test_every_phase_looks_at_the_clock(phase: str) -> None:
    work, doing = PHASES[phase]
    work()
    with within(1e-9), pytest.raises(EmberlogError) as caught:
        work()
    (found,) = caught.value.diagnostics
    assert found.code == "DL512"
    assert found.message == f"the timeout of 1e-09 seconds was passed while {doing}"


def test_a_deadline_ends_with_what_it_is_for() -> None:
    with within(1e-9), pytest.raises(EmberlogError):
        check_time("waiting")
    check_time("waiting")


def test_the_earlier_of_two_deadlines_holds() -> None:
    with within(1e-9), within(1_000.0), pytest.raises(EmberlogError, match="1e-09 seconds"):
        check_time("waiting")
    with within(1_000.0), within(None), within(1e-9), pytest.raises(EmberlogError, match="1e-09 seconds"):
        check_time("waiting")


def test_what_was_taken_before_a_run_is_taken_from_it() -> None:
    with within(10.0):
        begun = time.monotonic()
        assert end_of(10.0) <= begun + 10.0
    assert end_of(10.0) > begun + 10.0


def test_facts_in_the_text_do_not_outrun_a_timeout() -> None:
    text = " ".join(f"p({number}, {number + 1})." for number in range(100_000))
    begun = time.monotonic()
    with emberlog.Database(engine="local") as db, pytest.raises(EmberlogError, match="DL512"):
        db.datalog(text, limits=Limits(timeout=0.05))
    assert time.monotonic() - begun < 2.0


def test_a_query_has_one_timeout_for_all_that_it_does() -> None:
    with emberlog.Database(engine="local") as db:
        db.rules("n(0). n(Y) :- n(X), Y = X + 1.")
        begun = time.monotonic()
        with pytest.raises(EmberlogError, match="DL512"):
            db.query("n(X)", limits=Limits(timeout=0.2))
        assert time.monotonic() - begun < 5.0
