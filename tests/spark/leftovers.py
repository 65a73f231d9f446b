"""What a run must not leave behind: processes, threads, sockets, files, blocks. Linux tells all of it in /proc."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from emberlog.places import existing_folders
from tests.spark.storage import jobs_end

PATIENCE_SECONDS = 20.0
"""Spark takes some seconds to kill a worker that does not answer."""


@dataclass(frozen=True)
class Traces:
    """What is there at one moment."""

    threads: tuple[str, ...]
    """Of Emberlog in this process, and timers."""
    listening: int
    """Ports of this process."""
    folders: frozenset[Path]
    """Of runs, in the temporary folder."""
    persistent: int
    """Frames that Spark keeps."""
    stopped: int
    """Python workers that neither run nor sleep."""
    connected: int
    """Connections between Python workers, or from them to this process."""

    def beyond(self, before: Traces) -> list[str]:
        """What is there now and was not there before. That something of an earlier run has ended meanwhile is fine."""
        left = [f"thread {name}" for name in Counter(self.threads) - Counter(before.threads)]
        left += [f"folder {folder}" for folder in self.folders - before.folders]
        for name in ("listening", "persistent", "stopped", "connected"):
            more = getattr(self, name) - getattr(before, name)
            left += [f"{more} more {name}"] if more > 0 else []
        return left


def traces(spark: SparkSession) -> Traces:
    ours = [one.name for one in threading.enumerate() if one.name.startswith("emberlog") or "Timer" in one.name]
    sockets = _sockets()
    mine = [sockets[inode] for inode in _inodes(os.getpid()) if inode in sockets]
    workers = python_workers()
    of_workers = [sockets[inode] for child in workers for inode in _inodes(child) if inode in sockets]
    ends = {one.local for one in (*mine, *of_workers)}
    context: Any = spark.sparkContext._jsc
    return Traces(
        tuple(ours),
        sum(one.is_listening for one in mine),
        existing_folders() | frozenset(Path(tempfile.gettempdir()).glob("emberlog-run-*/run-*")),
        int(context.getPersistentRDDs().size()),
        sum(_state(child) in "Tt" for child in workers),
        sum(one.remote in ends and not one.is_listening for one in of_workers),
    )


def python_workers() -> list[int]:
    """The processes of Python that Spark has started for this one."""
    return [child for child in _descendants(os.getpid()) if _is_python(child)]


def nothing_but(before: Traces, spark: SparkSession) -> None:
    """Fails if something is there that was not there before, when all that is ending has ended."""
    assert jobs_end(spark, PATIENCE_SECONDS)
    until = time.monotonic() + PATIENCE_SECONDS
    while (left := traces(spark).beyond(before)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not left, left


@dataclass(frozen=True)
class _Socket:
    local: str
    remote: str
    is_listening: bool


def _sockets() -> dict[str, _Socket]:
    """All TCP sockets of the machine, by inode."""
    found: dict[str, _Socket] = {}
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            local, remote = (_port_of(end) for end in fields[1:3])
            found[fields[9]] = _Socket(local, remote, fields[3] == "0A")
    return found


def _port_of(end: str) -> str:
    """All of it is on this machine, so a port is enough, in IPv4 and in IPv6."""
    return end.rpartition(":")[2]


def _inodes(process: int) -> list[str]:
    found = []
    try:
        for link in Path(f"/proc/{process}/fd").iterdir():
            name = os.readlink(link)
            if name.startswith("socket:["):
                found.append(name[8:-1])
    except OSError:  # it has just ended
        pass
    return found


def _descendants(process: int) -> list[int]:
    parents: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            fields = _status(int(folder.name))
            if fields:
                parents.setdefault(int(fields[1]), []).append(int(folder.name))
    found, waiting = [], [process]
    while waiting:
        for child in parents.get(waiting.pop(), []):
            found.append(child)
            waiting.append(child)
    return found


def _status(process: int) -> list[str]:
    """The state, the parent and more; empty for a process that is gone."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _state(process: int) -> str:
    return (_status(process) or ["S"])[0]


def _is_python(process: int) -> bool:
    try:
        return b"python" in Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")[0]
    except OSError:
        return False
