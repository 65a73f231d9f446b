"""Facts that are copied to other workers drive no rule before every copy has them.

Two facts of one valuation may each set out to meet the other while the copies are still under way, and then both come
too soon. So a fact waits until all who keep a copy have confirmed it: of the facts of a valuation, the one that is
confirmed last finds all others.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from emberlog.workers.kernels.lanes import Lanes


@dataclass(slots=True)
class Installing:
    """On one worker. A parcel is a message with copies; those to one worker arrive in order, so counting is enough."""

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
        """Whether somebody waits for us to confirm."""
        return self.taken != self.told

    @property
    def has_new(self) -> bool:
        return bool(self._new)

    def hold(self, relation: str, facts: Lanes) -> None:
        """Facts whose copies will leave with the next shipment."""
        self._new.append((relation, facts))

    def shipped(self) -> None:
        """The copies of all facts so far have left."""
        if self._new:
            self._held.append((tuple(self.sent), self._new))
            self._new = []

    def released(self) -> list[tuple[str, Lanes]]:
        """The facts that all copies have by now, each once."""
        found: list[tuple[str, Lanes]] = []
        while self._held and all(map(int.__le__, self._held[0][0], self.confirmed)):
            found += self._held.popleft()[1]
        return found
