"""Remembers of the recursions of a database what they turned out to be too large for, so that a program that runs again
does not begin where it could not stay.

A guess for the next run and no more: any choice gives the same facts.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock

from emberlog.logical.nodes import LogicalPlan

MOST_PLANS = 64
"""What was run last is remembered."""


@dataclass(slots=True)
class _Learnt:
    plan: LogicalPlan
    """It is held, so that no other one gets its identity."""
    outgrown: dict[tuple[int, str], int] = field(default_factory=dict)
    """By stratum and where it was: the fewest facts that it read when it did not stay there."""


class Experience:
    def __init__(self) -> None:
        self._learnt: OrderedDict[int, _Learnt] = OrderedDict()
        """By the identity of a plan: a program that is run again has the same one."""
        self._lock = Lock()

    def outgrew(self, plan: LogicalPlan, stratum: int, where: str, read: int) -> None:
        """Takes note that a stratum which reads so many facts was too large for the place where it was tried."""
        with self._lock:
            learnt = self._learnt.setdefault(id(plan), _Learnt(plan))
            self._learnt.move_to_end(id(plan))
            learnt.outgrown[stratum, where] = min(read, learnt.outgrown.get((stratum, where), read))
            while len(self._learnt) > MOST_PLANS:
                self._learnt.popitem(last=False)

    def is_too_large(self, plan: LogicalPlan, stratum: int, where: str, read: int) -> bool:
        """Tells whether a stratum was too large for a place when it read no more than it does now."""
        with self._lock:
            learnt = self._learnt.get(id(plan))
            least = None if learnt is None else learnt.outgrown.get((stratum, where))
            return least is not None and read >= least
