"""A stream query that is killed at any point and started again gives what an undisturbed one gives."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from emberlog.config import OUTPUT_MODES
from emberlog.diagnostics import EmberlogError
from emberlog.streams.plan.slides import Schedule
from emberlog.streams.steps.checkpoint import OF_THE_PROGRAM, Checkpoint
from tests.dealings import Dealings
from tests.unit.streams.stream_runs import (
    STREAMS,
    Delivered,
    Rows,
    Source,
    batch_of,
    random_batches,
    run,
    spec_of,
)

SEEDS = int(os.environ.get("EMBERLOG_KILLS", "8"))
POINTS = 30 if SEEDS >= 100 else 6
"""Of each seed's run, at which it is killed."""


class Killed(BaseException):
    """The end of the process."""


def die() -> None:
    raise Killed


def told(delivered: Delivered) -> dict[int, dict[str, Rows]]:
    """Without steps that had nothing to tell: a stream that is closed once more has one of them."""
    return {number: answers for number, answers in delivered.steps.items() if answers}


@pytest.mark.parametrize("seed", range(SEEDS))
def test_kills_change_nothing(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    size = chance.choice((None, chance.randint(5, 40)))
    schedule = Schedule(chance.randint(1, 10), size, chance.choice((0, 4)))
    mode = chance.choice(OUTPUT_MODES)
    batches = random_batches(chance, STREAMS, disorder=chance.choice((0, 4, 20)))
    closes = chance.random() < 0.5

    killer = Dealings(instead=die)
    killer.begin(monkeypatch)
    plain = spec_of(tmp_path / "plain", schedule, mode)
    undisturbed = Delivered(plain)
    run(plain, Source(batches), undisturbed, closes=closes)
    dealings = killer.count

    for kill in sorted(chance.sample(range(1, dealings + 1), min(POINTS, dealings))):
        spec = spec_of(tmp_path / f"killed-{kill}", schedule, mode)
        delivered, source = Delivered(spec), Source(batches)
        killer.count, killer.at = 0, kill
        is_over = False
        while not is_over:
            try:
                run(spec, source, delivered, closes=closes)
                is_over = True
            except Killed:
                killer.at = killer.count + chance.randint(1, dealings) if chance.random() < 0.5 else None
        killer.at = None
        assert told(delivered) == told(undisturbed)
        assert delivered.quarantined() == undisturbed.quarantined()


def test_late_tuples_are_counted_and_delivered_once(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, Schedule(10, 20), "complete", ("left",))
    delivered = Delivered(spec)
    batches = [batch_of({"left": rows}) for rows in ([(5, 1), (25, 2)], [(6, 3), (30, 4)])]
    run(spec, Source(batches), delivered, closes=True)
    assert delivered.rows("left_late") == [(6, 3)]
    assert [one.late for one in delivered.measures] == [0, 1, 0]
    assert delivered.records[-1].totals.late == 1
    assert delivered.rows("left_seen") == [(10, 5, 1), (20, 5, 1), (30, 25, 2), (30, 30, 4)]


def test_changes_tell_what_each_slide_added_and_removed(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, Schedule(10, 10), "changes", ("left",))
    delivered = Delivered(spec)
    run(spec, Source([batch_of({"left": [(5, 1), (12, 2), (40, 3)]})]), delivered, closes=False)
    told = [(10, "added", 5, 1), (20, "added", 12, 2), (20, "removed", 5, 1), (30, "removed", 12, 2)]
    assert delivered.rows("left_seen") == told
    assert delivered.records[-1].totals.facts == {"left_seen": 0}
    assert delivered.measures[-1].expired == 2


def test_a_worker_that_has_the_state_does_not_make_it_again(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, Schedule(10, 20), "complete", ("left",))
    delivered, source = Delivered(spec), Source([batch_of({"left": [(time, 0)]}) for time in range(0, 60, 10)])
    run(spec, source, delivered, closes=False)
    assert not any(one.is_rebuilt for one in delivered.measures)
    source.batches = [*source.batches, batch_of({"left": [(70, 0)]})]
    run(spec, source, delivered, closes=False)
    assert delivered.measures[-1].is_rebuilt


def test_what_is_kept_is_bounded_by_the_window(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, Schedule(10, 100), "changes", ("left",))
    delivered = Delivered(spec)
    run(spec, Source([batch_of({"left": [(time, 0)]}) for time in range(600)]), delivered, closes=False)
    kept = [one.window_tuples for one in delivered.measures]
    assert max(kept) <= 200
    checkpoint = Checkpoint(spec.location)
    assert len(checkpoint.records.files()) == 2
    assert len(checkpoint.log.folder.files()) < 40
    assert len(checkpoint.outputs.files()) <= 2


def test_a_checkpoint_belongs_to_one_program(tmp_path: Path) -> None:
    checkpoint = Checkpoint(str(tmp_path))
    own, other = {"the program": "p(X) :- q(X).", "the slides": (1, None)}, {"the program": "p(X) :- r(X)."}
    checkpoint.check(own)
    checkpoint.claim(own, {"r": "r-1"})
    assert not checkpoint.is_new
    checkpoint.check(own)
    with pytest.raises(EmberlogError, match=r"DL340.*the program and the slides changed"):
        checkpoint.check({**other, "the slides": [2, None]})
    with pytest.raises(EmberlogError, match=r"DL340.*the program changed\n.*newProgram=True"):
        checkpoint.check({**own, **other})
    checkpoint.check({**own, **other}, OF_THE_PROGRAM)


def test_relations_that_are_read_anew_have_other_folders_and_states(tmp_path: Path) -> None:
    checkpoint = Checkpoint(str(tmp_path))
    for folder in ("r-1", "s-1", "r-2"):
        checkpoint.static(folder).make("")
    checkpoint.claim({"the program": "p"}, {"r": "r-1", "s": "s-1"})
    first = checkpoint.state_name
    assert Checkpoint(str(tmp_path)).state_name == first
    checkpoint.static("r-2").make("")
    checkpoint.claim({"the program": "p"}, {"r": "r-2", "s": "s-1"})
    assert checkpoint.statics == {"r": "r-2", "s": "s-1"}
    assert checkpoint.state_name != first
    assert sorted(path.name for path in (tmp_path / "static").iterdir()) == ["r-2", "s-1"]


def test_a_batch_that_is_long_over_is_refused(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, Schedule(10, 20), "complete", ("left",))
    source = Source([batch_of({"left": [(time, 0)]}) for time in (1, 15, 30)])
    run(spec, source, Delivered(spec), closes=False)
    source.done = 1
    with pytest.raises(EmberlogError, match="DL341"):
        run(spec, source, Delivered(spec), closes=False)
