"""Commands run in this process, with what they print."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from emberlog.__main__ import main


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


Emberlog = Callable[..., Outcome]


@pytest.fixture
def emberlog(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., Outcome]:
    """Runs the command line in an empty folder."""
    for name in ("NO_COLOR", "FORCE_COLOR", "EMBERLOG_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Outcome:
        try:
            code = main(arguments)
        except SystemExit as stop:  # argparse ends the process itself
            code = stop.code if isinstance(stop.code, int) else 1
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return run
