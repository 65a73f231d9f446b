"""Looks at what Emberlog needs of a machine, one by one: is it there, is it right, and what to do if not."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emberlog.diagnostics import EmberlogError
from emberlog.places import RUN_PREFIX, kept_folder

if TYPE_CHECKING:
    from emberlog.engines.spark.probe import Executor

GIB = 2**30

LEAST_MEMORY = 2 * GIB
LEAST_FREE_DISK = 1 * GIB

MEMORY_LIMIT = Path("/sys/fs/cgroup/memory.max")

PACKAGES = ("pyspark", "pandas", "pyarrow", "numpy", "numba")


class State(Enum):
    FINE = "fine"
    DOUBTFUL = "doubtful"
    """It will work, but not well."""
    MISSING = "missing"
    """Nothing will run before this is mended."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Tells what was found of one thing, and what to do about it."""

    state: State
    subject: str
    text: str
    remedy: str = ""


def findings() -> Iterator[Finding]:
    """Looks at everything that can be seen without starting Spark."""
    yield _python()
    yield _java()
    yield from (_package(name) for name in PACKAGES)
    yield _memory()
    yield _slots()
    yield _disk()
    yield _kernels()


def _python() -> Finding:
    """Tells which Python runs. One older than 3.11 would not have come this far."""
    return Finding(State.FINE, "Python", f"{platform.python_version()}, {sys.executable}")


def _java() -> Finding:
    from emberlog.engines.spark.java import find_java

    try:
        java = find_java()
    except EmberlogError as error:
        (diagnostic,) = error.diagnostics
        *reasons, remedy = (note.text for note in diagnostic.notes)
        return Finding(State.MISSING, "Java", "; ".join((diagnostic.message, *reasons)), remedy)
    return Finding(State.FINE, "Java", f"{java.version}, from {java.origin}: {java.home}")


def _package(name: str) -> Finding:
    from importlib.metadata import PackageNotFoundError, version

    wanted = _wanted(name)
    install = f'pip install "{name}{wanted}"'
    try:
        found = version(name)
    except PackageNotFoundError:
        return Finding(State.MISSING, name, "not installed", install)
    if not _fits(found, wanted):
        return Finding(State.MISSING, name, f"{found}, but Emberlog needs {wanted}", install)
    return Finding(State.FINE, name, found)


