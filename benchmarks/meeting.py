"""Measures how workers meet: many of them as threads of this process, on pretended hosts, over real connections.

What a worker costs is its own processor time; the clock of a machine that runs all of them says little.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from emberlog.workers.plan.mode import Mode
from emberlog.workers.wire.handshake import Credentials, new_key
from emberlog.workers.wire.merged_progress import MergedProgress
from emberlog.workers.wire.rendezvous import Met, Tracker, meet


@dataclass(frozen=True, slots=True)
class MeetingCost:
    workers: int
    hosts: int
    cpu_seconds: float
    """Of the worker that needed most, from its start until it was connected with everyone."""
    mean_cpu_seconds: float
    connections: int
    """Of the worker that has most, the one to the driver included."""
    seconds: float
    """For all of them together, on this machine."""


def host_of(number: int, workers: int, hosts: int) -> str:
    """Returns the loopback address that stands for the host of a worker; as many workers on each as can be."""
    return f"127.0.1.{1 + number * hosts // workers}"


def measured_meeting(workers: int, hosts: int = 1, use: Callable[[list[Met]], None] = lambda _: None) -> MeetingCost:
    """Lets workers meet through a tracker; `use` gets their connections before they part."""
    credentials = Credentials("run", 0, new_key())
    tracker = Tracker("127.0.0.1", workers, credentials, MergedProgress(workers, lambda _: None, Mode.BSP))
    spent = [0.0] * workers
    ready = threading.Barrier(workers)

    def take_part(number: int) -> Met:
        ready.wait()
        began = time.thread_time()
        host = host_of(number, workers, hosts)
        met = meet(number, workers, host, credentials, tracker.address, lambda _: [])
        spent[number] = time.thread_time() - began
        return met

    try:
        with ThreadPoolExecutor(workers) as threads:
            began = time.monotonic()
            teams = list(threads.map(take_part, range(workers)))
            seconds = time.monotonic() - began
        connections = max(len(met.peers) + 1 for met in teams)
        use(teams)
        for met in teams:
            met.close()
    finally:
        tracker.close()
    return MeetingCost(workers, hosts, max(spent), sum(spent) / workers, connections, seconds)


if __name__ == "__main__":
    for workers, hosts in ((8, 1), (48, 1), (64, 8), (128, 16), (256, 32)):
        cost = measured_meeting(workers, hosts)
        print(json.dumps({name: getattr(cost, name) for name in MeetingCost.__slots__}))
