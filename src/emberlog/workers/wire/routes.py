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
from emberlog.workers.wire.messages import Mail, Message


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


Letters = tuple[int, tuple[int, ...], dict[int, Message]]
"""What one worker has for several: from whom, the numbers of all messages that are not listed, and those that are, by
receiver. In a round all of them have the same numbers, mostly none, and most have no rows."""


def letters_of(number: int, mail: Mail, receivers: Sequence[int]) -> Letters:
    """Returns a worker's messages of a round to some others."""
    shared = mail[receivers[0]].numbers
    listed = {one: mail[one] for one in receivers if mail[one].batches or mail[one].numbers != shared}
    return number, shared, listed


def bundled(letters: Iterable[Letters], sums: tuple[int, ...] = ()) -> Message:
    """Returns letters as one message for the neighbour on their way. Rows for several receivers are there once, and
    letters that say nothing are left out. `sums` are those of all who wrote, together."""
    numbers: list[int] = []
    batches: dict[int, Lanes] = {}
    places: dict[int, int] = {}
    """Of batches that are there already, by identity."""
    for origin, shared, listed in letters:
        if not shared and not listed:
            continue
        numbers += (origin, len(shared), *shared, len(listed))
        for receiver, message in listed.items():
            own = message.numbers
            numbers += (receiver, _SHARED) if own == shared else (receiver, len(own), *own)
            numbers.append(len(message.batches))
            for channel, lanes in message.batches.items():
                place = places.setdefault(id(lanes), len(places))
                batches[place] = lanes
                numbers += (channel, place)
    return Message(tuple(numbers), batches, sums)


_SHARED = -1
"""In the place of how many numbers a message has: those of all that are not listed."""


def unbundled(message: Message, origins: Collection[int], receivers: Collection[int]) -> list[Letters]:
    """Returns the letters of a bundle. Raises PeerLost for one that the neighbour should not have."""
    letters: list[Letters] = []
    numbers, place = message.numbers, 0
    try:
        while place < len(numbers):
            origin, count = numbers[place : place + 2]
            place += 2 + count
            shared, several = numbers[place - count : place], numbers[place]
            if count < 0 or several < 0 or origin not in origins:
                raise ValueError
            place += 1
            listed: dict[int, Message] = {}
            for _ in range(several):
                receiver, count = numbers[place : place + 2]
                place += 2 + max(count, 0)
                own = shared if count == _SHARED else numbers[place - count : place]
                end = place + 1 + 2 * numbers[place]
                if count < _SHARED or numbers[place] < 0 or end > len(numbers) or receiver not in receivers:
                    raise ValueError
                batches = {numbers[one]: message.batches[numbers[one + 1]] for one in range(place + 1, end, 2)}
                listed[receiver] = Message(own, batches)
                place = end
            letters.append((origin, shared, listed))
    except (ValueError, LookupError):
        raise PeerLost("a bundle that is broken") from None
    return letters