def _wanted(name: str) -> str:
    """Returns the versions that Emberlog asks for, as `>=4.3,<4.4`; nothing if Emberlog itself is not installed."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        requirements = requires("emberlog") or []
    except PackageNotFoundError:
        return ""
    for requirement in requirements:
        match = re.fullmatch(r"([\w.-]+)\s*([<>=!~][^;]*)?(;.*)?", requirement.strip())
        if match and match[1].lower() == name and not match[3]:
            return ",".join(sorted((match[2] or "").replace(" ", "").split(","), reverse=True))
    return ""


def _fits(version: str, wanted: str) -> bool:
    own = _numbers(version)
    bounds = re.findall(r"(>=|<)([\d.]+)", wanted)
    return all((own >= _numbers(bound)) == (sign == ">=") for sign, bound in bounds)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))


def _memory() -> Finding:
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return Finding(State.DOUBTFUL, "memory", "this system does not say how much it has")
    text = f"{total / GIB:,.1f} GiB; a local session takes half of it, at most 30 GiB"
    allowed = _container_limit()
    if allowed is not None and allowed < min(total // 2, 30 * GIB):
        text = f"{allowed / GIB:,.1f} GiB in this container, and a local session would take more"
        return Finding(State.DOUBTFUL, "memory", text, f"--conf spark.driver.memory={allowed // 2**20 * 2 // 3}m")
    if total >= LEAST_MEMORY:
        return Finding(State.FINE, "memory", text)
    return Finding(State.DOUBTFUL, "memory", text, "with less than 2 GiB expect large inputs to fail")


def _container_limit() -> int | None:
    """Returns the bytes of memory that the kernel allows this container; None if there is no limit."""
    try:
        return int(MEMORY_LIMIT.read_text())
    except (OSError, ValueError):  # no such file, or the word `max`
        return None


def _slots() -> Finding:
    slots = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    text = f"{slots:,} (tasks that run at the same time in a local session)"
    if slots > 1:
        return Finding(State.FINE, "slots", text)
    return Finding(State.DOUBTFUL, "slots", text, "one task at a time is slow; give the machine more cores")


def _kernels() -> Finding:
    """Tells where the machine code of the workers is kept. Without such a place each process compiles it again."""
    remedy = "give the user a home, or name a folder that he can write with XDG_CACHE_HOME or TMPDIR"
    try:
        from emberlog.workers.kernels.jit import code_folder

        folder, kept = code_folder(), kept_folder()
    except ImportError as error:
        return Finding(State.MISSING, "kernels", f"numba cannot be loaded: {error}", 'pip install "numba"')
    except EmberlogError:
        folder = kept = None
    if folder is None or kept is None:
        return Finding(State.DOUBTFUL, "kernels", "nowhere to keep machine code: every run compiles it again", remedy)
    if kept.name.startswith(RUN_PREFIX):
        text = f"machine code is kept in {folder}, which goes with the process: every run compiles it again"
        return Finding(State.DOUBTFUL, "kernels", text, remedy)
    return Finding(State.FINE, "kernels", f"machine code is kept in {folder}, and other files in {kept}")


def _disk() -> Finding:
    try:
        folder = tempfile.gettempdir()
    except OSError as error:
        remedy = "set TMPDIR to a folder that this user can write"
        return Finding(State.MISSING, "disk", f"no folder for temporary files: {error.strerror}", remedy)
    free = shutil.disk_usage(folder).free
    text = f"{free / GIB:,.1f} GiB free in {folder}, where Spark puts what does not fit in memory"
    if free >= LEAST_FREE_DISK:
        return Finding(State.FINE, "disk", text)
    return Finding(State.DOUBTFUL, "disk", text, "make room, or set SPARK_LOCAL_DIRS to a larger disk")


TRIAL = """\
arc(1, 2).
arc(2, 3).
arc(3, 4).
reach(X, Y) :- arc(X, Y).
reach(X, Z) :- reach(X, Y), arc(Y, Z).
"""
TRIAL_FACTS = 6

SLOWLY = "ship the package as docs/operations.md tells; recursions run as a series of jobs until then"


def try_spark(master: str | None = None, conf: Mapping[str, str] | None = None) -> Iterator[Finding]:
    """Runs a small recursive program on a Spark of our own, to see that everything works together, and asks the
    executors of a cluster what they have."""
    from emberlog.database import Database

    since = time.monotonic()
    try:
        with Database(master=master, conf=conf) as database:
            ready = time.monotonic()
            yield from _executors(database.spark)
            found = database.datalog(TRIAL)["reach"].count()
    except EmberlogError as error:
        first = error.diagnostics[0]
        yield Finding(State.MISSING, "Spark", first.message, "; ".join(note.text for note in first.notes))
        return
    if found != TRIAL_FACTS:
        yield Finding(State.MISSING, "Spark", f"a small program gave {found:,} facts instead of {TRIAL_FACTS}")
        return
    text = f"started in {ready - since:,.1f} s, and ran a small program in {time.monotonic() - ready:,.1f} s"
    yield Finding(State.FINE, "Spark", text)


def _executors(spark: Any) -> Iterator[Finding]:
    """Tells what the executors of a cluster say; nothing where Spark runs in one process."""
    from emberlog.engines.spark.failures import NotHere
    from emberlog.engines.spark.probe import is_local, probe
    from emberlog.engines.spark.slots import Slots

    if is_local(str(spark.sparkContext.master)):
        return
    try:
        found = probe(spark, max(Slots.of(spark).count, 1))
    except NotHere as problem:
        yield Finding(State.DOUBTFUL, "executor", str(problem), SLOWLY)
        return
    yield from (executor_finding(one) for one in found.executors)


def executor_finding(one: Executor) -> Finding:
    """Tells what is wrong with an executor, or that nothing is."""
    if one.problem is not None:
        return Finding(State.DOUBTFUL, "executor", one.problem, SLOWLY)
    if one.beyond_reach:
        text = f"{one.name} on {one.host} does not reach the driver at {one.beyond_reach}"
        return Finding(State.DOUBTFUL, "executor", text, "spark.driver.host, and a firewall; spark.emberlog.ports")
    cores = "" if one.cores is None else f", {one.cores:,} core{'' if one.cores == 1 else 's'}"
    return Finding(
        State.FINE, "executor", f"{one.name} on {one.host}: Python {one.python}, Emberlog {one.emberlog}{cores}"
    )
