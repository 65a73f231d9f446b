"""Programs in Soufflé's language on Spark, against the answers that its documentation gives them."""

from __future__ import annotations

from pathlib import Path

import pytest

from emberlog.cli.described_inputs import register_described
from emberlog.database import Database
from emberlog.dialects import SOUFFLE, parse_tolerantly
from emberlog.semantics.analysis import analyze
from emberlog.source import Source
from tests.golden.souffle_cases import SouffleCase, shown, souffle_cases

pytestmark = pytest.mark.usefixtures("simple_queries")

IN_DEFAULT_RUN = 30
"""One program in so many is part of the default run; `python3 dev.py spark-full` runs all."""

WITH_ANSWERS = [case for case in souffle_cases() if case.answers and not case.files]
SAMPLED = [
    pytest.param(case, marks=() if number % IN_DEFAULT_RUN == 0 else pytest.mark.slow, id=case.title)
    for number, case in enumerate(WITH_ANSWERS)
]


@pytest.mark.filterwarnings("ignore::emberlog.diagnostics.EmberlogWarning")
@pytest.mark.parametrize("case", SAMPLED)
def test_answers(case: SouffleCase, database: Database) -> None:
    result = database.datalog(case.program, dialect=SOUFFLE)
    assert {name: shown(result[name].collect()) for name in case.answers} == case.answers


def test_columns_of_a_file(database: Database, tmp_path: Path) -> None:
    (case,) = (case for case in souffle_cases() if case.name == "columns_of_a_file")
    path = case.written_to(tmp_path)
    checked = analyze(parse_tolerantly(Source(str(path), case.program)))
    (file,) = checked.program.files
    register_described(database, file, str(tmp_path / file.path), checked.relations["p"])
    result = database.datalog(path)
    assert {name: shown(result[name].collect()) for name in case.answers} == case.answers
