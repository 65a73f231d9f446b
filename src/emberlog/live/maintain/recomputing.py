"""Relations that are computed anew when something that they read has changed; what reads them gets the difference."""

from __future__ import annotations

from collections.abc import Mapping

from emberlog.live.maintain.loading import Loader
from emberlog.live.maintain.maintainer import Maintainer
from emberlog.live.searches.facts import Facts
from emberlog.logical.nodes import PlannedStratum
from emberlog.logical.traverse import relations_read


class Recomputing(Maintainer):
    """Computes the relations of a stratum as a run of the whole program does."""

    def __init__(self, facts: Mapping[str, Facts], loader: Loader, stratum: PlannedStratum, why: str) -> None:
        self.relations = stratum.relations
        self.reads = frozenset(relations_read(stratum.root) - set(stratum.relations))
        self.why = why
        self.method = f"computed anew, and compared: {why}"
        self._facts = facts
        self._loader = loader
        self._plan = loader.plan_of(stratum)

    def begin(self) -> None:
        for name, found in self._loader.run(self._plan).items():
            self._facts[name].rows.update(dict.fromkeys(found, 0))

    def update(self) -> None:
        for name, found in self._loader.run(self._plan).items():
            own = self._facts[name]
            for fact in [fact for fact in own if fact not in found]:
                own.remove(fact)
            for fact in found:
                if not own.has(fact):
                    own.add(fact, 0)

    def commit(self) -> None:
        return

    def abort(self) -> None:
        return
