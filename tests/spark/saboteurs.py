"""Ways to break a worker, and what must not be left afterwards."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from emberlog.engines.spark.job import Phase
from emberlog.engines.spark.task import TaskRun
from emberlog.workers.kernels.memory import TooLarge
from emberlog.workers.recover.checkpoints import attempt_folder


@dataclass
class Break:
    """Breaks one worker when it reaches a phase for the n-th time, in the first attempts."""

    how: str
    phase: Phase
    worker: int = 1
    times: int = 1
    attempts: int = 1
    reached: int = 0

    def at(self, phase: Phase, run: TaskRun) -> None:
        if phase is not self.phase or run.number != self.worker or run.job.attempt > self.attempts:
            return
        self.reached += 1
        if self.reached == self.times:
            WAYS[self.how](run)


@dataclass
class FillMemory:
    """Has one worker think before its n-th exchange that it has no memory left."""

    times: int
    worker: int = 1
    reached: int = 0

    def at(self, phase: Phase, run: TaskRun) -> None:
        if phase is Phase.EXCHANGE and run.number == self.worker:
            self.reached += 1
            if self.reached == self.times:
                raise TooLarge("the facts need more than the 0.0 MiB of a worker")


def kill(_: TaskRun) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def stall(_: TaskRun) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def hang_up(run: TaskRun) -> None:
    """All connections to others end, and the worker goes on as if nothing had happened."""
    for connection in run.met.peers.values():
        connection.shutdown(socket.SHUT_RDWR)


def truncate(run: TaskRun) -> None:
    """Half a frame, then nothing more."""
    for connection in run.met.peers.values():
        connection.send(struct.pack("<4sI", b"MAIL", 40))
    hang_up(run)


def forge(run: TaskRun) -> None:
    """A frame that does not belong here."""
    for connection in run.met.peers.values():
        connection.send(struct.pack("<4sIQ", b"MAIL", 3, 2**40))


def lose_the_driver(run: TaskRun) -> None:
    if run.met.tracker is not None:
        run.met.tracker.shutdown(socket.SHUT_RDWR)


def fill_the_disk(_: TaskRun) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def cut_files_short(run: TaskRun) -> None:
    """What was written loses its end, as on a disk that lies."""
    for path in _place(run).rglob("*.parquet"):
        os.truncate(path, path.stat().st_size // 2)


def lose_files(run: TaskRun) -> None:
    shutil.rmtree(_place(run), ignore_errors=True)


def _place(run: TaskRun) -> Path:
    return Path(run.job.folder or "") / attempt_folder(run.job.attempt)


WAYS: dict[str, Callable[[TaskRun], None]] = {
    way.__name__.replace("_", " "): way
    for way in (
        kill,
        stall,
        hang_up,
        truncate,
        forge,
        lose_the_driver,
        fill_the_disk,
        cut_files_short,
        lose_files,
    )
}
