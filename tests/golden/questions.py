"""Questions about the facts of a golden case, with their answers: `questions.txt` beside its program.

A line `? why hcc(4, 1)`, `? all hcc(4, 1)`, `? why-not tc(5, 1)` or `? trace hcc(4, _)` is a question, and what
follows is the answer. Behind `why-not`, a number is the depth.
"""

from __future__ import annotations

from pathlib import Path

from emberlog.provenance.question_text import asked_in_text
from emberlog.provenance.questions import Questions
from tests.golden.corpus import GoldenCase
from tests.recorded_runs import INTERPRETER, recorded


def questions_file(case: GoldenCase) -> Path:
    return case.folder / "questions.txt"


def answered(case: GoldenCase, recorder: str = INTERPRETER) -> str:
    """What the file should hold, given its questions."""
    prepared = case.prepare()
    recording = recorded(prepared.checked, prepared.inputs, recorder, prepared.limits)
    questions = Questions(prepared.checked, recording.relations, recording.histories)
    lines = questions_file(case).read_text(encoding="utf-8").splitlines()
    blocks = (f"{line}\n{_answer(questions, line[2:])}" for line in lines if line.startswith("? "))
    return "\n\n".join(blocks) + "\n"


def _answer(questions: Questions, question: str) -> str:
    kind, _, text = question.partition(" ")
    if kind == "why-not":
        depth, _, rest = text.partition(" ")
        is_deep = depth.isdigit()
        return str(questions.why_not(*asked_in_text(rest if is_deep else text), depth=int(depth) if is_deep else 1))
    if kind == "why":
        return str(questions.why(*asked_in_text(text), depth=None, contributions=10))
    if kind == "all":
        proofs = questions.all_whys(*asked_in_text(text), limit=5, contributions=10)
        return "\nor\n".join(map(str, proofs))
    assert kind == "trace", question
    return str(questions.trace(*asked_in_text(text), limit=20))
