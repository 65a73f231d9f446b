"""Faults that strike a worker from inside, at a moment of the recursion, with what it stands on: its process, its
executor, the Worker of its machine, the machine."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from emberlog.engines.spark.job import Phase
from emberlog.engines.spark.task import TaskRun


@dataclass
class Strike:
    """Strikes one worker when it reaches a phase for the n-th time. It strikes so often altogether, whoever starts the
    workers again: marks in a folder that all machines see count it."""

    what: str
    phase: Phase
    marks: str
    times: int = 1
    worker: int = 1
    strikes: int = 1
    reached: int = 0

    def at(self, phase: Phase, run: TaskRun) -> None:
        if phase is not self.phase or run.number != self.worker:
            return
        self.reached += 1
        if self.reached >= self.times and self._is_due():
            STRIKES[self.what]()
            time.sleep(60)  # what was struck takes this process with it

    @property
    def struck(self) -> float | None:
        """Returns when it struck last, None if it did not."""
        return max((mark.stat().st_mtime for mark in Path(self.marks).iterdir()), default=None)

    def _is_due(self) -> bool:
        for number in range(self.strikes):
            try:
                (Path(self.marks) / f"strike-{number}").touch(exist_ok=False)
            except FileExistsError:
                continue
            return True
        return False


def python_worker() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def stalled_worker() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def executor() -> None:
    os.kill(_ancestor("CoarseGrainedExecutorBackend"), signal.SIGKILL)


def worker_daemon() -> None:
    """Kills the Worker; its executor hears of it from nobody, and goes on until it is told."""
    os.kill(_ancestor("deploy.worker.Worker"), signal.SIGKILL)


def host() -> None:
    """Kills everything on the machine at once; its kernel still says goodbye to those who were connected."""
    os.kill(-1, signal.SIGKILL)  # all but this one
    os.kill(os.getpid(), signal.SIGKILL)


def power() -> None:
    """Takes the machine off the network, and then kills everything: nobody hears of it."""
    subprocess.run(["ip", "link", "set", "eth0", "down"], check=True)
    host()


STRIKES: dict[str, Callable[[], None]] = {
    "Python worker": python_worker,
    "stalled Python worker": stalled_worker,
    "executor": executor,
    "Worker daemon": worker_daemon,
    "host": host,
    "host, silently": power,
}


def _ancestor(word: str) -> int:
    pid = os.getpid()
    while pid > 1:
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        if word in Path(f"/proc/{pid}/cmdline").read_text():
            return pid
    raise RuntimeError(f"no {word} above this process")
