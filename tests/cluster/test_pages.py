"""The commands and settings of docs/cluster.md, read from the page and tried on the cluster."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.conftest import Sessions
from tests.cluster.machines import ROOT
from tests.cluster.standalone import Standalone
from tests.test_documentation import blocks_of

pytestmark = pytest.mark.slow

PAGE = ROOT / "docs" / "cluster.md"
BLOCKS = {block.setting("try") or block.setting("conf") or "": block.text for block in blocks_of(PAGE)}

PROGRAM = """\
arc(1, 2). arc(2, 3). arc(3, 1). arc(3, 4).
tc(X, Y) :- arc(X, Y).
tc(X, Z) :- tc(X, Y), arc(Y, Z).
"""


def page_settings(name: str) -> dict[str, str]:
    """Returns the settings of a block as a session takes them."""
    return {setting: value for setting, value in (line.split() for line in BLOCKS[name].splitlines())}


def tried(name: str, cluster: Standalone, folder: Path) -> str:
    """Runs the commands of a block, as they are there but for the address of the master; returns what they printed."""
    (folder / "tc.dl").write_text(PROGRAM)
    shell = BLOCKS[name].replace("spark://host:7077", cluster.master).replace("/tmp/", f"{folder}/")
    shell = shell.replace("emberlog run", f"{shlex.quote(sys.executable)} -m emberlog run --executor cyclic")
    own = {
        "SPARK_LOCAL_IP": cluster.network.driver,
        "PYTHONPATH": str(ROOT / "src"),
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
    }
    environment = {one: value for one, value in os.environ.items() if not one.startswith(("SPARK", "PYSPARK"))}
    done = subprocess.run(
        ["sh", "-ec", shell],
        cwd=folder,
        env={**environment, **own},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, f"{done.stdout}\n{cluster.logs()}"
    return done.stdout


def test_standalone(cluster: Standalone, sessions: Sessions, tmp_path: Path) -> None:
    """Without any setting: machines with the same environment have it in the same place."""
    sessions.close()
    assert "tc(X, Y): 12 facts" in tried("run", cluster, tmp_path)
