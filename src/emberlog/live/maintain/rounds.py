"""Bounded recursions: rounds or stages one after the other, each by the changes of those before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from emberlog.live.maintain.maintainer import Maintainer
from emberlog.live.searches.facts import Facts


class Rounds(Maintainer):
    """Keeps all rounds of a recursion up to date, or all its stages."""

    def __init__(self, facts: Mapping[str, Facts], relations: tuple[str, ...], rounds: Sequence[Maintainer]) -> None:
        self.relations = relations
        own = {name for one in rounds for name in one.relations}
        self.reads = frozenset(name for one in rounds for name in one.reads if name not in own)
        self.method = "each round or stage is kept, and follows the changes of those before it"
        self._facts = facts
        self._rounds = rounds

    def begin(self) -> None:
        for one in self._rounds:
            one.begin()

    def update(self) -> None:
        for one in self._rounds:
            if any(self._facts[name].is_changed for name in one.reads):
                one.update()

    def commit(self) -> None:
        for one in self._rounds:
            one.commit()

    def abort(self) -> None:
        for one in self._rounds:
            one.abort()
