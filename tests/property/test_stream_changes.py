"""Streams of changes: at every slide, the answer is that of the batch program on the rows that are there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa
import pytest
from hypothesis import given, note, reject
from hypothesis import strategies as st

from emberlog.live.slides import LiveEvaluator, LivePlan
from emberlog.semantics.model import Fact
from emberlog.streams.evaluate.changing import ChangingEvaluator
from emberlog.streams.evaluate.evaluator import DeletingEvaluator
from emberlog.streams.evaluate.simple import SimpleEvaluator, simple_plan
from emberlog.streams.plan.slides import Slide
from emberlog.streams.state.copies import CHANGE
from tests.property.stream_programs import MOMENTS, RandomStream, streamed_programs, timed_programs
from tests.property.test_programs import Answers, outcome
from tests.property.test_stream_programs import few
from tests.streams import LIMITS, StreamCase, by_definition, facts_of, stream_case, usable

EVALUATORS: Mapping[str, Callable[[StreamCase], DeletingEvaluator]] = {
    "live": lambda case: LiveEvaluator(LivePlan(case.program, LIMITS), case.schedule, case.static_tables()),
    "simple": lambda case: SimpleEvaluator(simple_plan(case.program, LIMITS), case.static_tables()),
}

Changed = tuple[Fact, int]
"""A row with its time, and whether it comes (1) or goes (-1)."""


def there(changes: Sequence[Changed], slide: Slide, size: int | None) -> list[Fact]:
    """The copies that are there at a slide, looked at one change after the other."""
    held: list[Fact] = []
    for row, sign in sorted(changes, key=lambda one: (one[0][0], -one[1])):
        if row[0] > slide.until:  # type: ignore[operator]
            break
        if sign > 0:
            held.append(row)
            continue
        alive = [one for one in held if one[1:] == row[1:] and (size is None or one[0] + size >= row[0])]  # type: ignore[operator]
        if alive:
            held.remove(min(alive))
    return held


def arriving(case: StreamCase, name: str, changes: Sequence[Changed]) -> pa.Table:
    table = case.table(name, [row for row, _ in changes])
    return table.append_column(CHANGE, pa.array([sign for _, sign in changes], pa.int8()))


@pytest.mark.parametrize("evaluator", EVALUATORS)
@given(random=st.one_of(streamed_programs(), timed_programs()), data=st.data())
@few
def test_every_slide_is_the_batch_program_on_the_rows_that_are_there(
    evaluator: str, random: RandomStream, data: st.DataObject
) -> None:
    case = stream_case(random.text, random.statics)
    tuples = usable(case, random.tuples)
    changes: dict[str, list[Changed]] = {name: [(row, 1) for row in rows] for name, rows in tuples.items()}
    for name, rows in tuples.items():
        if rows:
            goes = st.builds(lambda row, at: ((at, *row[1:]), -1), st.sampled_from(rows), st.integers(0, MOMENTS))
            changes[name] += data.draw(st.lists(goes, max_size=len(rows)))
    note(random.text)
    note(str(changes))
    slides = case.slides({name: [row for row, _ in rows] for name, rows in changes.items()})
    expected: list[Answers] = []
    for slide in slides:
        held = {name: there(rows, slide, case.schedule.size) for name, rows in changes.items()}
        answers = outcome(lambda held=held, slide=slide: dict(by_definition(case, slide, held)))  # type: ignore[misc]
        if isinstance(answers, str):
            reject()
        expected.append(answers)
    inner = EVALUATORS[evaluator](case)
    evaluated = ChangingEvaluator(inner, frozenset(case.program.streams), case.schedule.size)
    before = None
    shown: dict[str, frozenset[Fact]] = {}
    for slide, answers in zip(slides, expected, strict=True):
        arrived = {
            name: [one for one in rows if one[0][0] <= slide.until and (before is None or one[0][0] > before)]  # type: ignore[operator]
            for name, rows in changes.items()
        }
        before = slide.until
        evaluated.advance(slide, {name: arriving(case, name, rows) for name, rows in arrived.items()})
        found = {name: facts_of(case, name, table) for name, table in evaluated.answers().items()}
        assert outcome(lambda found=found: found) == answers, slide  # type: ignore[misc]
        for name, told in evaluated.changes().items():
            come, gone = facts_of(case, name, told.added), facts_of(case, name, told.removed)
            known = shown.get(name, frozenset())
            assert gone <= known and not come & known, (name, slide)
            shown[name] = (known - gone) | come
        assert shown == found, slide
