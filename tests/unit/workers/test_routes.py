"""Mail of workers that are connected host by host: the same arrives as over connections between all of them."""

from __future__ import annotations

import random
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emberlog.config import Execution
from emberlog.engines.spark.job import Status
from emberlog.workers.kernels.lanes import Lanes
from emberlog.workers.wire import exchange as exchange_module
from emberlog.workers.wire import routes as routes_module
from emberlog.workers.wire.exchange import Exchange
from emberlog.workers.wire.frames import PeerLost, PeerStopped, framed
from emberlog.workers.wire.messages import Mail, Message, added
from emberlog.workers.wire.routes import Routes, bundled, letters_of, unbundled
from tests.unit.workers.task_runs import Barrier, facts_in, job_for, run_tasks

T = TypeVar("T")
SIZES = st.lists(st.integers(1, 4), min_size=1, max_size=5)
"""Workers on each host."""


@pytest.fixture(autouse=True)
def host_by_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """However few workers there are."""
    monkeypatch.setattr(routes_module, "MOST_DIRECT", 1)


def hosts_of(sizes: list[int], seed: int = 0) -> list[str]:
    hosts = [f"host {number}" for number, size in enumerate(sizes) for _ in range(size)]
    random.Random(seed).shuffle(hosts)
    return hosts


@contextmanager
def team(hosts: list[str]) -> Iterator[list[Exchange]]:
    routes = [Routes(number, hosts) for number in range(len(hosts))]
    ends: list[dict[int, socket.socket]] = [{} for _ in hosts]
    for one in routes:
        for other in one.neighbours:
            if other < one.number:
                ends[one.number][other], ends[other][one.number] = connected()
    exchanges = [Exchange(number, ends[number], routes[number]) for number in range(len(hosts))]
    try:
        yield exchanges
    finally:
        for exchange in exchanges:
            exchange.close()


def connected() -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        dialer = socket.create_connection(listener.getsockname())
        return dialer, listener.accept()[0]


def in_threads(exchanges: list[Exchange], act: Callable[[Exchange], T]) -> list[T | BaseException]:
    with ThreadPoolExecutor(len(exchanges)) as threads:
        ends = [threads.submit(act, exchange) for exchange in exchanges]
        return [end.exception(timeout=60) or end.result() for end in ends]


# --- ways -------------------------------------------------------------------------------------------------------------


@given(SIZES, st.integers(0, 100))
def test_everyone_gets_everyones_mail_by_one_way(sizes: list[int], seed: int) -> None:
    hosts = hosts_of(sizes, seed)
    everyone = [Routes(number, hosts) for number in range(len(hosts))]
    for one in everyone:
        assert all(one.number in everyone[other].neighbours for other in one.neighbours)
        arriving = [origin for origins in one.origins.values() for origin in origins]
        assert sorted(arriving) == list(one.peers)
        for neighbour, origins in one.origins.items():
            for origin in origins - {neighbour}:
                assert origin in everyone[neighbour].served  # who hands it on is the partner of who sends it
        for partner, group in one.abroad.items():
            assert one.number in everyone[partner].served or one.is_direct
            assert partner in group and {hosts[other] for other in group} == {hosts[partner]}


@pytest.mark.parametrize(("hosts", "each"), [(32, 8), (16, 16), (128, 8), (2, 33)])
def test_connections_grow_with_hosts(hosts: int, each: int) -> None:
    names = hosts_of([each] * hosts)
    for number in range(0, len(names), 37):
        assert len(Routes(number, names).neighbours) == hosts - 1 + each - 1


def test_few_workers_are_all_connected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes_module, "MOST_DIRECT", 32)
    assert Routes(3, hosts_of([8] * 4)).is_direct
    assert not Routes(3, hosts_of([11] * 3)).is_direct
    assert Routes(3, hosts_of([40])).is_direct  # one host
    assert Routes(3, hosts_of([1] * 40)).is_direct  # nobody there who could hand something on


