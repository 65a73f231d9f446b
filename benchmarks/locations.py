"""Where things lie: the cache, which git ignores, and what is in it."""

from __future__ import annotations

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
REPOSITORY = PACKAGE.parent


def cache() -> Path:
    """Generated data, the peers' environment and compiled Java; `EMBERLOG_BENCH_CACHE` puts it elsewhere."""
    return Path(os.environ.get("EMBERLOG_BENCH_CACHE", PACKAGE / ".cache")).resolve()


def data() -> Path:
    return cache() / "data"


def peers_environment() -> Path:
    """The virtual environment that `python -m benchmarks install` makes for the peers."""
    return cache() / "peers"


def peers_python() -> Path:
    return peers_environment() / "bin" / "python"


def pathway_python() -> Path:
    """The interpreter of an environment that Pathway has to itself: it asks for other versions of what peers share."""
    return cache() / "pathway" / "bin" / "python"


def flink_jars() -> Path:
    return cache() / "flink"


def java_classes(program: str) -> Path:
    return cache() / "classes" / program
