"""Defines what workers tell each other and the driver."""

from __future__ import annotations

from collections.abc import Collection, Generator
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from emberlog.workers.kernels.lanes import Lanes


@dataclass(slots=True)
class Message:
    """Holds what a worker has for one other: numbers, and batches by channel. Its part of `sums` is the same for all
    others; they add the parts of all workers up, so in rounds some are added on their way (see `added`)."""

    numbers: tuple[int, ...] = ()
    batches: dict[int, Lanes] = field(default_factory=dict)
    sums: tuple[int, ...] = ()


Mail: TypeAlias = list[Message]
"""One message per worker, its own included."""


def added(received: Mail) -> tuple[int, ...]:
    """Returns the sums over all workers, wherever in the mail of a round the parts of them are."""
    return tuple(map(sum, zip(*(message.sums for message in received if message.sums), strict=True)))


Running: TypeAlias = Generator[Mail, Mail, None]
"""A worker at work: it yields its mail and is sent that of the others."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Tells, after a round, how many facts changed and how many there are: on all workers, or on a decomposed one."""

    iteration: int
    changed: int
    total: int
    bytes_sent: int = 0
    """To other workers, since the recursion began."""


class Carrier(Protocol):
    """Carries mail to the other workers, and from them."""

    number: int

    def swap(self, mail: Mail) -> Mail: ...

    def trade(self, mail: Mail, senders: Collection[int], patience: float | None) -> Mail: ...
