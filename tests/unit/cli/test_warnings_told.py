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
