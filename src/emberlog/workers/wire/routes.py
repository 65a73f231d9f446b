"""Tells which workers are connected, and by whom mail gets to the others.

Few workers are all connected with each other. Many on several hosts are connected within their host, and each with one
partner on every other host: mail to another worker there goes to the partner, who hands it on. So a worker has about as
many connections as there are hosts and workers on one, and not as many as there are workers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property

from emberlog.workers.kernels.lanes import Lanes
from emberlog.workers.kernels.tuning import MOST_DIRECT
from emberlog.workers.wire.frames import PeerLost
from emberlog.workers.wire.messages import Message


class Routes:
    """Holds the ways of one worker's mail."""

    def __init__(self, number: int, hosts: Sequence[str]) -> None:
        """`hosts` are those of all workers, in their order."""
        self.number = number
        self._groups: dict[str, list[int]] = {}
        self._ranks: list[int] = []
        for worker, host in enumerate(hosts):
            group = self._groups.setdefault(host, [])
            self._ranks.append(len(group))
            group.append(worker)
        self._hosts = hosts
        self.is_direct = len(hosts) <= MOST_DIRECT or not 1 < len(self._groups) < len(hosts)
        """Whether everyone is connected with everyone."""
        others = tuple(worker for worker in range(len(hosts)) if worker != number)
        self.peers = others
        """All other workers."""
        self.locals = others if self.is_direct else tuple(one for one in others if hosts[one] == hosts[number])
        """Those who get mail from here without a partner in between."""

    def _partner(self, worker: int, host: str) -> int:
        """Returns whom a worker knows on another host."""
        group = self._groups[host]
        return group[self._ranks[worker] % len(group)]

    @cached_property
    def abroad(self) -> dict[int, tuple[int, ...]]:
        """Returns the partners on other hosts, and for whom each of them takes mail from here."""
        if self.is_direct:
            return {}
        own = self._hosts[self.number]
        return {self._partner(self.number, host): tuple(group) for host, group in self._groups.items() if host != own}

    @cached_property
    def served(self) -> tuple[int, ...]:
        """Returns the workers on other hosts for whom this one hands mail on, here."""
        if self.is_direct:
            return ()
        own = self._hosts[self.number]
        strangers = (worker for worker in self.peers if self._hosts[worker] != own)
        return tuple(worker for worker in strangers if self._partner(worker, own) == self.number)

    @cached_property
    def neighbours(self) -> frozenset[int]:
        """Returns those whom this worker is connected with."""
        return frozenset((*self.locals, *self.abroad, *self.served))

    @cached_property
    def origins(self) -> dict[int, frozenset[int]]:
        """Returns, by neighbour, whose mail to this worker comes from there."""
        found: dict[int, list[int]] = {neighbour: [] for neighbour in self.neighbours}
        own = self._hosts[self.number]
        for worker in self.peers:
            is_near = self.is_direct or self._hosts[worker] == own
            last = worker if is_near else self._partner(worker, own)
            found[worker if last == self.number else last].append(worker)
        return {neighbour: frozenset(workers) for neighbour, workers in found.items()}


Letter = tuple[int, int, Message]
"""From whom, to whom, what."""


def bundled(letters: Iterable[Letter]) -> Message:
    """Returns letters as one message for the neighbour on their way."""
    numbers: list[int] = []
    batches: dict[int, Lanes] = {}
    for origin, receiver, message in letters:
        numbers += (origin, receiver, len(message.numbers), *message.numbers, len(message.batches), *message.batches)
        for lanes in message.batches.values():
            batches[len(batches)] = lanes
    return Message(tuple(numbers), batches)


def unbundled(message: Message, origins: Collection[int], receivers: Collection[int]) -> list[Letter]:
    """Returns the letters of a bundle. Raises PeerLost for one that the neighbour should not have."""
    letters: list[Letter] = []
    numbers, place, batches = message.numbers, 0, iter(message.batches.values())
    try:
        while place < len(numbers):
            origin, receiver, count = numbers[place : place + 3]
            own = numbers[place + 3 : place + 3 + count]
            place += 3 + count
            channels = numbers[place + 1 : place + 1 + numbers[place]]
            if count < 0 or len(channels) != numbers[place] or origin not in origins or receiver not in receivers:
                raise ValueError
            place += 1 + len(channels)
            letters.append((origin, receiver, Message(own, {channel: next(batches) for channel in channels})))
    except (ValueError, IndexError, RuntimeError, StopIteration):
        raise PeerLost("a bundle that is broken") from None
    return letters
