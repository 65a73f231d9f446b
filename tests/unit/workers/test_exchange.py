"""Mail between workers over real connections."""

from __future__ import annotations

import gc
import os
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from emberlog.engines.spark.job import Status
from emberlog.workers.wire import exchange as exchange_module
from emberlog.workers.wire.exchange import Exchange
from emberlog.workers.wire.frames import PeerLost, framed
from emberlog.workers.wire.messages import Mail, Message
from tests.unit.workers.task_runs import job_for, run_tasks


@contextmanager
def team(workers: int) -> Iterator[list[Exchange]]:
    ends: list[dict[int, socket.socket]] = [{} for _ in range(workers)]
    for one in range(workers):
        for other in range(one):
            listener = socket.create_server(("127.0.0.1", 0))
            ends[one][other] = socket.create_connection(listener.getsockname())
            ends[other][one], _ = listener.accept()
            listener.close()
    exchanges = [Exchange(number, connections) for number, connections in enumerate(ends)]
    try:
        yield exchanges
    finally:
        for exchange in exchanges:
            exchange.close()


def in_threads(actions: list[Callable[[], Mail]]) -> list[Mail]:
    results: list[Mail] = [[] for _ in actions]

    def act(number: int) -> None:
        results[number] = actions[number]()

    threads = [threading.Thread(target=act, args=(number,)) for number in range(len(actions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
        assert not thread.is_alive()
    return results


@pytest.mark.parametrize("workers", [1, 2, 3, 5])
def test_everyone_hears_everyone(workers: int) -> None:
    with team(workers) as exchanges:
        for round_number in range(20):

            def mail(sender: int, round_number: int = round_number) -> Mail:
                lanes = np.array([[sender, round_number], [sender * 10, 7]], np.int64)
                return [Message((sender, receiver), {receiver: lanes}) for receiver in range(workers)]

            received = in_threads([lambda e=exchange: e.swap(mail(e.number)) for exchange in exchanges])  # type: ignore[misc]
            for receiver, messages in enumerate(received):
                assert [message.numbers for message in messages] == [(sender, receiver) for sender in range(workers)]
                for sender, message in enumerate(messages):
                    assert message.batches[receiver].tolist() == [[sender, round_number], [sender * 10, 7]]


def test_much_at_once_in_both_directions() -> None:
    """More than any buffer holds: whoever only sends before he reads would wait for ever."""
    rows = 2_000_000
    with team(2) as exchanges:
        lanes = np.arange(2 * rows, dtype=np.int64).reshape(2, rows)
        received = in_threads(
            [lambda e=one: e.swap([Message((), {0: lanes}), Message((), {0: lanes})]) for one in exchanges]  # type: ignore[misc]
        )
        for messages in received:
            assert all(np.array_equal(message.batches[0], lanes) for message in messages)


def test_one_may_be_a_round_ahead() -> None:
    with team(3) as exchanges:

        def rounds(exchange: Exchange) -> Mail:
            seen: Mail = []
            for number in range(50):
                seen += exchange.swap([Message((exchange.number, number)) for _ in range(3)])
            return seen

        for messages in in_threads([lambda e=one: rounds(e) for one in exchanges]):  # type: ignore[misc]
            expected = [(worker, number) for number in range(50) for worker in range(3)]
            assert [message.numbers for message in messages] == expected


def test_small_lanes_go_in_one_piece_and_large_ones_are_not_copied() -> None:
    small, large = np.arange(4, dtype=np.int64).reshape(2, 2), np.arange(4096, dtype=np.int64).reshape(1, 4096)
    message = Message((5,), {0: small, 1: small, 2: large, 3: small, 4: small})
    pieces = framed(1, message)
    assert len(pieces) == 3 and np.shares_memory(np.frombuffer(pieces[1], np.int64), large)
    with team(2) as exchanges:
        received = in_threads([lambda e=one: e.swap([message] * 2) for one in exchanges])  # type: ignore[misc]
        for channel, lanes in message.batches.items():
            assert np.array_equal(received[0][1].batches[channel], lanes)


@pytest.mark.parametrize("number", [0, 127, -128, 128, -(2**15), 2**15, 2**31 - 1, 2**31, -(2**63), 2**63 - 1])
def test_numbers_are_written_as_narrow_as_they_are(number: int) -> None:
    (frame,) = framed(1, Message((number,)))
    width = next(size for size in (1, 2, 4, 8) if -(2 ** (8 * size - 1)) <= number < 2 ** (8 * size - 1))
    assert len(frame) == 12 + 4 * width
    with team(2) as exchanges:
        received = in_threads([lambda e=one: e.swap([Message((number,))] * 2) for one in exchanges])  # type: ignore[misc]
        assert received[0][1].numbers == (number,)


def test_empty_batches_keep_their_width() -> None:
    with team(2) as exchanges:
        none = np.empty((3, 0), np.int64)
        received = in_threads([lambda e=one: e.swap([Message((), {1: none})] * 2) for one in exchanges])  # type: ignore[misc]
        assert received[0][1].batches[1].shape == (3, 0)


def test_a_worker_that_leaves_is_noticed() -> None:
    with team(2) as exchanges:
        exchanges[1].close()
        with pytest.raises(PeerLost):
            exchanges[0].swap([Message(), Message()])


@pytest.mark.parametrize(
    "frame",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        struct.pack("<4sII", b"MAIL", 8 << 24 | (1 << 24) - 1, 1),
        struct.pack("<4sII", b"MAIL", 8 << 24 | 3, 99) + b"\0" * 24,
        struct.pack("<4sII6q", b"MAIL", 8 << 24 | 6, 1, 0, 0, 1, 0, 1 << 40, 1 << 40),
        struct.pack("<4sII6q", b"MAIL", 8 << 24 | 6, 1, 0, 0, 1, 0, 1, -5),
        struct.pack("<4sII3q", b"MAIL", 8 << 24 | 3, 1, 77, 0, 0),
        struct.pack("<4sII3q", b"MAIL", 8 << 24 | 3, 1, 0, 1, 0),
        struct.pack("<4sII4q", b"MAIL", 8 << 24 | 4, 1, 0, 0, 0, 5),
    ],
    ids=[
        "not ours",
        "long directory",
        "another round",
        "too large",
        "negative",
        "too many numbers",
        "too many sums",
        "more than all",
    ],
)
def test_broken_frames_are_refused(frame: bytes) -> None:
    with team(2) as exchanges:
        exchanges[1].connections[0].setblocking(True)
        exchanges[1].connections[0].sendall(frame)
        with pytest.raises(PeerLost):
            exchanges[0].swap([Message(), Message()])


def test_mail_that_comes_when_it_comes() -> None:
    """Messages of one sender stay in order, one at a time; who has none is not waited for."""
    lanes = np.arange(6, dtype=np.int64).reshape(2, 3)
    with team(3) as exchanges:
        nothing = [Message() for _ in range(3)]
        for number in range(3):
            exchanges[1].trade([Message((number,), {0: lanes}), Message(), Message()], {0, 2}, 0)
        exchanges[1].flush()
        for number in range(3):
            received = exchanges[0].trade(nothing, {1, 2}, None)
            assert [message.numbers for message in received] == [(), (number,), ()]
            assert np.array_equal(received[1].batches[0], lanes)
        assert not any(message.numbers for message in exchanges[0].trade(nothing, {1, 2}, 0.01))
        own = [Message((7,)), Message(), Message()]
        assert exchanges[0].trade(own, {1, 2}, None)[0].numbers == (7,)


def test_what_is_sent_behind_the_last_message_waits_for_the_next_round() -> None:
    with team(2) as exchanges:
        exchanges[1].trade([Message((3,)), Message()], {0}, 0)
        exchanges[1].flush()

        def finish_first() -> Mail:
            return exchanges[1].swap([Message((40,)), Message()])

        def finish_later() -> Mail:
            first = exchanges[0].trade([Message(), Message()], {1}, None)
            assert first[1].numbers == (3,)
            assert not any(message.numbers for message in exchanges[0].trade([Message(), Message()], set(), 0.05))
            exchanges[0].flush()
            return exchanges[0].swap([Message(), Message((50,))])

        received = in_threads([finish_later, finish_first])
        assert received[0][1].numbers == (40,) and received[1][0].numbers == (50,)


def test_free_workers_that_send_more_than_buffers_hold_do_not_wait_for_each_other_for_ever() -> None:
    lanes = np.arange(2_000_000, dtype=np.int64).reshape(2, 1_000_000)
    with team(2) as exchanges:

        def trade(exchange: Exchange) -> Mail:
            other = 1 - exchange.number
            mail = [Message(), Message()]
            mail[other] = Message((1,), {0: lanes})
            seen = 0
            for _ in range(20):
                seen += bool(exchange.trade(mail, {other}, 0)[other].numbers)
            while seen < 20:
                seen += bool(exchange.trade([Message(), Message()], {other}, None)[other].numbers)
            exchange.flush()
            return mail

        with patch.object(exchange_module, "MOST_QUEUED", 1 << 20):
            in_threads([lambda e=one: trade(e) for one in exchanges])  # type: ignore[misc]


def test_a_worker_that_is_gone_is_noticed_while_waiting() -> None:
    with team(2) as exchanges:
        exchanges[1].close()
        with pytest.raises(PeerLost):
            exchanges[0].trade([Message(), Message()], {1}, None)


@pytest.mark.skipif(sys.platform != "linux", reason="descriptors are counted as Linux lists them")
def test_a_worker_leaves_no_selector_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Links and what they read refer to each other, so without a word they stay until garbage is collected."""

    def selectors() -> int:
        return sum(
            os.path.realpath(f"/proc/self/fd/{one}").endswith("[eventpoll]") for one in os.listdir("/proc/self/fd")
        )

    job = job_for("far(Y) :- arc(1, Y). far(Y) :- far(X), arc(X, Y).\n", {"arc": [(1, 2)]}, tmp_path)
    gc.collect()
    gc.disable()
    try:
        before = selectors()
        assert [one.status for one in run_tasks(job, monkeypatch)] == [Status.DONE] * job.workers
        assert selectors() == before
    finally:
        gc.enable()
