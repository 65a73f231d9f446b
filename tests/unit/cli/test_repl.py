"""`emberlog repl` as a command: where its lines come from, and how it ends."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Emberlog

SESSION = "arc(1, 2). arc(2, 3).\ntc(X, Y) :- arc(X, Y).\ntc(X, Y) :- tc(X, Z),\n  arc(Z, Y).\ntc(1, Y)?\n"


def type_in(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))


def test_lines_of_a_file(emberlog: Emberlog, monkeypatch: pytest.MonkeyPatch) -> None:
    type_in(monkeypatch, SESSION)
    outcome = emberlog("repl")
    assert outcome == (0, "arc: 2 facts\ntc: 1 rule\ntc: 2 rules\ntc(1, Y): 2 facts\n  1  2\n  1  3\n", "")


def test_a_mistake_in_a_file_is_told_to_the_shell(emberlog: Emberlog, monkeypatch: pytest.MonkeyPatch) -> None:
    type_in(monkeypatch, "p(X) :- q(Y, Y).\np(1).\n")
    outcome = emberlog("repl")
    assert outcome.code == 1
    assert outcome.out.endswith("p: 1 fact\n")


def test_the_last_statement_may_be_unfinished(emberlog: Emberlog, monkeypatch: pytest.MonkeyPatch) -> None:
    type_in(monkeypatch, "p(1)")
    outcome = emberlog("repl")
    assert outcome.code == 1
    assert "error[DL111]" in outcome.out


def test_quit_ends_before_the_lines_do(emberlog: Emberlog, monkeypatch: pytest.MonkeyPatch) -> None:
    type_in(monkeypatch, "p(1).\n.quit\np(2).\n")
    assert emberlog("repl").out == "p: 1 fact\n"


def test_paths_are_loaded_first(emberlog: Emberlog, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("arc.csv").write_text("1,2\n")
    Path("tc.dl").write_text("tc(X, Y) :- arc(X, Y).\n")
    type_in(monkeypatch, "tc(X, Y)?\n")
    outcome = emberlog("repl", "tc.dl", "arc.csv", "--show", "1")
    assert outcome.out == "tc: 1 rule\narc: facts from arc.csv\ntc(X, Y): 1 fact\n  1  2\n"


def test_parameters(emberlog: Emberlog, monkeypatch: pytest.MonkeyPatch) -> None:
    type_in(monkeypatch, "p(1). p(2).\np($x)?\n")
    assert emberlog("repl", "--param", "x=2").out.endswith("p(2): 1 fact\n  2\n")


def test_limits(emberlog: Emberlog, monkeypatch: pytest.MonkeyPatch) -> None:
    type_in(monkeypatch, "n(0). n(X + 1) :- n(X). n(X)?\n")
    assert "error[DL510]" in emberlog("repl", "--max-iterations", "5").out
