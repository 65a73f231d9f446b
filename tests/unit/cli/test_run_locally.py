"""`emberlog run --engine local`, from the first line to the last."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.conftest import Emberlog

TC = "tc(X, Y) :- arc(X, Y).\ntc(X, Y) :- tc(X, Z), arc(Z, Y).\n"


@pytest.fixture
def tc(emberlog: Emberlog) -> Emberlog:
    Path("tc.dl").write_text(TC)
    Path("facts").mkdir()
    Path("facts/arc.csv").write_text("1,2\n2,3\n3,4\n")
    return emberlog


def test_answers_go_to_standard_output(tc: Emberlog) -> None:
    outcome = tc("run", "tc.dl", "--engine", "local", "--show", "2")
    assert outcome.code == 0
    assert outcome.out == (
        "tc(X, Y): 6 facts\n  1  2\n  1  3\n  …  (2 of 6 shown; --show 0 for none, --output DIR to keep them all)\n"
    )
    assert outcome.err.startswith("tc.dl · in this process · 2 relations")
    assert "  tc   3 iterations   6 facts" in outcome.err


def test_queries_and_written_facts(tc: Emberlog) -> None:
    outcome = tc("run", "tc.dl", "--engine", "local", "--query", "tc(2, Y)?", "--output", "out", "--workers", "2")
    assert outcome.out == "tc(2, Y): 2 facts\n  2  3\n  2  4\n"
    assert "written: out (1 relation, csv)" in outcome.err
    assert Path("out/tc/facts.csv").read_text() == "2,3\n2,4\n"


def test_provenance_tells_iterations_and_rules(tc: Emberlog) -> None:
    outcome = tc(
        "run", "tc.dl", "--engine", "local", "--provenance", "--show", "3", "--output", "out", "--format", "json"
    )
    assert outcome.out.splitlines()[:4] == [
        "tc(X, Y): 6 facts",
        "  1  2  start        r1",
        "  1  3  iteration 1  r2",
        "  1  4  iteration 2  r2",
    ]
    assert '{"X": 1, "Y": 4, "iteration": 2}' in Path("out/tc/facts.json").read_text().splitlines()
    assert "iteration" not in tc("run", "tc.dl", "--engine", "local").out


def test_a_profile(tc: Emberlog) -> None:
    outcome = tc("run", "tc.dl", "--engine", "local", "--executor", "cyclic", "--profile", "p.html")
    assert "  rule  relation  derived  new  seconds\n" in outcome.err
    assert "profile: p.html\n" in outcome.err
    page = Path("p.html").read_text()
    assert "Seconds by rule" in page and "tc.dl" in page
    assert "profile: " in tc("run", "tc.dl", "--engine", "local", "--profile").err


def test_mistakes_are_told(tc: Emberlog) -> None:
    assert "error[DL336]" in tc("run", "tc.dl", "--engine", "local", "--executor", "dataframe").err
    Path("facts/arc.csv").write_text("1,2\n2,x,3\n")
    outcome = tc("run", "tc.dl", "--engine", "local")
    assert outcome.code == 1
    assert "error[DL402]" in outcome.err


def test_the_command_tells_its_parts(tc: Emberlog) -> None:
    told = tc("run", "tc.dl", "--engine", "local", "--timing").err.splitlines()
    table = told[told.index(next(line for line in told if line.split() == ["time", "seconds"])) + 1 : -1]
    seconds = [float(line.rsplit(maxsplit=1)[1].replace(",", "")) for line in table]
    assert table[0].startswith("  loading Python packages  ") and table[-1].startswith("  total")
    assert sum(seconds[:-1]) == pytest.approx(seconds[-1], abs=0.01)
    assert "total" not in tc("run", "tc.dl", "--engine", "local").err
