"""Facts of a window have valid proofs that last as long as they say, by nothing but the definition of a slide.

`EMBERLOG_EXAMPLES` sets the number of streams: a third of it.
"""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given, note, reject, settings
from hypothesis import strategies as st

from emberlog.config import DEFAULT_LIMITS
from emberlog.diagnostics import EmberlogError
from emberlog.provenance.streams.expiry import Certainty
from emberlog.provenance.streams.questions import StreamQuestions, question_program
from emberlog.provenance.streams.stream_proof import StreamProof
from emberlog.semantics.model import Fact
from emberlog.streams.plan.slides import Slide
from tests.oracle.evaluate import evaluate
from tests.proof_checker import Checker
from tests.property.stream_programs import RandomStream, streamed_programs, timed_programs
from tests.property.test_programs import EXAMPLES, properties
from tests.streams import StreamCase, Tuples, facts_in_window, stream_case, stream_questions

MOST_FACTS = 3
"""Of a relation, that are asked about."""


@given(st.one_of(streamed_programs(), timed_programs()), st.data())
@settings(properties, max_examples=max(EXAMPLES // 3, 1))
def test_a_proof_lasts_as_long_as_it_says(random: RandomStream, data: st.DataObject) -> None:
    note(random.text)
    note(str(random.tuples))
    case = stream_case(random.text, random.statics)
    # What has no time is put aside, and belongs to no slide.
    tuples = {name: [row for row in rows if row[0] is not None] for name, rows in random.tuples.items()}
    slides = case.slides(tuples)
    if not slides:
        reject()
    place = data.draw(st.integers(0, len(slides) - 1))
    questions = stream_questions(case, tuples, slides[place].at)
    for relation in case.checked.outputs:
        judge = _Judge(case, questions, relation, tuples, slides[place:])
        try:
            # None asks for any value.
            facts = sorted((one for one in judge.at(slides[place], tuples) if None not in one), key=repr)
            for fact in facts[:MOST_FACTS]:
                judge.check(fact, questions.why(relation, fact))
        except EmberlogError as error:
            assert error.diagnostics[0].code.startswith("DL5")
            reject()  # a value that cannot be computed, now or at a later slide


class _Judge:
    """Knows a relation at a slide and at all later ones, with what will come and without."""

    def __init__(
        self, case: StreamCase, questions: StreamQuestions, relation: str, tuples: Tuples, slides: list[Slide]
    ) -> None:
        self.case = case
        self.program = question_program(questions.checked, relation)
        self.relation = relation
        self.slide, *self.later = slides
        self.all_tuples = tuples
        self.arrived = {name: [row for row in rows if row[0] <= self.slide.at] for name, rows in tuples.items()}  # type: ignore[operator]

    def inputs(self, slide: Slide, tuples: Tuples) -> dict[str, Iterable[Fact]]:
        return {**self.case.statics, **facts_in_window(self.program, slide, tuples)}

    def at(self, slide: Slide, tuples: Tuples) -> frozenset[Fact]:
        return evaluate(self.program.checked, self.inputs(slide, tuples))[self.relation]

    def check(self, fact: Fact, proof: StreamProof) -> None:
        until, promise = proof.lasting.expiry.until, proof.lasting.promise
        is_sure = promise.certainty is not Certainty.MAY_CHANGE
        gone = next((slide for slide in self.later if fact not in self.at(slide, self.arrived)), None)
        assert proof.lasting.expiry.is_sure
        if until is None:
            assert gone is None
            assert not is_sure or self.case.schedule.size is None or not proof.lasting.times
        else:
            assert gone is not None and self.case.schedule.size is not None
            assert until == gone.at - self.case.schedule.distance, f"it is gone at {gone.at}"
        for slide in self.later:
            if until is None or slide.at <= until:
                self._check_promise(promise.certainty, fact, self.at(slide, self.all_tuples))
        # What it rests on is there until then, and the tuples that are named leave behind it.
        left = self.inputs(self._last_slide(until) if is_sure else self.slide, self.arrived)
        Checker(self.program.checked, left, DEFAULT_LIMITS).check_proof(proof.tree)
        if until is not None and is_sure:
            assert proof.lasting.leaving
        for goal in proof.lasting.leaving:
            assert self.case.schedule.size is not None and until is not None
            kept = [slide for slide in self.later if goal.fact in self._input(slide, goal.relation)]
            assert max([slide.at for slide in kept], default=self.slide.at) == until

    def _last_slide(self, until: int | None) -> Slide:
        if until is None:
            return self.slide if self.case.schedule.size is None else (self.slide, *self.later)[-1]
        return next(slide for slide in (self.slide, *self.later) if slide.at == until)

    def _input(self, slide: Slide, stream: str) -> Iterable[Fact]:
        return facts_in_window(self.program, slide, self.arrived)[stream]

    def _check_promise(self, certainty: Certainty, fact: Fact, facts: frozenset[Fact]) -> None:
        """Whatever really comes."""
        match certainty:
            case Certainty.HOLDS:
                assert fact in facts
            case Certainty.UNLESS_BETTER:
                group = self.program.checked.relations[self.relation].group
                assert any(all(other[column] == fact[column] for column in group) for other in facts)
            case Certainty.MAY_CHANGE:
                pass
