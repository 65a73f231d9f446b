"""Streams of changes in a query: kills change nothing, and what is kept does not grow with what was deleted."""

from __future__ import annotations

import pickle
import random
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from emberlog.config import DEFAULT_LIMITS, OUTPUT_MODES
from emberlog.live.slides import LiveEvaluator, LivePlan
from emberlog.streams.plan.slides import Schedule
from emberlog.streams.state.copies import CHANGE, Copies, held_rows, net
from tests.dealings import Dealings
from tests.streams import facts_of, stream_case
from tests.unit.streams.stream_runs import Batch, Delivered, Source, batch_of_changes, run, spec_of
from tests.unit.streams.test_exactly_once import POINTS, SEEDS, Killed, die, told


def rows_of(table: pa.Table) -> list[tuple[object, ...]]:
    return sorted(tuple(row.values()) for row in table.to_pylist())


def changes(*rows: tuple[int, int, int]) -> pa.Table:
    return batch_of_changes({"s": rows})["s"]


def test_the_oldest_copy_goes_that_is_still_in_the_window() -> None:
    copies = Copies(10)
    first = copies.resolve(changes((1, 7, 1), (5, 7, 1), (6, 7, -1), (6, 8, -1)))
    assert rows_of(first.come) == [(1, 7), (5, 7)] and rows_of(first.gone) == [(1, 7)]
    # What has left the window has gone already: the copy of 5 is not there any more at 16.
    second = copies.resolve(changes((14, 7, 1), (16, 7, -1), (16, 7, -1), (16, 7, 1)))
    assert rows_of(second.come) == [(14, 7), (16, 7)] and rows_of(second.gone) == [(14, 7), (16, 7)]
    log = pa.concat_tables([first.changes, second.changes])
    assert rows_of(held_rows(log)) == [(5, 7)] and rows_of(net(log)) == [(5, 7, 1)]
    assert net(log).column_names[-1] == CHANGE


def random_changes(chance: random.Random, disorder: int) -> list[Batch]:
    now, rows = 0, []
    for _ in range(chance.randint(1, 60)):
        now += chance.choice((0, 0, 1, 2, 5, 20))
        rows.append(
            (now, chance.choice((0, 1, 2, 3, None)), chance.choice((1, 1, -1, None) if now % 7 == 0 else (1, 1, -1)))
        )
    rows.sort(key=lambda row: row[0] + chance.uniform(0, disorder))
    batches: list[Batch] = []
    while rows:
        size = chance.choice((1, 3, 10))
        batches.append(batch_of_changes({"left": rows[:size]}))
        rows = rows[size:]
    return batches


@pytest.mark.parametrize("seed", range(SEEDS))
def test_kills_change_nothing(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    schedule = Schedule(chance.randint(1, 10), chance.choice((None, chance.randint(5, 40))), chance.choice((0, 4)))
    mode = chance.choice(OUTPUT_MODES)
    batches = random_changes(chance, chance.choice((0, 4)))
    killer = Dealings(instead=die)
    killer.begin(monkeypatch)
    plain = replace(spec_of(tmp_path / "plain", schedule, mode, ("left",)), changing=frozenset({"left"}))
    undisturbed = Delivered(plain)
    run(plain, Source(batches), undisturbed, closes=True)
    dealings = killer.count
    expected = undisturbed.quarantined()
    for kill in sorted(chance.sample(range(1, dealings + 1), min(POINTS, dealings))):
        spec = replace(spec_of(tmp_path / f"{kill}", schedule, mode, ("left",)), changing=frozenset({"left"}))
        delivered, source = Delivered(spec), Source(batches)
        killer.count, killer.at = 0, kill
        is_over = False
        while not is_over:
            try:
                run(spec, source, delivered, closes=True)
                is_over = True
            except Killed:
                killer.at = None
        killer.at = None
        assert told(delivered) == told(undisturbed)
        assert delivered.quarantined() == expected


def test_what_is_kept_does_not_grow_with_what_was_deleted(tmp_path: Path) -> None:
    spec = replace(spec_of(tmp_path, Schedule(1, None), "changes", ("left",)), changing=frozenset({"left"}))
    delivered = Delivered(spec)
    batches = [batch_of_changes({"left": [(at, at, 1), (at + 1, at, -1)]}) for at in range(0, 900, 2)]
    run(spec, Source(batches), delivered, closes=False)
    assert max(one.window_tuples for one in delivered.measures) < 100


def test_nothing_is_left_of_a_row_that_is_gone() -> None:
    """Without a window no tuple goes by itself, so nobody waits for its time."""
    case = stream_case("STREAM s(Ts: timestamp, X: int).\np(X) :- s(_, X).\nquery p(X).")
    evaluator = LiveEvaluator(LivePlan(case.program, DEFAULT_LIMITS), case.schedule, {})
    sizes = []
    for at in range(1_000, 1_400):
        come, gone = (case.table("s", [(time, time)]) for time in (at, at - 1))
        evaluator.advance(case.schedule.slide(at), {"s": come}, {"s": gone})
        sizes.append(len(pickle.dumps(evaluator._streams)))
    assert facts_of(case, "p", evaluator.answers()["p"]) == {(1_399,)}
    assert sizes[-1] < 1.5 * sizes[20]
