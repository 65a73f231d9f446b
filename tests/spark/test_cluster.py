"""The quick part of the tests on a cluster, in namespaces of its own; `python3 dev.py cluster` runs all."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.cluster.machines import ROOT, way_in
from tests.spark.test_other_sessions import PATIENCE

pytestmark = pytest.mark.timeout(PATIENCE + 60)


@pytest.mark.skipif(sys.platform != "linux", reason="machines are made of the namespaces of Linux")
def test_quick_part() -> None:
    path = os.pathsep.join((str(ROOT / "src"), str(ROOT)))
    finished = subprocess.run(
        [sys.executable, "-m", "tests.cluster", "tests/cluster", "-q", "-m", "not slow"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path, "EMBERLOG_CLUSTER_MACHINES": "2"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
    )
    assert finished.returncode == 0, finished.stdout
    assert " passed" in finished.stdout


def test_nothing_is_left_when_a_run_is_killed() -> None:
    enter = way_in()
    if enter is None:
        pytest.skip("no namespaces here")
    script = "ip link add emberlog-left type bridge && exec sleep 600"
    inside = subprocess.Popen([*enter, "sh", "-c", f"({script}) & echo made; wait"], stdout=subprocess.PIPE, text=True)
    assert inside.stdout is not None
    assert inside.stdout.readline() == "made\n"
    inside.kill()
    inside.wait()
    assert inside.stdout.read() == ""  # the pipe closes with the last process that has it
    inside.stdout.close()
    assert "emberlog-left" not in subprocess.check_output(["ip", "link"], text=True)
