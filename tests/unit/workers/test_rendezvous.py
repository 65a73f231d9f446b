"""Workers that find each other, and strangers that are not let in."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace

import pytest

from emberlog.workers.plan.mode import Mode
from emberlog.workers.wire import handshake as handshake_module
from emberlog.workers.wire.frames import PeerLost
from emberlog.workers.wire.handshake import Address, Credentials, Newcomer, Refused, Unreachable, greet, new_key
from emberlog.workers.wire.listener import ANY_PORT, Ports, SocketListener
from emberlog.workers.wire.merged_progress import MergedProgress
from emberlog.workers.wire.messages import Progress
from emberlog.workers.wire.rendezvous import Met, Taken, meet
from emberlog.workers.wire.tracker import Tracker, absence

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


@pytest.mark.parametrize("comes_late", [False, True])
def test_a_second_task_after_the_first_has_left_says_that_its_end_was_not_heard(
    monkeypatch: pytest.MonkeyPatch, comes_late: bool
) -> None:
    """As when the executor is gone before it could hand on what the worker gave it."""
    monkeypatch.setattr("emberlog.workers.wire.tracker.SECOND_TASK_SECONDS", 0.2)
    problems: list[str] = []
    tracker = Tracker("127.0.0.1", 1, OURS, MergedProgress(1, lambda _: None, Mode.BSP), problems.append)
    try:
        with ThreadPoolExecutor(1) as threads:
            met = by_tracker(0, 1, tracker)
            met.beat()
            if comes_late:
                met.close()
                wait_until(lambda: not tracker._guests)
            second = threads.submit(by_tracker, 0, 1, tracker)
            wait_until(lambda: len(tracker._waiting) == 1)
            if not comes_late:
                assert not problems
                met.close()
            wait_until(lambda: problems == ["Spark began worker 0 anew, because it did not hear how it ended"])
            tracker.close()
            with pytest.raises(Taken):
                second.result(timeout=20)
    finally:
        tracker.close()


def test_one_that_has_not_started_is_waited_for_and_one_that_is_lost_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emberlog.workers.wire.tracker.HANDSHAKE_SECONDS", 0.1)
    problems: list[str] = []
    tracker = Tracker("127.0.0.1", 2, OURS, MergedProgress(2, lambda _: None, Mode.BSP), problems.append, 0.05)
    try:
        connection = socket.create_connection((tracker.address.host, tracker.address.port), timeout=20)
        greet(connection, OURS, 0, -1)
        connection.sendall(b"\x02\0\0\0[]")
        wait_until(lambda: tracker.arrived == 1)
        time.sleep(0.3)  # several times as long as a worker may be silent, or its handshake may take
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


def test_all_are_dialed_before_any_has_answered() -> None:
    """Nobody waits for one handshake before it begins another: with 20 ms for each, 48 workers took 21 seconds."""
    workers = 12
    asked: list[bytes] = []
    silent = [socket.create_server(("127.0.0.1", 0)) for _ in range(workers - 1)]
    texts = [f'["127.0.0.1", {one.getsockname()[1]}, 7]' for one in silent]

    def gather(mine: str, /) -> list[str]:
        return [*texts, mine]

    with ThreadPoolExecutor(1) as threads:
        meeting = threads.submit(meet, workers - 1, workers, "127.0.0.1", OURS, None, gather)
        connections = [one.accept()[0] for one in silent]
        for connection in connections:  # nobody has answered anybody so far
            connection.settimeout(20)
            asked.append(connection.recv(8))
        assert asked == [b"EMBERLG1"] * (workers - 1)
        for connection in connections:
            connection.close()
        with pytest.raises(Refused, match=r"worker [0-9]+ at 127.0.0.1:[0-9]+: "):
            meeting.result(timeout=20)
    for one in silent:
        one.close()


def test_who_dials_answers_at_the_same_time() -> None:
    """A worker that waits for the answer of one is dialed by another."""
    with socket.create_server(("127.0.0.1", 0)) as silent, ThreadPoolExecutor(1) as threads:
        told: list[int] = []

        def gather(mine: str, /) -> list[str]:
            told.append(json.loads(mine)[1])
            return [f'["127.0.0.1", {silent.getsockname()[1]}, 7]', mine, mine]

        meeting = threads.submit(meet, 1, 3, "127.0.0.1", OURS, None, gather)
        dialed, _ = silent.accept()
        with dialed, socket.create_connection(("127.0.0.1", told[0])) as dialer:
            greet(dialer, replace(OURS, attempt=7), 2, 1)  # and 0 has still said nothing
            assert not meeting.done()
        with pytest.raises((Refused, PeerLost)):
            meeting.result(timeout=20)


def closed_port(host: str = "127.0.0.1") -> int:
    with socket.create_server((host, 0)) as once:
        return int(once.getsockname()[1])


def test_a_peer_that_cannot_be_reached_is_named() -> None:
    port = closed_port()

    def gather(mine: str, /) -> list[str]:
        return [f'["127.0.0.1", {port}, 7]', mine]

    named = f"worker 0 at 127.0.0.1:{port} could not be reached from worker 1 at 127.0.0.1: Connection refused"
    with pytest.raises(Unreachable, match=named):
        meet(1, 2, "127.0.0.1", OURS, None, gather)


def test_a_peer_whose_machine_answers_nothing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """As behind a firewall: the system would ask for two minutes."""
    monkeypatch.setattr(handshake_module, "CONNECT_SECONDS", 0.2)
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        port = full.getsockname()[1]
        # Whoever comes when there is no room left gets no answer.
        crowd = [socket.socket() for _ in range(4)]
        for one in crowd:
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
        named = f"worker 0 at 127.0.0.1:{port} could not be reached from worker 1 at 127.0.0.1: timed out"
        with pytest.raises(Unreachable, match=named):
            meet(1, 2, "127.0.0.1", OURS, None, lambda mine: [f'["127.0.0.1", {port}, 7]', mine])
        for one in crowd:
            one.close()


def test_a_peer_that_is_reached_and_says_nothing_is_not_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is stuck: another attempt may do better."""
    monkeypatch.setattr(handshake_module, "HANDSHAKE_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        text = f'["127.0.0.1", {silent.getsockname()[1]}, 7]'
        with pytest.raises(Refused, match=r"worker 0 at 127.0.0.1:[0-9]+: timed out"):
            meet(1, 2, "127.0.0.1", OURS, None, lambda mine: [text, mine])


def test_a_driver_that_cannot_be_reached_is_named() -> None:
    address = Address("127.0.0.1", closed_port())
    with pytest.raises(Unreachable, match=f"the driver at {address} could not be reached from worker 3 .*refused"):
        meet(3, 4, "127.0.0.1", OURS, address, lambda _: [])


def test_nobody_waits_for_one_that_cannot_meet_another() -> None:
    """Worker 0 tells an address where nobody listens: 1 finds out, and 0 hears of it by the driver."""
    tracker = Tracker("127.0.0.1", 2, OURS, MergedProgress(2, lambda _: None, Mode.BSP))
    text = json.dumps(["127.0.0.1", closed_port(), 1]).encode()
    try:
        with ThreadPoolExecutor(1) as threads:
            first = greet(socket.create_connection((tracker.address.host, tracker.address.port)), OURS, 0, -1)
            first.sendall(len(text).to_bytes(4, "little") + text)
            with pytest.raises(Unreachable):
                threads.submit(by_tracker, 1, 2, tracker).result(timeout=20)
            first.settimeout(20)
            heard = b""
            while b"worker 1 could not take part" not in heard:
                part = first.recv(1024)
                assert part
                heard += part
            first.close()
    finally:
        tracker.close()


def test_a_worker_that_failed_takes_part_with_its_reason() -> None:
    """Through Spark's barrier, where everyone waits for everyone."""
    with pytest.raises(PeerLost, match="worker 0 could not take part: no such file"):
        meet(1, 2, "127.0.0.1", OURS, None, lambda mine: [absence("no such file"), mine])


def test_a_meeting_that_is_called_off() -> None:
    tracker = Tracker("127.0.0.1", 2, OURS, MergedProgress(2, lambda _: None, Mode.BSP))
    try:
        with ThreadPoolExecutor(1) as threads:
            waiting = threads.submit(by_tracker, 0, 2, tracker)
            wait_until(lambda: tracker.arrived == 1)
            tracker.call_off("Spark has no room for worker 1")
            with pytest.raises(PeerLost, match="the workers could not meet: Spark has no room for worker 1"):
                waiting.result(timeout=20)
    finally:
        tracker.close()


def test_workers_and_driver_listen_where_they_may() -> None:
    base = closed_port()
    ports = Ports(base, min(base + 20, 65535))
    with closing(SocketListener("127.0.0.1", 3, ports)) as one, closing(SocketListener("127.0.0.1", 3, ports)) as other:
        assert one.port != other.port
        assert all(ports.first <= listener.port <= ports.last for listener in (one, other))


def test_ports_that_are_used_up() -> None:
    with closing(SocketListener("127.0.0.1", 0)) as taken:
        only = Ports(taken.port, taken.port)
        message = f"worker 1 cannot listen on 127.0.0.1: all of its ports {taken.port}-{taken.port} are in use"
        said: list[str] = []

        def gather(text: str, /) -> list[str]:
            said.append(text)
            return said

        with pytest.raises(Unreachable, match=message):
            meet(1, 2, "127.0.0.1", OURS, None, gather, only)
        with pytest.raises(PeerLost, match=f"worker 1 could not take part: {message}"):
            meet(0, 2, "127.0.0.1", OURS, None, lambda mine: [mine, *said])


@pytest.mark.parametrize("text", ["", "x", "0", "40100-40000", "1-70000", "-5"])
def test_texts_that_are_no_ports(text: str) -> None:
    with pytest.raises(ValueError):
        Ports.of(text)


def test_texts_that_are_ports() -> None:
    assert Ports.of("40000-40100") == Ports(40000, 40100) and Ports.of("40000") == Ports(40000, 40000)
    assert str(Ports.of("40000-40100")) == "40000-40100" and Ports() == ANY_PORT


def test_hundreds_of_workers_and_one_thread() -> None:
    """The tracker needs no thread for each, and everyone comes."""
    workers = 100
    tracker = Tracker("127.0.0.1", workers, OURS, MergedProgress(workers, lambda _: None, Mode.BSP))
    try:
        before = threading.active_count()
        with ThreadPoolExecutor(workers) as threads:
            ends = [threads.submit(dial_only, number, tracker.address) for number in range(workers)]
            connections = [end.result(timeout=60) for end in ends]
            wait_until(lambda: tracker.arrived == workers)
        assert len([one for one in threading.enumerate() if one.name == "emberlog tracker"]) == 1
        assert threading.active_count() <= before
        for connection in connections:
            connection.close()
    finally:
        tracker.close()


def dial_only(number: int, address: Address) -> socket.socket:
    connection = greet(socket.create_connection((address.host, address.port)), OURS, number, -1)
    text = b'["127.0.0.1", 1, 1]'
    connection.sendall(len(text).to_bytes(4, "little") + text)
    return connection
