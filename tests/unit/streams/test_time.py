"""Windows of every kind, streams that are silent, early answers, and tuples with a time to live."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from emberlog.diagnostics import EmberlogError
from emberlog.semantics.model import Fact
from emberlog.streams.plan.slides import Clock, Schedule, schedule_of
from emberlog.streams.state.sessions import SessionBacklog
from emberlog.streams.steps.silence import Silence
from tests.programs import checked
from tests.unit.streams.stream_runs import Delivered, Source, batch_of, random_batches, run, spec_of
from tests.unit.streams.test_bad_rows import spec_of as program_spec

STREAM = "STREAM s(Ts: timestamp, X: int).\na(Ts, X) :- s(Ts, X).\n"


def test_kinds_of_windows() -> None:
    def schedule(window: str) -> Schedule:
        return schedule_of(checked(f"{STREAM}query a(_, X), {window}."), plain_clock=True)

    assert schedule("WINDOW(30, 10)") == Schedule(10, 30)
    assert schedule("HOP(30, 10)") == Schedule(10, 30, is_half_open=True)
    assert schedule("TUMBLE(30)") == Schedule(30, 30, is_half_open=True)
    assert schedule("SESSION(5, X)") == Schedule(1, None, is_half_open=True, gap=5, key="X")
    ttl = schedule_of(checked(STREAM + "query a(_, X)."), plain_clock=True, time_to_live=100, slide=10)
    assert ttl == Schedule(10, 100, tells_quiet=False)
    with pytest.raises(EmberlogError, match=r"DL508.*how long tuples stay"):
        schedule_of(checked(STREAM + "query a(_, X), TUMBLE(5)."), plain_clock=True, time_to_live=100)
    with pytest.raises(EmberlogError, match=r"DL247.*no column `Who`"):
        checked(STREAM + "query a(_, X), SESSION(5, Who).")


def test_tumbling_windows_are_disjoint(tmp_path: Path) -> None:
    """Tuples at 9:00, 9:30 and 10:00 are in one window each."""
    for window, expected in (("TUMBLE(30)", [1, 1, 1]), ("WINDOW(30, 30)", [1, 2, 2, 1])):
        text = "STREAM ride(Ts: timestamp, A: string, B: string, F: int).\n"
        text += f"n(Ts, count<_>) :- ride(Ts, _, _, _).\nquery n(_, N), {window}.\n"
        spec = program_spec(tmp_path / window[:4], text)
        delivered = Delivered(spec)
        schema = pa.schema([("c0", pa.int64()), ("c1", pa.string()), ("c2", pa.string()), ("c3", pa.int64())])
        rows = [
            [{"c0": time, "c1": "a", "c2": "b", "c3": time} for time in times] for times in ((540, 570, 600), (999,))
        ]
        batches = [{"ride": pa.Table.from_pylist(one, schema=schema)} for one in rows]
        run(spec, Source(batches), delivered, closes=False)
        assert [row[-1] for row in delivered.rows("n") if row[0] <= 630] == expected  # type: ignore[operator]


def sessions_by_hand(rows: list[Fact], gap: int, *, keyed: bool) -> set[tuple[int, frozenset[Fact]]]:
    found: set[tuple[int, frozenset[Fact]]] = set()
    for key in {row[1] if keyed else None for row in rows}:
        own: list[Fact] = []
        for row in sorted((row for row in rows if not keyed or row[1] == key), key=lambda row: row[0]):  # type: ignore[arg-type,return-value]
            if own and row[0] - own[-1][0] > gap:  # type: ignore[operator]
                found.add((own[-1][0], frozenset(own)))  # type: ignore[arg-type]
                own = []
            own.append(row)
        found.add((own[-1][0], frozenset(own)))  # type: ignore[arg-type]
    return found


@pytest.mark.parametrize("seed", range(20))
def test_sessions_do_not_depend_on_batches(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(10):
        gap, delay, keyed = chance.randint(1, 12), chance.choice((0, 5)), chance.random() < 0.5
        schedule = Schedule(1, None, delay, is_half_open=True, gap=gap)
        schema = pa.schema([("c0", pa.int64()), ("c1", pa.int64())])
        backlog = SessionBacklog(schedule, {"s": schema.empty_table()}, {"s": 1} if keyed else {})
        rows: list[Fact] = [(chance.randint(0, 80), chance.randint(0, 3)) for _ in range(chance.randint(1, 30))]
        arriving = sorted(rows, key=lambda row: row[0] + chance.uniform(0, delay))  # type: ignore[operator]
        clock, found = Clock(), set()
        while arriving:
            size = chance.randint(1, 6)
            batch, arriving = arriving[:size], arriving[size:]
            backlog.add(batch_of({"s": batch}))  # type: ignore[dict-item]
            clock = clock.seen("s", max(row[0] for row in batch))  # type: ignore[type-var,arg-type]
            due = backlog.due(clock, to_the_end=not arriving)
            clock = due.clock
            for at, arrived in backlog.take(due.slides):
                found.add((at, frozenset(zip(*(one.to_pylist() for one in arrived["s"].columns), strict=True))))
        assert found == sessions_by_hand(rows, gap, keyed=keyed)


def test_the_sessions_of_a_program_survive_a_restart(tmp_path: Path) -> None:
    text = "STREAM ride(Ts: timestamp, From: string, To: string, Fare: int).\n"
    text += "total(Ts, A, sum<F>) :- ride(Ts, A, _, F).\nquery total(_, A, S), SESSION(5, From).\n"
    spec = program_spec(tmp_path, text, "simple")
    schema = pa.schema([("c0", pa.int64()), ("c1", pa.string()), ("c2", pa.string()), ("c3", pa.int64())])

    def batch(*rows: tuple[int, str, int]) -> dict[str, pa.Table]:
        found = [{"c0": time, "c1": who, "c2": "x", "c3": fare} for time, who, fare in rows]
        return {"ride": pa.Table.from_pylist(found, schema=schema)}

    delivered = Delivered(spec)
    batches = [
        batch((1, "a", 1), (2, "b", 10)),
        batch((5, "a", 2), (9, "b", 20)),
        batch((11, "b", 5)),
        batch((30, "a", 7)),
    ]
    source = Source(batches[:2])
    run(spec, source, delivered, closes=False)
    source.batches = batches
    run(spec, source, delivered, closes=True)
    assert delivered.rows("total") == [(2, "b", 10), (5, "a", 3), (11, "b", 25), (30, "a", 7)]


def test_tuples_live_as_long_as_they_are_allowed_to(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, Schedule(10, 100, tells_quiet=False), "complete", ("left",))
    delivered = Delivered(spec)
    batches = [batch_of({"left": rows}) for rows in ([(5, 1)], [(95, 2), (1_000, 3), (1_011, 4)])]
    run(spec, Source(batches), delivered, closes=True)
    of_the_first = [(10, 5, 1), (100, 5, 1), (100, 95, 2)]
    assert delivered.rows("left_seen") == [*of_the_first, (1000, 1000, 3), (1020, 1000, 3), (1020, 1011, 4)]


# --- silence ---------------------------------------------------------------------------------------------------------


def test_a_silent_stream_is_known_by_the_clock_on_the_wall() -> None:
    now = 0.0
    silence = Silence(("a", "b"), 10.0, lambda: now)
    now = 9.0
    silence.heard({"a": 3, "b": 0})
    now = 12.0
    assert silence.idle() == ("b",)
    assert [silence.has_grown(), silence.has_grown(), silence.is_complete] == [True, False, False]
    now = 20.0
    assert silence.idle() == ("a", "b")
    assert [silence.has_grown(), silence.is_complete] == [True, True]
    silence.heard({"b": 1})
    assert silence.idle() == ("a",) and not silence.has_grown()


def test_nobody_waits_for_a_silent_stream_and_time_closes_the_last_slide(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, Schedule(10, 20), "complete")
    now = 0.0
    silence = Silence(spec.streams, 60.0, lambda: now)
    delivered = Delivered(spec)
    batches = [
        batch_of({"left": [(5, 1)], "right": [(3, 1)]}),
        batch_of({"left": [(15, 2), (25, 3)]}),
        batch_of({"left": [(36, 4)]}),
    ]
    source = Source(batches[:2])
    steps = run(spec, source, delivered, closes=False, silence=silence)
    assert delivered.rows("left_seen") == []
    now = 59.0
    source.batches = batches
    steps.batch(2, batches[2])
    source.done = 3
    now = 61.0
    steps.pass_time()
    assert max(row[0] for row in delivered.rows("left_seen")) == 30  # type: ignore[type-var]
    assert delivered.records[-1].is_extra and not delivered.records[-2].is_extra
    steps.pass_time()
    assert len(delivered.records) == 4
    now = 200.0
    steps.pass_time()
    assert max(row[0] for row in delivered.rows("left_seen")) == 40  # type: ignore[type-var]
    # A step without a batch that was not delivered is delivered when the query starts again.
    last = delivered.steps.pop(delivered.records[-1].step)
    run(spec, source, delivered, closes=False)
    assert delivered.steps[delivered.records[-1].step] == last


# --- early answers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("mode", ["complete", "changes"])
def test_early_answers_change_nothing_about_the_others(seed: int, mode: str, tmp_path: Path) -> None:
    chance = random.Random(seed)
    schedule = Schedule(chance.randint(1, 10), chance.choice((None, chance.randint(5, 40))), chance.choice((0, 4)))
    batches = random_batches(chance, ("left",), disorder=chance.choice((0, 4)))
    plain = spec_of(tmp_path / "plain", schedule, mode, ("left",))
    early = spec_of(tmp_path / "early", schedule, mode, ("left",))
    early = replace(early, options=replace(early.options, early=True))
    expected, found = Delivered(plain), Delivered(early)
    run(plain, Source(batches), expected, closes=True)
    source = Source(batches[: len(batches) // 2])
    run(early, source, found, closes=False)
    source.batches = batches
    run(early, source, found, closes=True)
    assert net(found, mode) == net(expected, mode)
    if mode == "complete":
        told = [row for row in found.rows("slides") if not row[3]]
        assert len(told) == len(batches) or schedule.delay or len(batches) < 5


def net(delivered: Delivered, mode: str) -> list[tuple[object, ...]]:
    """What is told of slides that have closed; in `changes`, what all changes add up to at each of them."""
    if mode == "complete":
        final = {(step, row[0]) for step, told in delivered.steps.items() for row in told.get("slides", []) if row[3]}
        rows = [(step, row) for step, told in delivered.steps.items() for row in told.get("left_seen", [])]
        return sorted({row for step, row in rows if (step, row[0]) in final})
    held: set[tuple[object, ...]] = set()
    for _at, change, *fact in delivered.rows("left_seen"):
        held = held | {tuple(fact)} if change == "added" else held - {tuple(fact)}
    return sorted(held, key=str)
