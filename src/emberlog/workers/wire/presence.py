"""Keeps a worker present: it meets the others, and gives the driver signs of life until nothing more comes from it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from emberlog.workers.kernels.tuning import BEATS_PER_STALL, SLOWEST_BEAT
from emberlog.workers.wire.frames import PeerLost
from emberlog.workers.wire.handshake import Address, Credentials
from emberlog.workers.wire.listener import ANY_PORT, Ports
from emberlog.workers.wire.rendezvous import Gathering, Met, meet


class Heartbeat:
    """Tells the driver that one worker is alive, from the time it has met the others, by a thread of its own. Kernels
    leave the interpreter to other threads, so only a worker that is stopped, stuck or cut off falls silent. The same
    thread sees when the driver hangs up: the attempt is over then, and nobody needs what the worker does."""

    def __init__(self, met: Met, stall_seconds: float, abandoned: Callable[[], None]) -> None:
        """`abandoned` is called when the driver hangs up, in the thread of the heartbeat."""
        self._met = met
        self._seconds = min(stall_seconds / BEATS_PER_STALL, SLOWEST_BEAT)
        self._abandoned = abandoned
        self._is_over = threading.Event()
        # A daemon: a process that ends does not wait for it.
        self._thread = threading.Thread(target=self._run, daemon=True, name="emberlog heartbeat")
        self._thread.start()

    def _run(self) -> None:
        self._met.beat()
        while self._met.is_heard_for(self._seconds):
            self._met.beat()
        if not self._is_over.is_set():
            self._abandoned()

    def stop(self) -> None:
        self._is_over.set()
        self._met.stop_listening()
        self._thread.join(timeout=SLOWEST_BEAT)


class Presence:
    def __init__(self, number: int, workers: int, host: str, stall_seconds: float, ports: Ports = ANY_PORT) -> None:
        self._number = number
        self._workers = workers
        self._host = host
        self._stall_seconds = stall_seconds
        self._ports = ports
        self._met: Met | None = None
        self._heartbeat: Heartbeat | None = None

    def begin(self, credentials: Credentials, tracker: Address | None, gather: Gathering) -> Met:
        try:
            self._met = meet(self._number, self._workers, self._host, credentials, tracker, gather, self._ports)
        except OSError as error:
            raise PeerLost(f"the workers could not meet: {error}") from error
        if self._met.tracker is not None:
            self._heartbeat = Heartbeat(self._met, self._stall_seconds, _end_process)
        return self._met

    def leave_peers(self) -> None:
        """Tells those who wait for this worker that nothing comes any more."""
        if self._met is not None:
            self._met.leave_peers()

    def end(self) -> None:
        if self._heartbeat is not None:
            self._heartbeat.stop()
        if self._met is not None:
            self._met.close()


def _end_process() -> None:
    """Ends this process. Spark would do so, too, some seconds later. Until then the next attempt would have to share
    the machine with a worker of the last one."""
    os._exit(1)
