"""Workers that find each other, and strangers that are not let in."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from emberlog.workers.plan.mode import Mode
from emberlog.workers.wire.handshake import Credentials, Newcomer, Refused, greet, new_key
from emberlog.workers.wire.merged_progress import MergedProgress
from emberlog.workers.wire.messages import Progress
from emberlog.workers.wire.rendezvous import Address, Met, Taken, Tracker, meet

OURS = Credentials("run", 0, new_key())


class Gathered:
    """What Spark's barrier does: everyone waits for everyone's text."""

    def __init__(self, workers: int) -> None:
        self.barrier = threading.Barrier(workers)
        self.texts: dict[int, str] = {}

    def by(self, number: int) -> Met:
        def gather(text: str, /) -> list[str]:
            self.texts[number] = text
            self.barrier.wait(timeout=20)
            return [self.texts[one] for one in sorted(self.texts)]

        return meet(number, self.barrier.parties, "127.0.0.1", OURS, None, gather)


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_meeting_by_gathering(workers: int) -> None:
    gathered = Gathered(workers)
    with ThreadPoolExecutor(workers) as threads:
        teams = list(threads.map(gathered.by, range(workers)))
    assert_connected(teams)


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_meeting_by_tracker(workers: int) -> None:
    heard: list[Progress] = []
    tracker = Tracker("127.0.0.1", workers, OURS, MergedProgress(workers, heard.append, Mode.BSP))
    try:
        with ThreadPoolExecutor(workers) as threads:
            teams = list(threads.map(lambda number: by_tracker(number, workers, tracker), range(workers)))
        teams[0].tell(Progress(1, 10, 100, 7))
        wait_until(lambda: heard == [Progress(1, 10, 100, 7)])
        assert_connected(teams)
    finally:
        tracker.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "emberlog tracker"]


def by_tracker(number: int, workers: int, tracker: Tracker) -> Met:
    def gather(_: str, /) -> list[str]:
        raise AssertionError("the tracker was there")

    return meet(number, workers, "127.0.0.1", OURS, tracker.address, gather)


def test_a_second_task_of_a_worker_waits_until_the_end() -> None:
    """Spark would stop the first one if the second ended."""
    tracker = Tracker("127.0.0.1", 2, OURS, MergedProgress(2, lambda _: None, Mode.BSP))
    try:
        with ThreadPoolExecutor(3) as threads:
            first = threads.submit(by_tracker, 0, 2, tracker)
            wait_until(lambda: tracker.arrived == 1)
            second = threads.submit(by_tracker, 0, 2, tracker)
            teams = [threads.submit(by_tracker, 1, 2, tracker).result(timeout=20), first.result(timeout=20)]
            third = threads.submit(by_tracker, 1, 2, tracker)
            wait_until(lambda: len(tracker._waiting) == 2)
            assert_connected(teams[::-1])
            assert not second.done() and not third.done()
            tracker.close()
            for late in (second, third):
                with pytest.raises(Taken):
                    late.result(timeout=20)
    finally:
        tracker.close()


def test_one_that_has_not_started_is_waited_for_and_one_that_is_lost_is_not() -> None:
    problems: list[str] = []
    tracker = Tracker("127.0.0.1", 2, OURS, MergedProgress(2, lambda _: None, Mode.BSP), problems.append, 0.05)
    try:
        connection = socket.create_connection((tracker.address.host, tracker.address.port), timeout=20)
        greet(connection, OURS, 0, -1)
        connection.sendall(b"\x02\0\0\0[]")
        wait_until(lambda: tracker.arrived == 1)
        time.sleep(0.3)  # several times as long as a worker may be silent
        assert not problems
        connection.close()
        wait_until(lambda: problems == ["the connection to worker 0 was lost"])
    finally:
        tracker.close()


def test_the_driver_may_be_dialed_at_another_name() -> None:
    tracker = Tracker("127.0.0.1", 1, OURS, MergedProgress(1, lambda _: None, Mode.BSP), dialed_at="localhost")
    try:
        assert tracker.address == Address("localhost", tracker.address.port)
        met = by_tracker(0, 1, tracker)
        assert met.hosts == ("127.0.0.1",)
        met.close()
    finally:
        tracker.close()


def assert_connected(teams: list[Met]) -> None:
    for number, met in enumerate(teams):
        assert sorted(met.peers) == [other for other in range(len(teams)) if other != number]
        for peer, connection in met.peers.items():
            connection.sendall(bytes([number]))
            assert teams[peer].peers[number].recv(1) == bytes([number])
    for met in teams:
        met.close()


def wait_until(holds: Callable[[], bool]) -> None:
    for _ in range(200):
        if holds():
            return
        time.sleep(0.02)
    raise AssertionError("it did not happen")


def handshake(dialer: Credentials, listener: Credentials, number: int = 1) -> list[object]:
    """What both ends make of each other."""
    one, other = socket.socketpair()
    with one, other, ThreadPoolExecutor(2) as threads:

        def listen() -> object:
            newcomer = Newcomer(other, listener, 0)
            while True:
                try:
                    if (found := newcomer.go_on()) is not None:
                        return found
                except Refused as problem:
                    other.close()
                    return problem
                time.sleep(0.001)

        def dial() -> object:
            try:
                greet(one, dialer, number, 0)
            except (Refused, OSError) as problem:
                one.close()
                return problem
            return None

        return [future.result(timeout=30) for future in (threads.submit(dial), threads.submit(listen))]


def test_both_ends_know_each_other() -> None:
    assert handshake(OURS, OURS, 5) == [None, 5]


@pytest.mark.parametrize(
    "stranger",
    [replace(OURS, key=new_key()), replace(OURS, run="another"), replace(OURS, attempt=1)],
    ids=["key", "run", "attempt"],
)
def test_strangers_are_refused(stranger: Credentials) -> None:
    for ends in (handshake(stranger, OURS), handshake(OURS, stranger)):
        assert any(isinstance(end, Refused) for end in ends)
        assert not any(isinstance(end, int) for end in ends)


def test_an_iteration_is_told_when_all_workers_are_done_with_it() -> None:
    heard: list[Progress] = []
    progress = MergedProgress(2, heard.append, Mode.DECOMPOSED)
    progress.report(0, Progress(1, 5, 5, 0))
    progress.report(0, Progress(2, 3, 8, 1))
    assert not heard
    progress.report(1, Progress(1, 2, 2, 1))
    assert heard == [Progress(1, 7, 7, 1)]
    progress.finish(1)
    assert heard[1:] == [Progress(2, 3, 10, 2)]
    progress.report(0, Progress(3, 1, 9, 1))
    assert heard[2:] == [Progress(3, 1, 11, 2)]
