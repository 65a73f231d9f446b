"""Contributions to facts of other workers, combined until they are shipped.

An outbox remembers what it has shipped: a fact leaves once, and a minimum only when it is better than the one before.
To forget is safe, because all that is shipped asynchronously may come twice; it does so before it grows too large.
"""

from __future__ import annotations

from collections.abc import Callable

from emberlog.workers.kernels.lanes import Lanes
from emberlog.workers.store.stores import Store

MOST_REMEMBERED = 1 << 20
"""Rows; more than these are not worth their memory."""


class Outbox:
    """Of one relation."""

    def __init__(self, new_combiner: Callable[[int], Store]) -> None:
        """`new_combiner` makes an empty store for contributions of a width."""
        self.new_combiner = new_combiner
        self.store: Store | None = None

    @property
    def waiting(self) -> int:
        """How many contributions are to be shipped."""
        return 0 if self.store is None else self.store.fresh

    def add(self, contributions: Lanes) -> None:
        if self.store is None:
            self.store = self.new_combiner(contributions.shape[0])
        self.store.add(contributions)

    def take(self) -> Lanes:
        """What waits, which is something; it is taken for shipped from now on."""
        assert self.store is not None
        self.store.advance()
        lanes = self.store.delta
        if self.store.count > MOST_REMEMBERED:
            self.store = None
        return lanes
