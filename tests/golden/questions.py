"""Questions about the facts of a golden case, with their answers: `questions.txt` beside its program.

A line `? why hcc(4, 1)`, `? all hcc(4, 1)`, `? why-not tc(5, 1)` or `? trace hcc(4, _)` is a question, and what
follows is the answer. Behind `why-not`, a number is the depth. Questions about a stream end in a moment, ` at 12`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from emberlog.database import Database
from emberlog.provenance.asked import asked_in_text, moment_in
from emberlog.provenance.questions import Questions
from tests.golden.corpus import GoldenCase
from tests.recorded_runs import INTERPRETER, questions_of


def questions_file(case: GoldenCase) -> Path:
    return case.folder / "questions.txt"


def answered(case: GoldenCase, recorder: str = INTERPRETER) -> str:
    """What the file should hold, given its questions."""
    prepared = case.prepare()
    lines = questions_file(case).read_text(encoding="utf-8").splitlines()
    if prepared.is_stream:
        return _blocks(lines, lambda question: _answer_at(case, question))
    questions = questions_of(prepared.checked, prepared.inputs, recorder, prepared.limits)
    return _blocks(lines, lambda question: _answer(questions, question))


def _blocks(lines: list[str], answer: Callable[[str], str]) -> str:
    return "\n\n".join(f"{line}\n{answer(line[2:])}" for line in lines if line.startswith("? ")) + "\n"


def _answer_at(case: GoldenCase, question: str) -> str:
    """The answer of one slide, as people get it."""
    asked, _, moment = question.rpartition(" at ")
    kind, _, text = asked.partition(" ")
    db = Database(engine="local")
    for name, file in case.fact_files.items():
        db[name] = file
    window = db.window(case.folder / "program.dl", at=int(moment) if moment.isdigit() else moment_in(moment))
    if kind == "why":
        return str(window.why(*asked_in_text(text)))
    assert kind == "why-not", question
    return str(window.why_not(*asked_in_text(text)))


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
