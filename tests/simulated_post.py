"""Workers that go on by themselves, driven by chance: delays, bursts, and messages of different senders in any order.

Messages of one sender to one receiver stay in order, as they do over TCP. A seed gives the same run every time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from unittest.mock import patch

from emberlog.engines.local import recursion
from emberlog.workers.fixpoint import asynchronous, shipping
from emberlog.workers.fixpoint.asynchronous import AsyncWorker
from emberlog.workers.fixpoint.definitions import DefinitionWorker
from emberlog.workers.fixpoint.team import run_workers
from emberlog.workers.fixpoint.worker import Worker
from emberlog.workers.kernels import tuning
from emberlog.workers.wire.messages import Mail, Message, Running

LONGEST_DELAYS = (0, 3, 40)
"""In turns of workers."""


@dataclass
class SimulatedPost:
    random: Random
    workers: int
    longest_delay: int = field(init=False)
    comes_in_bursts: bool = field(init=False)
    now: int = 0

    def __post_init__(self) -> None:
        self.longest_delay = self.random.choice(LONGEST_DELAYS)
        self.comes_in_bursts = self.random.random() < 0.3
        self.channels: dict[tuple[int, int], deque[tuple[int, Message]]] = {
            (sender, receiver): deque() for sender in range(self.workers) for receiver in range(self.workers)
        }

    def send(self, sender: int, mail: Mail) -> None:
        for receiver, message in enumerate(mail):
            if message.numbers:
                channel = self.channels[sender, receiver]
                due = self.now + (self.random.randint(0, self.longest_delay) if sender != receiver else 0)
                if self.comes_in_bursts and sender != receiver:
                    due += -due % 25  # all that was sent in a while arrives together
                channel.append((max(due, channel[-1][0] if channel else 0), message))

    def due(self, receiver: int, senders: Collection[int]) -> list[int]:
        """Whose next message has arrived."""
        return [one for one in (*senders, receiver) if (c := self.channels[one, receiver]) and c[0][0] <= self.now]

    def taken(self, receiver: int, senders: Collection[int]) -> Mail:
        mail = [Message() for _ in range(self.workers)]
        for sender in senders:
            mail[sender] = self.channels[sender, receiver].popleft()[1]
        return mail


def run_by_chance(workers: Sequence[AsyncWorker], random: Random) -> None:
    """One worker at a time takes a turn; which one, and what has arrived by then, is up to chance."""
    post = SimulatedPost(random, len(workers))
    speeds = [random.choice((1, 1, 1, 20)) for _ in workers]
    running: dict[int, Running] = {number: worker.run() for number, worker in enumerate(workers)}
    for number in tuple(running):
        _sent(post, running, number, next(running[number], None))
    while running:
        ready = [
            number
            for number in running
            if workers[number].patience == 0 or post.due(number, workers[number].listens_to)
        ]
        post.now += 1
        if not ready:
            assert any(post.channels.values()), "everyone waits, and nothing is under way"
            continue
        (number,) = random.choices(ready, [speeds[one] for one in ready])
        arrived = post.due(number, workers[number].listens_to)
        if workers[number].patience == 0:
            arrived = [sender for sender in arrived if sender == number or random.random() < 0.7]
        try:
            mail = running[number].send(post.taken(number, arrived))
        except StopIteration:
            mail = None
        _sent(post, running, number, mail)
    assert not any(post.channels.values()), "everyone stopped, and something is under way"


def _sent(post: SimulatedPost, running: dict[int, Running], number: int, mail: Mail | None) -> None:
    if mail is None:
        del running[number]
    else:
        post.send(number, mail)


@contextmanager
def simulated(seed: int) -> Iterator[None]:
    """Recursions of this process go by chance, and ship and forget at odd times."""
    random = Random(seed)

    def run(workers: Sequence[Worker]) -> None:
        if all(isinstance(worker, DefinitionWorker) for worker in workers):
            run_workers(workers)  # there is nothing to recurse on
            return
        free = [worker for worker in workers if isinstance(worker, AsyncWorker)]
        assert len(free) == len(workers)
        run_by_chance(free, random)

    with (
        patch.object(recursion, "run_workers", run),
        patch.object(asynchronous, "SHIP_ROWS", random.choice((0, 2, tuning.SHIP_ROWS))),
        patch.object(asynchronous, "SHIP_SECONDS", 3600.0),
        patch.object(asynchronous, "MAIL_SECONDS", 0.0),
        patch.object(shipping, "MOST_REMEMBERED", random.choice((0, 5, tuning.MOST_REMEMBERED))),
    ):
        yield
