"""The suite for other kinds of sessions, each kind in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PATIENCE = 900
"""Seconds until a suite is taken to hang: it needs about a hundred alone, and more beside other work."""

pytestmark = pytest.mark.timeout(PATIENCE + 60)

SUITES = "tests/spark/other_sessions"
OF_ONE_KIND = ("test_workers", "test_lost_executors", "test_restless", "test_bare", "test_encrypted")
EVERYTHING = (SUITES, *(f"--ignore={SUITES}/{name}.py" for name in OF_ONE_KIND))
each_kind = pytest.mark.parametrize("kind", ["local-cluster", "connect"])


@each_kind
def test_suite(kind: str) -> None:
    run_suite(kind)


def test_many_workers() -> None:
    run_suite("five-slots", f"{SUITES}/test_workers.py")


def test_executors_that_come_and_go() -> None:
    run_suite("restless", f"{SUITES}/test_restless.py")


def test_lost_executors() -> None:
    run_suite("local-cluster", f"{SUITES}/test_lost_executors.py")


def test_executors_without_the_package() -> None:
    run_suite("bare", f"{SUITES}/test_bare.py")


def test_encrypted_connections() -> None:
    run_suite("encrypted", f"{SUITES}/test_encrypted.py")


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
        timeout=PATIENCE,
    )
    assert finished.returncode == 0, finished.stdout
    assert " passed" in finished.stdout and " skipped" not in finished.stdout
