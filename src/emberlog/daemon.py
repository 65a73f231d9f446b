"""Spark's own daemon for Python workers, with libraries and kernels loaded before it makes any.

Workers are forks of the daemon, and Spark ends those that had nothing to do for a minute. Loading takes a worker more
than a second; a fork has everything from the beginning.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from importlib.machinery import PathFinder
from pathlib import Path


def without_archives(path: Sequence[str]) -> list[str]:
    """Where Python looks for modules, without Spark's archives if they lie in an installed pyspark.

    Spark puts archives of itself in front of everything. What is imported from one is compiled anew in each process,
    and each worker reads the archive's table of contents again for every package that came from there. An installed
    pyspark has the same modules, and keeps them compiled.
    """
    elsewhere = [entry for entry in path if not entry.endswith((".zip", ".jar"))]
    pyspark, py4j = (PathFinder.find_spec(name, elsewhere) for name in ("pyspark", "py4j"))
    if pyspark is None or pyspark.origin is None or py4j is None:
        return list(path)
    home = Path(pyspark.origin).resolve().parent
    return [entry for entry in path if not Path(entry).resolve().is_relative_to(home)]


if __name__ == "__main__":
    sys.path[:] = without_archives(sys.path)
    gc.disable()
    import pyspark.worker  # noqa: F401  (as all of these: what a worker needs)

    import emberlog.engines.spark.task
    import emberlog.streams.spark.task  # noqa: F401
    from emberlog.workers.kernels.jit import load_compiled
    from emberlog.workers.kernels.machine_memory import load_libraries

    load_libraries()
    load_compiled()
    from pyspark.daemon import manager

    # Spark collects garbage after each task. What is loaded is none, and to look at it would copy it to each worker.
    gc.freeze()
    gc.enable()
    manager()
