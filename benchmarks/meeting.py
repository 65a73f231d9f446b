"""Measures how workers meet, and what rounds without facts cost them: many of them as threads of this process, on
pretended hosts, over real connections.

What a worker costs is its own processor time; the clock of a machine that runs all of them says little.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass

from emberlog.workers.plan.mode import Mode
from emberlog.workers.wire.encryption import Identity
from emberlog.workers.wire.exchange import Exchange
from emberlog.workers.wire.handshake import Credentials, new_key
from emberlog.workers.wire.merged_progress import MergedProgress
from emberlog.workers.wire.messages import Message
from emberlog.workers.wire.rendezvous import Met, meet
from emberlog.workers.wire.tracker import Tracker


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


@dataclass(frozen=True, slots=True)
class RoundCost:
    """Tells what a round costs in which nobody has facts for anybody; of the mean worker."""

    cpu_seconds: float
    frames: float
    """That a worker sends, those with mail of others in them included."""
    bytes_sent: float


def host_of(number: int, workers: int, hosts: int) -> str:
    """Returns the loopback address that stands for the host of a worker; as many workers on each as can be."""
    return f"127.0.1.{1 + number * hosts // workers}"


def measured_meeting(
    workers: int,
    hosts: int = 1,
    use: Callable[[list[Met]], None] = lambda _: None,
    identity: Identity | None = None,
) -> MeetingCost:
    """Lets workers meet through a tracker; `use` gets their connections before they part. With an identity connections
    are encrypted."""
    credentials = Credentials("run", 0, new_key(), identity)
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


def measured_rounds(teams: list[Met], rounds: int = 20) -> RoundCost:
    """Swaps nothing but numbers so many times."""
    exchanges = [Exchange(number, met.peers, met.routes) for number, met in enumerate(teams)]
    spent = [0.0] * len(teams)

    def swap(exchange: Exchange) -> None:
        began = time.thread_time()
        for _ in range(rounds):
            exchange.swap([Message(sums=(1, 0, 0, 0)) for _ in teams])
        spent[exchange.number] = time.thread_time() - began

    with ThreadPoolExecutor(len(teams)) as threads:
        list(threads.map(swap, exchanges))
    each = rounds * len(teams)
    frames = sum(len(one.routes.abroad) + len(one.routes.locals) for one in exchanges) / len(teams)
    return RoundCost(sum(spent) / each, frames, sum(one.bytes_sent for one in exchanges) / each)


if __name__ == "__main__":
    for workers, hosts in ((8, 1), (32, 4), (48, 1), (48, 6), (64, 8), (128, 16), (256, 32)):
        found: list[RoundCost] = []

        def use(teams: list[Met], found: list[RoundCost] = found) -> None:
            found.append(measured_rounds(teams, 5))

        cost = measured_meeting(workers, hosts, use)
        print(json.dumps({"meeting": asdict(cost), "empty round": asdict(found[0])}), flush=True)
