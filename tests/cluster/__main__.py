"""Runs the tests of this folder on a cluster of their own: `python -m tests.cluster [arguments of pytest]`."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from tests.cluster.machines import INSIDE, ROOT, empty_folder, way_in

_FOLDER = "EMBERLOG_CLUSTER_FOLDER"


def main(arguments: list[str]) -> int:
    """Runs pytest inside, and returns how it ended."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *(arguments or ["tests/cluster"])]
    spark = ("SPARK", "PYSPARK")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(spark)}
    enter = way_in()
    if enter is None:
        print("no namespaces here: machines are addresses of the loopback interface, and share a disk", flush=True)
        with tempfile.TemporaryDirectory(prefix="emberlog-cluster-") as folder:
            return subprocess.call(command, cwd=ROOT, env={**environment, INSIDE: "loopback", _FOLDER: folder})
    folder = str(empty_folder())
    prepare = f'mount -t tmpfs emberlog "{folder}" && mkdir "{folder}/disk" && "$@"'
    places = {INSIDE: "namespaces", _FOLDER: folder, "TMPDIR": f"{folder}/disk"}
    return subprocess.call([*enter, "sh", "-c", prepare, "sh", *command], cwd=ROOT, env={**environment, **places})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
