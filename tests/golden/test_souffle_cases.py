"""Programs in Soufflé's language give the answers that its documentation says: by the oracle, in one process, and from
the command line where they name files."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from emberlog.__main__ import main
from emberlog.database import Database
from emberlog.diagnostics import EmberlogError
from emberlog.dialects import SOUFFLE, dialect_of, parse_tolerantly
from emberlog.semantics.analysis import analyze
from emberlog.source import Source
from emberlog.syntax import ast
from emberlog.syntax.parser import parse
from emberlog.syntax.printer import print_program
from tests.golden.souffle_cases import MESSAGES, SouffleCase, messages, shown, souffle_cases
from tests.oracle.evaluate import evaluate

CASES = souffle_cases()
PLAIN = [case for case in CASES if not case.files and not case.errors]
WITH_FILES = [case for case in CASES if case.files]
WITH_ERRORS = [case for case in CASES if case.errors]


def title(case: SouffleCase) -> str:
    return case.title


def declared_types(program: ast.Program) -> list[ast.TypeDeclaration]:
    return [one for one in program.statements if isinstance(one, ast.TypeDeclaration)]


@pytest.mark.filterwarnings("ignore::emberlog.diagnostics.EmberlogWarning")
@pytest.mark.parametrize("case", PLAIN, ids=title)
def test_answers(case: SouffleCase) -> None:
    program = parse_tolerantly(Source("program.dl", case.program), SOUFFLE)
    checked = analyze(program)
    by_oracle = evaluate(checked, {name: () for name in checked.inputs})
    assert {name: shown(facts) for name, facts in by_oracle.items()} == case.answers
    with Database(engine="local") as database:
        result = database.datalog(case.program, dialect=SOUFFLE)
        found = {name: shown(result[name].collect()) for name in case.answers}
    assert found == case.answers


@pytest.mark.parametrize("case", PLAIN, ids=title)
def test_converted_programs_are_the_same(case: SouffleCase) -> None:
    program = parse_tolerantly(Source("program.dl", case.program), SOUFFLE)
    converted = parse(Source("converted", print_program(program)))
    assert converted.statements == program.statements
    checked = analyze(converted)
    found = {name: shown(facts) for name, facts in evaluate(checked, {name: () for name in checked.inputs}).items()}
    assert {name: len(facts) for name, facts in found.items()} == {name: len(one) for name, one in case.answers.items()}
    if not any(type_.branches for type_ in declared_types(program)):  # records are written with their names here
        assert found == case.answers


@pytest.mark.parametrize("case", WITH_FILES, ids=title)
def test_answers_from_files(case: SouffleCase, tmp_path: Path) -> None:
    path, output = case.written_to(tmp_path), tmp_path / "answers"
    arguments = ["--engine", "local", "--output", str(output), "--format", "json", "--dialect", SOUFFLE]
    assert main(["run", str(path), *arguments]) == 0
    for name, expected in case.answers.items():
        lines = (output / name / "facts.json").read_text(encoding="utf-8").splitlines()
        assert shown(json.loads(line).values() for line in lines) == expected


@pytest.mark.parametrize("case", WITH_ERRORS, ids=title)
def test_what_is_wrong(case: SouffleCase) -> None:
    with pytest.raises(EmberlogError) as caught:
        checked = analyze(parse_tolerantly(Source("program.dl", case.program), SOUFFLE))
        evaluate(checked, {name: () for name in checked.inputs})
    assert tuple(dict.fromkeys(one.code for one in caught.value.diagnostics)) == case.errors


def test_what_is_told() -> None:
    assert messages() == MESSAGES.read_text(encoding="utf-8")


def test_the_corpus_is_large_enough() -> None:
    assert len(CASES) >= 200
    twice = [name for name, count in Counter(map(title, CASES)).items() if count > 1]
    assert not twice
    assert all(dialect_of(case.program) == SOUFFLE for case in CASES if case.name != "an_unknown_component")
    assert all(case.answers or case.errors for case in CASES)
