"""Mail between workers over real connections."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from emberlog.executors.cyclic.exchange import Exchange, PeerLost
from emberlog.executors.cyclic.worker import Mail, Message


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
        struct.pack("<4sIQ", b"MAIL", 1 << 30, 1),
        struct.pack("<4sIQ", b"MAIL", 2, 99) + b"\0" * 16,
        struct.pack("<4sIQ5q", b"MAIL", 5, 1, 0, 1, 0, 1 << 40, 1 << 40),
        struct.pack("<4sIQ5q", b"MAIL", 5, 1, 0, 1, 0, 1, -5),
        struct.pack("<4sIQ2q", b"MAIL", 2, 1, 77, 0),
    ],
    ids=["not ours", "long directory", "another round", "too large", "negative", "broken directory"],
)
def test_broken_frames_are_refused(frame: bytes) -> None:
    with team(2) as exchanges:
        exchanges[1].connections[0].setblocking(True)
        exchanges[1].connections[0].sendall(frame)
        with pytest.raises(PeerLost):
            exchanges[0].swap([Message(), Message()])
