"""Warnings on the command line: each once, left out, or as errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.conftest import Emberlog


def test_the_command_line_tells_each_warning_once(emberlog: Emberlog) -> None:
    Path("w.dl").write_text("e(1, 2). p(X) :- e(X, Once).\n")
    outcome = emberlog("run", "--engine", "local", "w.dl")
    assert outcome.code == 0
    assert outcome.err.count("warning[DL290]") == 1
    assert emberlog("run", "--engine", "local", "--warnings", "ignore", "w.dl").err.count("warning") == 0


@pytest.mark.parametrize("command", ["run", "check", "explain"])
def test_the_command_line_can_end_at_a_warning(emberlog: Emberlog, command: str) -> None:
    Path("w.dl").write_text("e(1, 2). p(X) :- e(X, Once).\n")
    options = ["--engine", "local"] if command == "run" else []
    outcome = emberlog(command, *options, "--warnings", "error", "w.dl")
    assert outcome.code == 1
    assert "warning[DL290]: the variable `Once` occurs only once in this rule" in outcome.out + outcome.err
    assert emberlog(command, *options, "w.dl").code == 0


def test_a_run_that_was_cut_off_says_so_in_the_end(emberlog: Emberlog) -> None:
    Path("cycle.dl").write_text(
        '@iterations(20).\npart("a", "b", 2). part("b", "a", 2).\n'
        'n("a", sum<X>) :- X = 1.\nn(P, sum<M>) :- n(W, N), part(W, P, K), M = N * K.\n'
    )
    outcome = emberlog("run", "--engine", "local", "cycle.dl")
    assert outcome.code == 0
    assert "warning[DL491]: `n` had not come to rest" in outcome.err
    assert outcome.err.splitlines()[-1].startswith("not at rest: n still changed in the last of 20 iterations")
    assert emberlog("run", "--engine", "local", "--warnings", "error", "cycle.dl").code == 1
