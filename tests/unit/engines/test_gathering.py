"""Room for sets of workers, and the watch over those that have not come."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from emberlog.engines.spark import gathering
from emberlog.engines.spark.gathering import ArrivalMonitor, Room, Situation


def nothing() -> None:
    pass


def test_sets_that_fit_together_are_in_together() -> None:
    room = Room()
    both = threading.Barrier(2)

    def run() -> None:
        with room.taken(2, 4, nothing):
            both.wait(timeout=20)

    with ThreadPoolExecutor(2) as threads:
        for future in [threads.submit(run) for _ in range(2)]:
            future.result(timeout=30)


def test_sets_that_do_not_are_in_one_after_the_other() -> None:
    room, inside, most = Room(), [0], [0]
    lock = threading.Lock()

    def run(workers: int) -> None:
        with room.taken(workers, 4, nothing):
            with lock:
                inside[0] += workers
                most[0] = max(most[0], inside[0])
            with lock:
                inside[0] -= workers

    with ThreadPoolExecutor(8) as threads:
        for future in [threads.submit(run, workers) for workers in (3, 4, 2, 1, 4, 3, 2, 2) * 20]:
            future.result(timeout=60)
    assert most[0] <= 4
    assert inside == [0]


def test_one_that_needs_more_than_there_is_gets_in_alone() -> None:
    room = Room()
    with room.taken(9, 4, nothing):
        pass


def test_who_has_no_time_left_leaves_the_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "LOOK_SECONDS", 0.01)

    def no_time() -> None:
        raise TimeoutError

    room = Room()
    with room.taken(4, 4, nothing), pytest.raises(TimeoutError), room.taken(4, 4, no_time):
        pass
    with room.taken(4, 4, nothing):
        pass


@dataclass
class Arrivals:
    arrived: int = 1
    called_off: str = ""

    def call_off(self, reason: str) -> None:
        self.called_off = reason


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(gathering, "PATIENCE_SECONDS", 0.1)


@pytest.mark.usefixtures("hasty")
def test_too_few_slots_are_told_and_stop_the_job() -> None:
    stopped = threading.Event()
    monitor = ArrivalMonitor(Arrivals(), 4, lambda: Situation(3, 4, 0), stopped.set)
    assert stopped.wait(20)
    monitor.close()
    assert monitor.problem is not None
    assert (monitor.problem.slots, "room for 3 of 4 workers" in str(monitor.problem)) == (3, True)


@pytest.mark.usefixtures("hasty")
def test_slots_that_others_have_are_waited_for() -> None:
    looks = threading.Semaphore(0)

    def look() -> Situation:
        looks.release()
        return Situation(4, 4, 0)

    monitor = ArrivalMonitor(Arrivals(), 4, look, lambda: pytest.fail("there is room for all"))
    for _ in range(50):
        assert looks.acquire(timeout=20)
    monitor.close()
    assert monitor.problem is None


@pytest.mark.usefixtures("hasty")
def test_two_sets_that_no_longer_fit_in_together_give_up() -> None:
    """Each has a slot, and would wait for the other's for ever."""
    stopped = threading.Event()
    monitor = ArrivalMonitor(Arrivals(), 2, lambda: Situation(2, 4, 0), stopped.set)
    assert stopped.wait(20)
    monitor.close()
    assert monitor.problem is not None
    assert monitor.problem.slots == 2


@pytest.mark.usefixtures("hasty")
def test_one_that_ended_without_the_others_is_not_waited_for() -> None:
    tracker = Arrivals()
    monitor = ArrivalMonitor(tracker, 2, lambda: Situation(2, 2, 1), lambda: pytest.fail("they are told why"))
    monitor._thread.join(timeout=20)
    monitor.close()
    assert tracker.called_off == "a worker ended before it met the others"


@pytest.mark.usefixtures("hasty")
def test_nobody_watches_when_all_are_here() -> None:
    monitor = ArrivalMonitor(Arrivals(4), 4, lambda: pytest.fail("nobody has to ask"), nothing)
    monitor._thread.join(timeout=20)
    assert not monitor._thread.is_alive()
    monitor.close()
