"""The specification of streams: at every slide, the answer is that of the batch program on the tuples of the window.

`EMBERLOG_EXAMPLES` sets the number of streams for each property: a third of it.
"""

from __future__ import annotations

import pytest
from hypothesis import given, note, reject, settings
from hypothesis import strategies as st

from emberlog.executors.streaming.division import Method, divide
from tests.property.stream_programs import RandomStream, streamed_programs, timed_programs
from tests.property.test_programs import EXAMPLES, Answers, outcome, properties
from tests.streams import EVALUATORS, by_definition, by_evaluator, stream_case

few = settings(properties, max_examples=max(EXAMPLES // 3, 1))
"""A stream has many slides, and each of them is an answer to compare."""


def check(random: RandomStream, evaluator: str) -> None:
    case = stream_case(random.text, random.statics)
    note(random.text)
    note(str(random.tuples))
    slides = case.slides(random.tuples)
    if not slides:
        reject()  # nothing is asked, and so no value that cannot be computed shows
    expected: list[Answers] = []
    for slide in slides:
        answers = outcome(lambda slide=slide: dict(by_definition(case, slide, random.tuples)))  # type: ignore[misc]
        if isinstance(answers, str):
            reject()  # a value that cannot be computed ends the stream, at this slide or at an earlier one
        expected.append(answers)
    found = by_evaluator(case, EVALUATORS[evaluator](case), slides, random.tuples)
    for slide, answers in zip(slides, expected, strict=True):
        assert outcome(lambda: dict(next(found))) == answers, slide


@pytest.mark.parametrize("evaluator", EVALUATORS)
@given(random=streamed_programs())
@few
def test_every_slide_is_the_batch_program_on_its_window(evaluator: str, random: RandomStream) -> None:
    check(random, evaluator)


@pytest.mark.parametrize("evaluator", EVALUATORS)
@given(random=timed_programs())
@few
def test_every_slide_shows_the_times_of_its_window(evaluator: str, random: RandomStream) -> None:
    check(random, evaluator)


def test_most_relations_are_kept_up_to_date() -> None:
    """Otherwise the properties above would compare one way from scratch with another, and say nothing."""
    kept = anew = 0

    @given(st.one_of(streamed_programs(), timed_programs()))
    @few
    def look(random: RandomStream) -> None:
        nonlocal kept, anew
        program = stream_case(random.text, random.statics).program
        division = divide(program)
        kept += len(set(division.names(Method.KEPT)) - set(program.streams))
        anew += len(division.names(Method.ANEW))

    look()
    assert kept > anew / 2 > 0
