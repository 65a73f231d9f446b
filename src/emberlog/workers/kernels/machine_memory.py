"""Tells how much memory there is for workers: on a machine, in a container, and by what Spark gives to Python."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa

from emberlog.workers.kernels.hashing import mix
from emberlog.workers.kernels.tuning import MEMORY_SHARE

_MACHINE = Path("/proc/meminfo")
_OWN_GROUP = Path("/proc/self/cgroup")
_GROUPS = Path("/sys/fs/cgroup")
_STATISTICS = Path("/proc/self/statm")

_UNITS = {"b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40, "p": 1 << 50}

LEAST_OVERHEAD = "384m"


def memory_for_each(workers: int) -> int | None:
    """Returns the bytes that each of several workers on this machine may use; None where the system does not tell."""
    shares = [left / workers for left in (*_left_on_machine(), *_left_in_groups())]
    least = min((*shares, *_left_in_process()), default=None)
    return None if least is None else max(int(least * MEMORY_SHARE), 1)


def _left_on_machine() -> Iterator[int]:
    if _MACHINE.exists():
        figures = dict(line.split(":", 1) for line in _MACHINE.read_text().splitlines())
        yield int(figures["MemAvailable"].split()[0]) * 1024


def _left_in_groups() -> Iterator[int]:
    """Yields what is left of the limits of containers: this process's group and all around it. What they have in files
    can be given up."""
    for folder in _group_folders():
        for limit, usage, statistics in (
            ("memory.max", "memory.current", "memory.stat"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "memory.stat"),
        ):
            most = _number(folder / limit)
            used = None if most is None else _number(folder / usage)
            if most is not None and used is not None:
                yield max(most - used + _files_in(folder / statistics), 0)


def _group_folders() -> Iterator[Path]:
    yield from (_GROUPS, _GROUPS / "memory")
    if not _OWN_GROUP.exists():
        return
    for line in _OWN_GROUP.read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        root = _GROUPS / "memory" if "memory" in controllers.split(",") else _GROUPS
        for part in (Path(path.lstrip("/")), *Path(path.lstrip("/")).parents):
            if part != Path():
                yield root / part


def _number(file: Path) -> int | None:
    """Returns what a file of the system says; None where there is no limit, or no such file."""
    try:
        text = file.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None


def _files_in(file: Path) -> int:
    try:
        lines = file.read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("inactive_file "))


def _left_in_process() -> Iterator[int]:
    """Yields what is left of the limit that Spark sets for a worker with `spark.executor.pyspark.memory`."""
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most != resource.RLIM_INFINITY and _STATISTICS.exists():
        used = int(_STATISTICS.read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        yield most - used


def memory_from_spark(settings: Mapping[str, str]) -> int | None:
    """Returns the bytes for each worker that a resource manager leaves to Python: it ends executors that use more. None
    where Spark has nothing to say."""
    tasks = max(int(settings.get("spark.executor.cores", "1")) // int(settings.get("spark.task.cpus", "1")), 1)
    if (asked := settings.get("spark.executor.pyspark.memory")) is not None:
        return bytes_of(asked, "m") // tasks
    if not settings.get("spark.master", "").startswith(("yarn", "k8s")):
        return None
    overhead = settings.get("spark.executor.memoryOverhead")
    if overhead is not None:
        size = bytes_of(overhead, "m")
    else:
        factor = float(settings.get("spark.executor.memoryOverheadFactor", "0.1"))
        least = bytes_of(settings.get("spark.executor.minMemoryOverhead", LEAST_OVERHEAD), "m")
        size = max(int(bytes_of(settings.get("spark.executor.memory", "1g"), "m") * factor), least)
    return int(size * MEMORY_SHARE / tasks)


def bytes_of(text: str, unit: str) -> int:
    """Returns the bytes of a size as Spark writes it, such as `512m` or `2gb`; a plain number is in that unit."""
    plain = text.strip().lower()
    letters = plain.lstrip("0123456789")
    return int(plain[: len(plain) - len(letters)]) * _UNITS[(letters or unit)[0]]


def load_libraries() -> None:
    """Loads what libraries load when they are first used, so that it is no part of the budget for facts: pandas comes
    with the first array of pyarrow, LLVM with the first kernel, 20 MiB each."""
    pa.array([], pa.large_string())
    mix(0)
