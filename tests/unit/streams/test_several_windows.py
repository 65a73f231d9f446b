"""A program with several windows tells what a program for each of them tells, whatever ends between its steps."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from emberlog.config import Evaluation, StreamOptions
from emberlog.live.slides import LivePlan
from emberlog.provenance.streams.questions import StreamQuestions
from emberlog.semantics.model import CheckedProgram
from emberlog.streams.evaluate.methods import plan_evaluations, slide_evaluator
from emberlog.streams.evaluate.window_facts import WindowFacts
from emberlog.streams.plan.several_windows import by_window
from emberlog.streams.plan.slides import schedule_of
from emberlog.streams.plan.window_plans import plan_windows
from emberlog.streams.steps.checkpoint import Record
from emberlog.streams.steps.measures import Measures
from emberlog.streams.steps.spec import Spec, Step
from emberlog.streams.steps.step import take_step
from tests.programs import checked
from tests.streams import by_definition, case_of
from tests.unit.streams.stream_runs import Delivered, Source
from tests.unit.streams.stream_runs import run as run_alone
from tests.unit.streams.test_partitions import RIDE, Together, rides, run

PROGRAM = """\
STREAM ride(Ts: timestamp, From: string, To: string, Fare: float).
way(Ts, A, B, min<F>) :- ride(Ts, A, B, F).
way(Ts, A, C, min<F>) :- way(T1, A, B, F1), ride(T2, B, C, F2), F = F1 + F2, largest(Ts, T1, T2).
reach(A, B) :- way(_, A, B, _).
last(Ts, A) :- ride(Ts, A, _, _).
query way(_, A, B, F), WINDOW(20, 5).
query reach(A, B), HOP(12, 6).
query last(_, A), TUMBLE(15).
"""
COUNTED = """\
STREAM ride(Ts: timestamp, From: string, To: string, Fare: float).
out(A, count<B>) :- ride(_, A, B, _).
in(B, count<A>) :- ride(_, A, B, _).
query out(A, N), WINDOW(30, 10).
query in(B, N), TUMBLE(4).
"""


def spec_of(program: CheckedProgram, folder: Path, mode: str, evaluation: Evaluation = "incremental") -> Spec:
    plans, schedule = plan_windows(program), schedule_of(program, plain_clock=True)
    plan = plan_evaluations(plans, [evaluation] * len(plans.each), live=LivePlan)
    return Spec(
        query=str(folder),
        options=StreamOptions(str(folder), outputMode=mode),
        schedule=schedule,
        streams={"ride": program.relations["ride"].columns},
        statics=(),
        outputs=plans.outputs,
        plain_times=True,
        make=partial(slide_evaluator, plan, schedule, True),
    )


@pytest.mark.parametrize("mode", ["complete", "changes"])
@pytest.mark.parametrize("evaluation", ["incremental", "simple", "live"])
@pytest.mark.parametrize("text", [PROGRAM, COUNTED], ids=["recursion", "counts"])
def test_each_window_is_told_as_a_program_of_its_own(
    text: str, evaluation: Evaluation, mode: str, tmp_path: Path
) -> None:
    chance = random.Random(f"{evaluation} {mode}")
    batches = rides(chance)
    program = checked(text)
    spec = spec_of(program, tmp_path / "all", mode, evaluation)
    delivered, source = Delivered(spec), Source([])
    for number, batch in enumerate(batches, 1):
        source.batches = [*source.batches, {"ride": batch}]
        if chance.random() < 0.5 or number == len(batches):  # every process ends after a batch or two
            run_alone(spec, source, delivered, closes=number == len(batches))
    assert any(one.is_rebuilt for one in delivered.measures)
    for number, part in enumerate(by_window(program)):
        alone = spec_of(part, tmp_path / str(number), mode)
        expected = Delivered(alone)
        run_alone(alone, Source([{"ride": batch} for batch in batches]), expected, closes=True)
        end = expected.records[-1].clock.closed
        assert end is not None
        for name in alone.outputs:
            # In the end all windows move until each has had its last tuple.
            found = [row for row in delivered.rows(name) if int(str(row[0])) <= end]
            assert sorted(found) == sorted(expected.rows(name)) != []


def test_partitions_share_each_window(tmp_path: Path) -> None:
    chance = random.Random(7)
    batches = rides(chance)
    alone, spec = (spec_of(checked(PROGRAM), tmp_path / name, "changes") for name in ("alone", "together"))
    expected = run(alone, batches, lambda step, batch: take_step(alone, step, {} if batch is None else {"ride": batch}))
    together = Together(2)

    def evaluate(step: Step, batch: pa.Table | None) -> tuple[Record, Measures]:
        places = [3 * step.number, 3 * step.number + 1] if step.number in (5, 9) else [0, 1]
        return together.take(spec, step, batch, places)

    found = run(spec, batches, evaluate)
    for name in spec.outputs:
        assert sorted(found.rows(name)) == sorted(expected.rows(name)) != []
    assert [one.is_rebuilt for one in found.measures].count(True) == 4


@pytest.mark.parametrize("evaluation", ["incremental", "simple", "live"])
def test_a_tuple_that_a_later_window_has_no_value_for_is_put_aside(evaluation: Evaluation, tmp_path: Path) -> None:
    """It came with one batch, was in the answer of one window, and the other window meets it two batches later."""
    text = PROGRAM.replace("last(Ts, A) :- ride(Ts, A, _, _).", "last(Ts, A) :- ride(Ts, A, B, _), N = int(B), N > 0.")
    spec = spec_of(checked(text), tmp_path, "complete", evaluation)
    delivered = Delivered(spec)
    first = [(1, "A", "2", 1.0), (2, "B", "x", 1.0)]
    rows = [first, [(7, "C", "3", 1.0)], [(14, "D", "4", 1.0)], [(31, "E", "5", 1.0)]]
    batches = [pa.table([list(column) for column in zip(*one, strict=True)], schema=RIDE) for one in rows]
    run_alone(spec, Source([{"ride": batch} for batch in batches]), delivered, closes=True)
    assert [row for row in delivered.rows("reach") if row[0] == 6] == [(6, "A", "2"), (6, "B", "x")]
    assert [row[:3] for row in delivered.quarantined()] == [(2, "B", "x")]
    assert delivered.rows("last") == [(15, "A"), (15, "C"), (15, "D"), (45, "E")]


def test_a_question_is_about_the_window_that_a_relation_is_asked_for_in() -> None:
    program = checked(COUNTED + "lone(A) :- out(A, 1).\n")
    rows = [(time, chance, "z", 1.0) for time, chance in ((1, "a"), (9, "a"), (15, "b"), (21, "a"))]
    table = pa.table([list(column) for column in zip(*rows, strict=True)], schema=RIDE)
    schedule = schedule_of(program, plain_clock=True)
    questions = StreamQuestions(program, WindowFacts(schedule, 26, {"ride": table}, {}, plain_times=True))
    for part, relation, fact, at in zip(by_window(program), ("out", "in"), (("a", 1), ("z", 1)), (20, 24), strict=True):
        case = case_of(part)
        assert fact in by_definition(case, case.schedule.slide(at), {"ride": rows})[relation]
        proof = questions.why(relation, fact)
        assert (proof.window.at, proof.window.schedule) == (at, case.schedule)
        assert questions.why_not(relation, ("q", 1)).window.at == at
    assert questions.why("lone", ("b",)).window.at == 20