# --- bundles ----------------------------------------------------------------------------------------------------------


def test_a_bundle_and_back() -> None:
    lanes, none = np.arange(6, dtype=np.int64).reshape(2, 3), np.empty((3, 0), np.int64)
    first = (0, (), {1: Message((5, 6), {9: lanes, 2: none}), 2: Message((), {0: lanes})})
    second = (3, (7,), {1: Message((7,), {4: lanes})})
    again = unbundled(bundled([first, second, (4, (8, 9), {}), (5, (), {})]), {0, 3, 4}, {1, 2})
    assert [(origin, shared, list(listed)) for origin, shared, listed in again] == [
        (0, (), [1, 2]),
        (3, (7,), [1]),
        (4, (8, 9), []),
    ]
    assert again[0][2][1].numbers == (5, 6) and list(again[0][2][1].batches) == [9, 2]
    assert again[0][2][1].batches[2].shape == (3, 0) and np.array_equal(again[0][2][2].batches[0], lanes)
    assert again[1][2][1].numbers == (7,)


def test_what_all_letters_of_a_round_say_is_said_once() -> None:
    lanes = np.arange(6, dtype=np.int64).reshape(2, 3)
    mail = [Message((5, 6)), Message((5, 6), {7: lanes}), Message((8,), {2: lanes}), Message((5, 6))]
    bundle = bundled([letters_of(3, mail, (0, 1, 2)), letters_of(4, mail, (3,))])
    assert bundle.numbers == (3, 2, 5, 6, 2, 1, -1, 1, 7, 0, 2, 1, 8, 1, 2, 0, 4, 2, 5, 6, 0)
    assert list(bundle.batches) == [0]


@pytest.mark.parametrize(
    "numbers",
    [
        (0,),
        (0, 5, 1),
        (0, -1, 0),
        (0, 0),
        (0, 0, 1, 1),
        (0, 0, 1, 1, 2, 7, 0),
        (0, 0, 1, 1, -1, 3, 4, 0),
        (0, 0, 1, 1, -1, 2, 4, 0, 5, 1),
        (7, 0, 1, 1, -1, 0),
        (0, 0, 1, 7, -1, 0),
    ],
    ids=["short", "few", "negative", "no letters", "no letter", "own", "channels", "no batch", "origin", "receiver"],
)
def test_broken_bundles_are_refused(numbers: tuple[int, ...]) -> None:
    with pytest.raises(PeerLost, match="a bundle that is broken"):
        unbundled(Message(numbers, {0: np.empty((1, 0), np.int64)}), {0}, {1})


# --- mail -------------------------------------------------------------------------------------------------------------


def content(sender: int, receiver: int, number: int) -> Lanes:
    return np.full((2, (sender * 7 + receiver * 3 + number) % 5), 100 * sender + 10 * receiver + number, np.int64)


@settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(SIZES, st.integers(0, 100))
def test_rounds(sizes: list[int], seed: int) -> None:
    hosts = hosts_of(sizes, seed)
    workers = range(len(hosts))

    def rounds(exchange: Exchange) -> list[Mail]:
        own = exchange.number
        mails = ([Message((own, to, number), {to: content(own, to, number)}) for to in workers] for number in range(4))
        return [exchange.swap(mail) for mail in mails]

    with team(hosts) as exchanges:
        for own, received in enumerate(in_threads(exchanges, rounds)):
            assert not isinstance(received, BaseException)
            for number, mail in enumerate(received):
                assert [message.numbers for message in mail] == [(sender, own, number) for sender in workers]
                for sender, message in enumerate(mail):
                    assert np.array_equal(message.batches[own], content(sender, own, number))


@settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(SIZES, st.integers(0, 100))
def test_sums_are_added_on_the_way(sizes: list[int], seed: int) -> None:
    hosts = hosts_of(sizes, seed)
    workers = range(len(hosts))

    def rounds(exchange: Exchange) -> list[Mail]:
        own = exchange.number
        mails = (
            [Message((), {0: content(own, to, number)} if number % 2 else {}, (1, 10 * own + number)) for to in workers]
            for number in range(4)
        )
        return [exchange.swap(mail) for mail in mails]

    with team(hosts) as exchanges:
        for own, received in enumerate(in_threads(exchanges, rounds)):
            assert not isinstance(received, BaseException)
            for number, mail in enumerate(received):
                assert added(mail) == (len(hosts), sum(10 * worker + number for worker in workers))
                assert sum(bool(message.sums) for message in mail) <= 1 + len(exchanges[own].routes.neighbours)
                if number % 2:
                    for sender, message in enumerate(mail):
                        assert np.array_equal(message.batches[0], content(sender, own, number))


def test_what_nobody_says_takes_no_place() -> None:
    """A round without facts is one small frame to each neighbour, however many workers are behind it."""
    nothing = bundled([(number, (), {}) for number in range(100)], (3, 500_000, 0, 0))
    assert nothing.numbers == () and nothing.batches == {}
    assert sum(map(len, framed(1, nothing))) < 50


def test_much_at_once() -> None:
    """More than any buffer holds, handed on by those who send as much themselves."""
    lanes = np.arange(400_000, dtype=np.int64).reshape(2, 200_000)
    with team(hosts_of([2, 3, 1])) as exchanges:
        for received in in_threads(exchanges, lambda one: one.swap([Message((), {0: lanes})] * 6)):
            assert not isinstance(received, BaseException)
            assert all(np.array_equal(message.batches[0], lanes) for message in received)


STOP = -1


@dataclass
class Talk:
    """A worker without rounds: it sends what it likes when it likes, says when it has said all, and hears the rest."""

    exchange: Exchange
    seed: int
    messages: int
    rows: int

    def run(self) -> dict[int, list[int]]:
        exchange, chance = self.exchange, random.Random(self.seed * 1000 + self.exchange.number)
        workers = len(exchange.peers) + 1
        heard: dict[int, list[int]] = {peer: [] for peer in exchange.peers}
        listens_to = set(exchange.peers)
        sent = dict.fromkeys(exchange.peers, 0)
        turn = 0
        while listens_to or turn <= self.messages:
            mail = [Message() for _ in range(workers)]
            if turn < self.messages:
                for peer in chance.sample(exchange.peers, chance.randint(0, len(exchange.peers))):
                    mail[peer] = Message((sent[peer],), {0: np.full((1, self.rows), sent[peer], np.int64)})
                    sent[peer] += 1
            elif turn == self.messages:
                for peer in exchange.peers:
                    mail[peer] = Message((STOP, sent[peer]))
            patience = None if turn > self.messages else 0.0
            for sender, message in enumerate(exchange.trade(mail, listens_to, patience)):
                match message.numbers:
                    case (number,) if sender != exchange.number:
                        assert message.batches[0].tolist() == [[number] * self.rows]
                        heard[sender].append(number)
                    case (_, count):
                        assert len(heard[sender]) == count
                        listens_to.remove(sender)
            turn += 1
        exchange.flush()
        # Whoever is done goes on with other work at once, while others may still wait for what he hands on.
        last = exchange.swap([Message((exchange.number, 77))] * workers)
        assert [message.numbers for message in last] == [(worker, 77) for worker in range(workers)]
        return heard


@settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(SIZES, st.integers(0, 100))
def test_without_rounds(sizes: list[int], seed: int) -> None:
    with team(hosts_of(sizes, seed)) as exchanges:
        for heard in in_threads(exchanges, lambda one: Talk(one, seed, 6, 3).run()):
            assert isinstance(heard, dict)
            assert all(numbers == list(range(len(numbers))) for numbers in heard.values())


