"""A stream query whose process is killed, and which another process goes on with, gives what an undisturbed one gives.

`EMBERLOG_KILLS` sets the number of processes that are killed.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.dealings import Dealings
from tests.spark.killed_stream import run
from tests.spark.test_streams import facts, put

KILLS = int(os.environ.get("EMBERLOG_KILLS", "2"))
AT_ONCE = 2
ROOT = Path(__file__).parents[2]
SIGKILLED = -9


def filled(folder: Path) -> Path:
    """Three files of rides: as many batches."""
    folder.mkdir()
    chance = random.Random(8)
    for number in range(3):
        rows = [(3 * number + chance.randint(0, 3), *chance.sample("ABCDE", 2), chance.randint(1, 9)) for _ in range(8)]
        put(folder / "rides", number, rows)
    return folder


def answers(spark: SparkSession, folder: Path) -> set[tuple[object, ...]]:
    """With the number of the batch that each was told in."""
    return facts(spark.read.parquet(str(folder / "out" / "bestPrice")))


def killed(folder: Path, at: int) -> subprocess.Popen[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK", "PYSPARK"))}
    return subprocess.Popen(
        [sys.executable, "-m", "tests.spark.killed_stream", str(folder), str(at)],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_a_killed_process_changes_nothing(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = filled(tmp_path / "plain")
    dealings = Dealings()
    with monkeypatch.context() as patched:
        dealings.begin(patched)
        run(spark, plain)
    expected = answers(spark, plain)
    assert len(expected) > 20

    places = sorted(random.Random(KILLS).sample(range(1, dealings.count + 1), min(KILLS, dealings.count)))
    for begin in range(0, len(places), AT_ONCE):
        some = {at: filled(tmp_path / f"killed-{at}") for at in places[begin : begin + AT_ONCE]}
        processes = {at: killed(folder, at) for at, folder in some.items()}
        for at, process in processes.items():
            output, _ = process.communicate(timeout=200)
            assert process.returncode == SIGKILLED, output
            run(spark, some[at])
            assert answers(spark, some[at]) == expected, f"killed at {at} of {dealings.count}"
