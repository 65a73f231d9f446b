"""The specification of several windows: each relation has the answer of its own window, at the slides of that.

`EMBERLOG_EXAMPLES` sets the number of streams for each property: a third of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from hypothesis import assume, given, note, reject
from hypothesis import strategies as st

from emberlog.config import Evaluation
from emberlog.live.slides import LivePlan
from emberlog.semantics.model import Fact
from emberlog.streams.evaluate.evaluator import SlideEvaluator
from emberlog.streams.evaluate.methods import plan_evaluations, slide_evaluator
from emberlog.streams.evaluate.several_windows import SeveralWindows
from emberlog.streams.plan.several_windows import by_window
from emberlog.streams.plan.slides import Schedule, schedule_of
from emberlog.streams.plan.window_plans import plan_windows
from tests.programs import checked
from tests.property.stream_programs import RandomStream, streamed_programs, timed_programs
from tests.property.test_programs import outcome
from tests.property.test_stream_programs import few
from tests.streams import LIMITS, Answers, StreamCase, Tuples, by_definition, case_of, facts_of, usable

_QUERY = re.compile(r"^query (\w+)\((.*?)\)(, \w+\([^)]*\))?\.$", re.MULTILINE)
_WINDOWS = ("WINDOW(4, 2)", "WINDOW(7, 2)", "WINDOW(2, 6)", "HOP(3, 2)", "HOP(9, 3)", "TUMBLE(4)", "TUMBLE(6)")
EVALUATIONS: tuple[Evaluation, ...] = ("simple", "incremental", "live")


@st.composite
def programs_with_several_windows(draw: st.DrawFn) -> RandomStream:
    """Any program over streams, with windows of their own for some of the relations that it asks for."""
    random: RandomStream = draw(st.one_of(streamed_programs(), timed_programs()))
    relations = checked(random.text).relations
    windows: dict[str, str] = {}

    def with_window(found: re.Match[str]) -> str:
        name, terms, _ = found.groups()
        if not relations[name].is_stream:
            return f"query {name}({terms})."
        if name not in windows:
            windows[name] = draw(st.sampled_from(_WINDOWS))
        return f"query {name}({terms}), {windows[name]}."

    text = _QUERY.sub(with_window, random.text)
    assume(len(set(windows.values())) > 1)
    return RandomStream(text, random.statics, random.tuples)


@dataclass(frozen=True, slots=True)
class Several:
    """Each window as a program of its own, and the schedule that they have in common."""

    whole: StreamCase
    parts: tuple[StreamCase, ...]

    @staticmethod
    def of(random: RandomStream) -> Several:
        program = checked(random.text)
        parts = tuple(case_of(part, random.statics) for part in by_window(program))
        schedule = schedule_of(program, plain_clock=True)
        assert schedule.each == tuple(part.schedule for part in parts)
        whole = StreamCase(program, parts[0].maintenance, parts[0].columns, schedule, random.statics)
        return Several(whole, parts)

    def evaluator(self, evaluation: Evaluation) -> SlideEvaluator:
        plan = plan_evaluations(plan_windows(self.whole.checked), [evaluation] * len(self.parts), LIMITS, LivePlan)
        return slide_evaluator(plan, self.whole.schedule, True, self.whole.static_tables())

    def by_definition(self, at: int, tuples: Tuples) -> Answers:
        """Of each window that has a slide there."""
        answers: dict[str, frozenset[Fact]] = {}
        for part in self.parts:
            if at % part.schedule.distance == 0:
                answers.update(by_definition(part, part.schedule.slide(at), tuples))
        return answers

    def facts(self, name: str, table: object) -> frozenset[Fact]:
        part = next(part for part in self.parts if name in part.program.outputs)
        return facts_of(part, name, table)


def arriving(schedule: Schedule, tuples: Tuples, at: int) -> dict[str, list[Fact]]:
    """The tuples that come with a slide: those up to it that not every window had with the slide before."""
    before, until = schedule.had_by_all(at - schedule.distance), schedule.until(at)
    return {name: [row for row in rows if before < row[0] <= until] for name, rows in tuples.items()}  # type: ignore[operator]


def kept(schedule: Schedule, tuples: Tuples, at: int) -> dict[str, list[Fact]]:
    """The tuples that a checkpoint has after a slide."""
    slide = schedule.slide(at)
    assert slide.since is not None
    return {
        name: [row for row in rows if slide.since <= row[0] <= slide.until]  # type: ignore[operator]
        for name, rows in tuples.items()
    }


@pytest.mark.parametrize("evaluation", EVALUATIONS)
@given(random=programs_with_several_windows(), restarts=st.sets(st.integers(0, 20)))
@few
def test_each_window_has_its_answers_whenever_it_is_made_again(
    evaluation: Evaluation, random: RandomStream, restarts: set[int]
) -> None:
    case = Several.of(random)
    note(random.text)
    note(str(random.tuples))
    schedule, tuples = case.whole.schedule, usable(case.whole, random.tuples)
    slides = [slide.at for slide in case.whole.slides(tuples)]
    if not slides:
        reject()
    expected: list[Answers] = []
    for at in slides:
        defined = outcome(lambda at=at: dict(case.by_definition(at, tuples)))  # type: ignore[misc]
        if isinstance(defined, str):
            reject()  # a value that cannot be computed ends the stream
        expected.append(defined)

    def tables(rows: Mapping[str, list[Fact]]) -> dict[str, object]:
        return {name: case.whole.table(name, own) for name, own in rows.items()}

    evaluator = case.evaluator(evaluation)
    shown: dict[str, frozenset[Fact]] = {}
    for number, (at, answers) in enumerate(zip(slides, expected, strict=True)):
        evaluator.advance(schedule.slide(at), tables(arriving(schedule, tuples, at)))
        told = {name: case.facts(name, table) for name, table in evaluator.answers().items()}
        assert outcome(lambda told=told: told) == answers, at  # type: ignore[misc]
        for name, changes in evaluator.changes().items():
            added, removed = case.facts(name, changes.added), case.facts(name, changes.removed)
            known = shown.get(name, frozenset())
            assert removed <= known and not added & known, (name, at)
            shown[name] = (known - removed) | added
        assert {name: shown[name] for name in told} == told, at
        if number in restarts:
            evaluator = case.evaluator(evaluation)
            assert isinstance(evaluator, SeveralWindows)
            evaluator.begin_at(slides[0])
            evaluator.restore(schedule.slide(at), tables(kept(schedule, tuples, at)))
