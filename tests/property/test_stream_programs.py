"""The specification of streams: at every slide, the answer is that of the batch program on the tuples of the window.

`EMBERLOG_EXAMPLES` sets the number of streams for each property: a third of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given, note, reject, settings
from hypothesis import strategies as st

from emberlog.semantics.model import Fact
from emberlog.streams.plan.maintenance import RESIDENT, Method
from tests.property.stream_programs import RandomStream, streamed_programs, timed_programs
from tests.property.test_programs import EXAMPLES, Answers, outcome, properties
from tests.streams import EVALUATORS, by_arrival, by_definition, by_evaluator, stream_case, usable

few = settings(properties, max_examples=max(EXAMPLES // 3, 1))
"""A stream has many slides, and each of them is an answer to compare."""


def check(random: RandomStream, evaluator: str) -> None:
    case = stream_case(random.text, random.statics)
    note(random.text)
    note(str(random.tuples))
    tuples = usable(case, random.tuples)
    slides = case.slides(tuples)
    if not slides:
        reject()  # nothing is asked, and so no value that cannot be computed shows
    expected: list[Answers] = []
    for slide in slides:
        answers = outcome(lambda slide=slide: dict(by_definition(case, slide, tuples)))  # type: ignore[misc]
        if isinstance(answers, str):
            reject()  # a value that cannot be computed ends the stream, at this slide or at an earlier one
        expected.append(answers)
    found = by_evaluator(case, EVALUATORS[evaluator](case), slides, tuples)
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


@pytest.mark.parametrize("evaluator", EVALUATORS)
@given(
    random=st.one_of(streamed_programs(), timed_programs()),
    chance=st.randoms(use_true_random=False),
    delay=st.integers(0, 6),
)
@few
def test_it_makes_no_difference_how_tuples_arrive(
    evaluator: str, random: RandomStream, chance: Random, delay: int
) -> None:
    """One by one, in batches of any size, and out of order as far as the watermark waits."""
    case = stream_case(random.text, random.statics)
    note(random.text)
    note(str(random.tuples))
    tuples = [(name, row) for name, rows in usable(case, random.tuples).items() for row in rows]
    in_order = sorted(tuples, key=lambda one: moment(one[1]))
    shuffled = sorted(tuples, key=lambda one: moment(one[1]) + chance.uniform(0, delay))
    arrivals = [
        [{name: [row]} for name, row in in_order],
        in_batches(in_order, chance),
        [{name: [row]} for name, row in shuffled],
        in_batches(shuffled, chance),
    ]
    found = [
        outcome(lambda batches=batches: by_arrival(case, EVALUATORS[evaluator](case), batches, delay))  # type: ignore[misc]
        for batches in arrivals
    ]
    if any(isinstance(one, str) for one in found):
        reject()  # a value that cannot be computed: which one is met first depends on the order
    assert all(one == found[0] for one in found)


def moment(row: Fact) -> int:
    assert isinstance(row[0], int)
    return row[0]


def in_batches(tuples: Sequence[tuple[str, Fact]], chance: Random) -> list[dict[str, list[Fact]]]:
    batches: list[dict[str, list[Fact]]] = [{}]
    for name, row in tuples:
        if chance.random() < 0.2:
            batches.append({})
        batches[-1].setdefault(name, []).append(row)
    return batches


def test_most_relations_are_kept_up_to_date() -> None:
    """Otherwise the properties above would compare one way from scratch with another, and say nothing."""
    kept = anew = 0

    @given(st.one_of(streamed_programs(), timed_programs()))
    @settings(properties, max_examples=200, derandomize=True, database=None)
    def look(random: RandomStream) -> None:
        nonlocal kept, anew
        maintenance = stream_case(random.text, random.statics).maintenance
        kept += len(set(maintenance.names(*RESIDENT)) - set(maintenance.program.streams))
        anew += len(maintenance.names(Method.ANEW))

    look()
    assert kept > anew / 2 > 0
