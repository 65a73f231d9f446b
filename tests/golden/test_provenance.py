"""Proofs of the golden corpus: those that are pinned as text, and a valid one for every fact of every case.

`EMBERLOG_PROOFS=all` proves all facts of each case on each way to run a recursion; otherwise some, on two of them.
"""

from __future__ import annotations

import os

import pytest

from emberlog.provenance.facts import FactBase
from tests.golden.corpus import GoldenCase, all_cases
from tests.golden.questions import answered, questions_file
from tests.golden.test_golden import WITH_ANSWERS, by_name
from tests.proof_checker import Checker, check_everything
from tests.recorded_runs import INTERPRETER, RECORDERS, recorded

EVERYTHING = os.environ.get("EMBERLOG_PROOFS") == "all"
SOME_FACTS = 20

WITH_QUESTIONS = [case for case in all_cases() if questions_file(case).exists() and not case.is_checked_only]
STREAMS_WITH_QUESTIONS = [case for case in all_cases() if questions_file(case).exists() and case.is_checked_only]

DOMAIN = {"int": (0, 1, 2, 3, 99), "float": (0.5, 1.0, 9.75), "string": ("a", "b", "none"), "bool": (False, True)}


@pytest.mark.parametrize("recorder", [INTERPRETER, "cyclic-1", "cyclic-2"])
@pytest.mark.parametrize("case", WITH_QUESTIONS, ids=by_name)
def test_answers_to_questions(case: GoldenCase, recorder: str) -> None:
    assert answered(case, recorder) == questions_file(case).read_text(encoding="utf-8")


@pytest.mark.parametrize("case", STREAMS_WITH_QUESTIONS, ids=by_name)
def test_answers_to_questions_about_a_slide(case: GoldenCase) -> None:
    assert answered(case) == questions_file(case).read_text(encoding="utf-8")


@pytest.mark.parametrize("recorder", sorted(RECORDERS) if EVERYTHING else [INTERPRETER, "cyclic-2"])
@pytest.mark.parametrize("case", WITH_ANSWERS, ids=by_name)
def test_every_fact_has_a_smallest_proof_and_every_other_a_refutation(case: GoldenCase, recorder: str) -> None:
    prepared = case.prepare()
    checker = Checker(prepared.checked, prepared.inputs, prepared.limits)
    recording = recorded(prepared.checked, prepared.inputs, recorder, prepared.limits)
    base = FactBase(prepared.checked, recording.relations, recording.histories)
    if EVERYTHING:
        check_everything(checker, base, DOMAIN, most_absent=300)
    else:
        check_everything(checker, base, DOMAIN, most_facts=SOME_FACTS, most_absent=5)