def test_without_rounds_and_much_faster_than_others_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange_module, "MOST_QUEUED", 1 << 16)
    with team(hosts_of([2, 3, 2])) as exchanges:
        for heard in in_threads(exchanges, lambda one: Talk(one, 5, 8, 40_000).run()):
            assert isinstance(heard, dict)


def test_one_at_rest_hands_on() -> None:
    """It waits for a message to itself, and gets none: what it has for others goes on."""
    hosts = ["a", "a", "b", "b"]
    with team(hosts) as exchanges, ThreadPoolExecutor(1) as threads:
        nothing = [Message() for _ in hosts]
        relay = threads.submit(exchanges[2].trade, nothing, {0, 1, 3}, None)
        mail = [*nothing[:3], Message((5,))]
        exchanges[0].trade(mail, {1, 2, 3}, 0)
        exchanges[0].flush()
        assert exchanges[3].trade(nothing, {0, 1, 2}, None)[0].numbers == (5,)
        assert not relay.done()
        exchanges[3].trade([*nothing[:2], Message((6,)), Message()], {0, 1, 2}, 0)
        assert relay.result(timeout=20)[3].numbers == (6,)


# --- ends -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_in_rounds", [True, False], ids=["swap", "trade"])
@pytest.mark.parametrize("who", range(6))
def test_everyone_hears_of_one_that_stops(who: int, is_in_rounds: bool) -> None:
    hosts = hosts_of([2, 3, 1])

    def work(exchange: Exchange) -> None:
        if exchange.number == who:
            exchange.stop()
            return
        try:
            carry_on(exchange, is_in_rounds)
        except PeerStopped:
            exchange.stop()  # as the task of a worker does
            raise

    with team(hosts) as exchanges:
        ends = in_threads(exchanges, work)
    assert [type(end) for number, end in enumerate(ends) if number != who] == [PeerStopped] * 5


@pytest.mark.parametrize("is_in_rounds", [True, False], ids=["swap", "trade"])
@pytest.mark.parametrize("who", range(6))
def test_everyone_hears_of_one_that_dies(who: int, is_in_rounds: bool) -> None:
    def work(exchange: Exchange) -> None:
        try:
            if exchange.number != who:
                carry_on(exchange, is_in_rounds)
        finally:
            exchange.close()

    with team(hosts_of([2, 3, 1])) as exchanges:
        ends = in_threads(exchanges, work)
    assert all(isinstance(end, PeerLost) for number, end in enumerate(ends) if number != who)


def carry_on(exchange: Exchange, is_in_rounds: bool) -> None:
    workers = len(exchange.peers) + 1
    while True:
        if is_in_rounds:
            exchange.swap([Message((1,))] * workers)
        else:
            exchange.trade([Message()] * workers, set(exchange.peers), None)


# --- whole recursions -------------------------------------------------------------------------------------------------

ROUND_TRIPS = "declare arc(string a, string b).\nfar(X, Y) :- arc(X, Y). far(X, Z) :- far(X, Y), far(Y, Z).\n"


class Hosts(Barrier):
    """Workers on pretended hosts, two on each."""

    def getTaskInfos(self) -> list[object]:  # type: ignore[override]
        return [Info(f"127.0.1.{1 + number // 2}:0") for number in range(self.workers)]


@dataclass(frozen=True)
class Info:
    address: str


@pytest.mark.parametrize("mode", ["bsp", "async"])
def test_a_recursion(mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"town {number}" for number in range(16)]
    arcs = [(names[number], names[(number + 1) % 16]) for number in range(16)]
    job = job_for(ROUND_TRIPS, {"arc": arcs}, tmp_path, workers=6, execution=Execution(mode=mode))
    summaries = run_tasks(replace(job, tracker=None), monkeypatch, Hosts(6))
    assert [summary.status for summary in summaries] == [Status.DONE] * 6
    found = facts_in(tmp_path / "relation-0")
    assert len(found) == 256 and set(found) == {(one, other) for one in names for other in names}
