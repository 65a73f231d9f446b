"""Holds what a worker that goes on by itself has for others: contributions until they are shipped, copies until they
are confirmed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from emberlog.workers.kernels.lanes import Lanes
from emberlog.workers.kernels.tuning import MOST_REMEMBERED
from emberlog.workers.store.stores import Store


class Outbox:
    """Combines the contributions to facts of other workers until they are shipped; one outbox per relation. It
    remembers what it has shipped: a fact leaves once, and a minimum only when it is better than the one before. To
    forget is safe, because all that is shipped without rounds may come twice; it does so before it grows too large."""

    def __init__(self, new_combiner: Callable[[int], Store]) -> None:
        """`new_combiner` makes an empty store for contributions of a width."""
        self.new_combiner = new_combiner
        self.store: Store | None = None

    @property
    def waiting(self) -> int:
        """Returns how many contributions are to be shipped."""
        return 0 if self.store is None else self.store.fresh

    def add(self, contributions: Lanes) -> None:
        if self.store is None:
            self.store = self.new_combiner(contributions.shape[0])
        self.store.add(contributions)

    def take(self) -> Lanes:
        """Returns what waits, which is something, and takes it for shipped from now on."""
        assert self.store is not None
        self.store.advance()
        lanes = self.store.delta
        if self.store.count > MOST_REMEMBERED:
            self.store = None
        return lanes


@dataclass(slots=True)
class Installing:
    """Holds facts until all who keep a copy have confirmed it. Two facts of one valuation may each set out to meet the
    other while the copies are still under way, and then both come too soon; of the facts of a valuation, the one that
    is confirmed last finds all others. A parcel is a message with copies; those to one worker arrive in order, so
    counting is enough."""

    workers: int
    sent: list[int] = field(init=False)
    """Parcels to each worker."""
    confirmed: list[int] = field(init=False)
    """Those of them that arrived, as far as we know."""
    taken: list[int] = field(init=False)
    """Parcels from each worker."""
    told: list[int] = field(init=False)
    """Those of them that it has been told of."""
    _new: list[tuple[str, Lanes]] = field(default_factory=list)
    _held: deque[tuple[tuple[int, ...], list[tuple[str, Lanes]]]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.sent, self.confirmed = [0] * self.workers, [0] * self.workers
        self.taken, self.told = [0] * self.workers, [0] * self.workers

    @property
    def is_owing(self) -> bool:
        """Tells whether somebody waits for us to confirm."""
        return self.taken != self.told

    @property
    def has_new(self) -> bool:
        return bool(self._new)

    def hold(self, relation: str, facts: Lanes) -> None:
        """Facts whose copies will leave with the next shipment."""
        self._new.append((relation, facts))

    def shipped(self) -> None:
        """Notes that the copies of all facts so far have left."""
        if self._new:
            self._held.append((tuple(self.sent), self._new))
            self._new = []

    def released(self) -> list[tuple[str, Lanes]]:
        """Returns the facts that all copies have by now, each once."""
        found: list[tuple[str, Lanes]] = []
        while self._held and all(map(int.__le__, self._held[0][0], self.confirmed)):
            found += self._held.popleft()[1]
        return found
