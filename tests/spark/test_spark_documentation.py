"""The code blocks of the documentation that need Spark, in this process, so that they share its session."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from emberlog.__main__ import main
from tests.test_documentation import Block, check_console, each, prepare_folder, run_python

pytestmark = pytest.mark.in_driver


@pytest.fixture(autouse=True)
def folder(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, and a session that is found without asking for it."""
    assert SparkSession.getActiveSession() is spark
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def run_emberlog(arguments: list[str]) -> str:
    """Everything that the command prints, to standard output and to standard error."""
    printed = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(printed):
        main(arguments)
    return printed.getvalue()


@each("python", on_spark=True)
def test_python_block(block: Block, folder: Path) -> None:
    prepare_folder(block, folder)
    run_python(block)


@each("console", on_spark=True)
def test_console_block(block: Block, folder: Path) -> None:
    prepare_folder(block, folder)
    check_console(block, run_emberlog)
