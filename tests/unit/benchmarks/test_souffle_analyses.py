"""The analyses in Soufflé's language have over a hundred rules, and give the oracle's answers."""

from __future__ import annotations

import pytest
from benchmarks.souffle.facts import ANALYSES, program
from benchmarks.souffle.measure import checked_analysis, run, tables

from emberlog.database import Database
from emberlog.dialects import SOUFFLE
from tests.oracle.evaluate import evaluate


@pytest.mark.parametrize("name", ANALYSES)
@pytest.mark.parametrize("seed", range(2))
def test_answers(name: str, seed: int) -> None:
    checked = checked_analysis(name)
    assert len(checked.rules) >= 100
    facts = ANALYSES[name](500, seed)
    expected = evaluate(checked, {one: facts.get(checked.relations[one].data_name, ()) for one in checked.inputs})
    assert sum(map(bool, expected.values())) > 5
    with Database(engine="local") as database:
        for relation, table in tables(checked, facts).items():
            database[relation] = table
        result = database.datalog(program(name), dialect=SOUFFLE)
        assert {one: frozenset(map(tuple, result[one].collect())) for one in expected} == expected


def test_facts_are_the_same_for_the_same_seed() -> None:
    for make in ANALYSES.values():
        assert make(300, 1) == make(300, 1)
        assert make(300, 1) != make(300, 2)


def test_a_run_tells_what_it_counted() -> None:
    lines = list(run(["data_flow"], 300, "local"))
    assert lines[2].startswith("| data_flow | 126 | ")
    assert any(line.strip().startswith("used procedures: ") for line in lines)
