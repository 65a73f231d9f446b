"""The suite for other kinds of sessions, each kind in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


EVERYTHING = ("tests/spark/other_sessions", "--ignore=tests/spark/other_sessions/test_workers.py")
each_kind = pytest.mark.parametrize("kind", ["local-cluster", "connect"])


@each_kind
def test_suite(kind: str) -> None:
    run_suite(kind)


def test_many_workers() -> None:
    run_suite("five-slots", "tests/spark/other_sessions/test_workers.py")


@pytest.mark.slow
@each_kind
def test_slow_part_of_the_suite(kind: str) -> None:
    run_suite(kind, *EVERYTHING, "-m", "slow")


def run_suite(kind: str, *arguments: str) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK", "PYSPARK"))}
    finished = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *(arguments or EVERYTHING)],
        cwd=ROOT,
        env={**environment, "EMBERLOG_TEST_SESSION": kind},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=280,
    )
    assert finished.returncode == 0, finished.stdout
    assert " passed" in finished.stdout and " skipped" not in finished.stdout
