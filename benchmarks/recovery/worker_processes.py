"""The Python workers of this process's own Spark, found in /proc, so that one of them can be killed."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from benchmarks.engines.process_tree import statuses

_PROC = Path("/proc")
_DAEMON = b"emberlog.daemon"
_PARENT, _USER, _SYSTEM = 1, 11, 12
"""Where they stand in /proc/PID/stat, counted from the field after the name in parentheses."""

_LOOK_SECONDS = 0.05


def kill_a_busy_one() -> None:
    """Ends the worker that computed most while it was looked at."""
    before = _times()
    time.sleep(_LOOK_SECONDS)
    now = _times()
    if not now:
        raise RuntimeError("there is no worker to kill")
    os.kill(max(now, key=lambda process: now[process] - before.get(process, 0)), signal.SIGKILL)


def _times() -> dict[int, int]:
    """The processor time of each worker: they are forks of the daemon, which is a descendant of this process."""
    fields = dict(statuses())
    return {
        process: int(own[_USER]) + int(own[_SYSTEM])
        for process, own in fields.items()
        if _DAEMON in (command := _command(process))
        and command == _command(int(own[_PARENT]))
        and _descends(process, fields)
    }


def _command(process: int) -> bytes:
    """A fork has the command line of its parent. That of Java names the daemon, too, but is another one."""
    try:
        return (_PROC / str(process) / "cmdline").read_bytes()
    except OSError:
        return b""


def _descends(process: int, fields: dict[int, list[str]]) -> bool:
    while process in fields:
        process = int(fields[process][_PARENT])
        if process == os.getpid():
            return True
    return False
