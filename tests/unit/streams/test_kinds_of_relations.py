"""Subsumption, choices, equivalences, aggregates over bodies and values of declared types over a stream: at each slide
every evaluator has the answers of the batch program on the tuples of the window."""

from __future__ import annotations

from random import Random

import pytest

from tests.streams import EVALUATORS, by_definition, by_evaluator, stream_case

EVENTS = "STREAM e(Ts: timestamp, A: int, B: int).\n"
PROGRAMS = {
    "the best of a key": "p(A, B) :- e(_, A, B).\np(A, B1) <= p(A, B2) :- B2 < B1.\nquery p(A, B), WINDOW(6, 2).",
    "the best of two columns": """
        p(A, B) :- e(_, A, B).
        p(A1, B1) <= p(A2, B2) :- A2 <= A1, B2 <= B1.
        query p(A, B), WINDOW(6, 2).""",
    "the best with its time": """
        p(T, A, B) :- e(T, A, B).
        p(_, A, B1) <= p(_, A, B2) :- B2 < B1.
        query p(_, A, B), WINDOW(6, 2).""",
    "shortest ways": """
        d(A, B, 1) :- e(_, A, B).
        d(A, C, N + 1) :- d(A, B, N), e(_, B, C).
        d(A, B, N1) <= d(A, B, N2) :- N2 < N1.
        query d(A, B, N), WINDOW(6, 2).""",
    "a choice": "declare p(a: int, b: int) choice a.\np(A, B) :- e(_, A, B).\nquery p(A, B), WINDOW(6, 2).",
    "a choice in its recursion": """
        declare t(p: int, c: int) choice c.
        t(-1, 0) :- e(_, _, _).
        t(A, B) :- t(_, A), e(_, A, B).
        query t(A, B), WINDOW(6, 2).""",
    "an equivalence": "declare s(a: int, b: int) equivalence.\ns(A, B) :- e(_, A, B).\nquery s(A, B), WINDOW(6, 2).",
    "aggregates over bodies": """
        n(A, N) :- e(_, A, _), N = count : { e(_, A, B), B != A }.
        m(A, S) :- e(_, A, _), S = sum B : { e(_, A, B), e(_, B, _) }.
        query n(A, N), WINDOW(6, 2).
        query m(A, S), WINDOW(6, 2).""",
    "values with fields": """
        type Pair = Pair(a: int, b: int) | Same(of: int).
        v(T, $Pair(A, B)) :- e(T, A, B), A != B.
        v(T, $Same(A)) :- e(T, A, A).
        w(A) :- v(_, $Pair(A, _)), !v(_, $Same(A)).
        x(V) :- v(_, V), !(V = $Pair(0, _)).
        query w(A), WINDOW(6, 2).
        query x(V), WINDOW(6, 2).""",
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("evaluator", EVALUATORS)
def test_answers_of_each_slide(name: str, evaluator: str) -> None:
    chance = Random(name)
    case = stream_case(EVENTS + PROGRAMS[name])
    tuples = {"e": [(chance.randrange(20), chance.randrange(5), chance.randrange(5)) for _ in range(40)]}
    slides = case.slides(tuples)
    found = list(by_evaluator(case, EVALUATORS[evaluator](case), slides, tuples))
    assert found == [by_definition(case, slide, tuples) for slide in slides]
    assert any(any(answers.values()) for answers in found)
