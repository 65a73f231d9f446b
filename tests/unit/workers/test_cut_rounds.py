"""Rounds that are gone on with in their middle: nothing is lost, nothing counts twice."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from emberlog.config import Execution, Recovery
from emberlog.events import Event, IterationFinished
from emberlog.optimize.pipeline import plan_program
from emberlog.semantics.analysis import analyze
from emberlog.semantics.model import Fact
from emberlog.source import Source
from emberlog.syntax.parser import parse
from emberlog.workers.fixpoint.round_checkpoints import RoundPosition
from emberlog.workers.recover.checkpoints import FOLDER, Checkpoints, Manifest, SavedState
from tests.interrupted_runs import broken_off_within, run_folder
from tests.local_runs import run_locally

LINEAR = "tc(X, Y) :- arc(X, Y).\ntc(X, Y) :- tc(X, Z), arc(Z, Y).\n"
TWO_RULES = LINEAR + "tc(X, Y) :- tc(X, Z), back(Y, Z).\n"
ARCS = {(one, (3 * one + step) % 17) for one in range(17) for step in (1, 5)}
BACK = {(one, one + 4) for one in range(12)}
SETUPS = {
    "one worker": Execution(workers=1, representation="hash"),
    "decomposed": Execution(workers=3, mode="decomposed", representation="hash"),
    "bsp": Execution(workers=2, mode="bsp", representation="hash"),
}


def run(text: str, setup: str) -> tuple[frozenset[Fact], list[tuple[int, int, int]]]:
    """The facts; and of each iteration its number, the facts that came, and all facts."""
    events: list[Event] = []
    program = analyze(parse(Source("p.dl", f"declare arc(int a, int b).\ndeclare back(int a, int b).\n{text}")))
    facts = run_locally(
        plan_program(program).plan, {"arc": ARCS, "back": BACK}, execution=SETUPS[setup], listener=events.append
    )
    rounds = [event for event in events if isinstance(event, IterationFinished)]
    return facts["tc"], [(event.iteration, event.delta_rows, event.total_rows) for event in rounds]


@pytest.mark.parametrize("setup", SETUPS)
@pytest.mark.parametrize("text", [LINEAR, TWO_RULES], ids=["one rule", "two rules"])
def test_the_rest_of_a_round_gives_what_is_missing(text: str, setup: str) -> None:
    expected = run(text, setup)
    places: list[RoundPosition] = []

    def noted(state: SavedState) -> RoundPosition:
        places.append(RoundPosition(state.number("rule"), state.number("row")))
        return RoundPosition(places[-1].rule, places[-1].row)

    with mock.patch.object(RoundPosition, "saved", noted):
        for checkpoints in range(1, 40, 3):
            with broken_off_within(checkpoints, batch=5):
                facts, rounds = run(text, setup)
            assert facts == expected[0], checkpoints
            # Those who go in step do not tell again of rounds that are known.
            assert rounds == expected[1][-len(rounds) :], checkpoints
    assert any(place.row for place in places)
    assert text == LINEAR or any(place.rule for place in places)


@pytest.mark.parametrize("text", [LINEAR, TWO_RULES], ids=["one rule", "two rules"])
def test_a_round_that_was_sent_in_part(text: str) -> None:
    expected, swaps = run(text, "bsp"), set[int]()
    for checkpoints in range(1, 60, 3):
        with broken_off_within(checkpoints, batch=5, portion=300) as found:
            facts, rounds = run(text, "bsp")
        assert facts == expected[0], checkpoints
        assert rounds == expected[1][-len(rounds) :], checkpoints
        swaps |= {int(name.split("-")[2][0]) for one in found if one is not None for name in one.manifests if name}
    assert swaps > {0}


def test_a_rule_that_was_through_is_not_begun_again() -> None:
    place = RoundPosition(rule=1, row=7)
    assert [place.begin_rule() for _ in range(3)] == [None, 7, 0]


def test_workers_in_step_keep_what_all_of_them_have(tmp_path: Path) -> None:
    """What one saves within its rounds says nothing about the others."""
    run, folder = run_folder(tmp_path), f"attempt-1/{FOLDER}"
    checkpoints = Checkpoints(run, 1, 0, Recovery())
    for iteration, is_agreed in ((3, True), (5, True), (7, False), (8, False), (8, False), (9, False)):
        with checkpoints.saving(iteration, is_alone=False, is_agreed=is_agreed) as state:
            state.whole("facts", np.full((1, 4), iteration))
    names = run.sizes(folder)
    kept = sorted(Manifest.read(run, name).iteration for name in names if name.endswith(".json"))
    assert kept == [3, 5, 8, 9]
    assert len([name for name in names if name.endswith(".lanes")]) == len(kept)


def test_who_is_alone_keeps_the_last_one(tmp_path: Path) -> None:
    run, folder = run_folder(tmp_path), f"attempt-1/{FOLDER}"
    checkpoints = Checkpoints(run, 1, 0, Recovery())
    for iteration in (3, 5, 5, 6):
        with checkpoints.saving(iteration, is_alone=True) as state:
            state.whole("facts", np.full((1, 4), iteration))
    names = run.sizes(folder)
    assert [name for name in names if name.endswith(".json")] == [f"{folder}/0-6-0.json"]
    assert len([name for name in names if name.endswith(".lanes")]) == 1
