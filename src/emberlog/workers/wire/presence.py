"""A worker's presence: it meets the others, and gives the driver signs of life until nothing more comes from it."""

from __future__ import annotations

import os

from emberlog.workers.wire.exchange import PeerLost
from emberlog.workers.wire.handshake import Credentials
from emberlog.workers.wire.heartbeat import Heartbeat
from emberlog.workers.wire.rendezvous import Address, Gathering, Met, meet


class Presence:
    def __init__(self, number: int, workers: int, host: str, stall_seconds: float) -> None:
        self._number = number
        self._workers = workers
        self._host = host
        self._stall_seconds = stall_seconds
        self._met: Met | None = None
        self._pulse: Heartbeat | None = None

    def begin(self, credentials: Credentials, tracker: Address | None, gather: Gathering) -> Met:
        try:
            self._met = meet(self._number, self._workers, self._host, credentials, tracker, gather)
        except OSError as error:
            raise PeerLost(f"the workers could not meet: {error}") from error
        if self._met.tracker is not None:
            self._pulse = Heartbeat(self._met, self._stall_seconds, _end_process)
        return self._met

    def leave_peers(self) -> None:
        """Those who wait for this worker learn that nothing comes any more."""
        if self._met is not None:
            self._met.leave_peers()

    def end(self) -> None:
        if self._pulse is not None:
            self._pulse.stop()
        if self._met is not None:
            self._met.close()


def _end_process() -> None:
    """Spark would do so, too, some seconds later. Until then the next attempt would have to share the machine with a
    worker of the last one."""
    os._exit(1)
