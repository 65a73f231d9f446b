"""What stays the same in all rounds of a recursion: computed once, cached, spread by the columns it is joined on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pyspark.sql import DataFrame

from emberlog.engines.spark.frames.columns import spark_name
from emberlog.engines.spark.frames.partitions import Partitions
from emberlog.engines.spark.frames.plans import PlanCompiler
from emberlog.engines.spark.frames.resources import Kept, Resources
from emberlog.logical.nodes import AntiJoin, Join, Plan, Values
from emberlog.logical.traverse import children, scans


class Invariants:
    """The sides of joins, in the plans of a recursion, that read nothing of it."""

    def __init__(self, plans: Iterable[Plan], members: frozenset[str], resources: Resources) -> None:
        self._members = members
        self._resources = resources
        self._sides = tuple(dict.fromkeys(side for plan in plans for side in self._invariant_sides(plan)))
        self._whole: dict[Plan, Kept] = {}
        self._copies: dict[tuple[Plan, tuple[str, ...]], Kept] = {}
        """Spread by the columns of the joins; none while one partition is enough, which needs no copies."""
        self._frames: dict[tuple[Plan, tuple[str, ...]], DataFrame] = {}

    def _is_invariant(self, plan: Plan) -> bool:
        return all(scan.relation not in self._members for scan in scans(plan))

    def _invariant_sides(self, plan: Plan) -> Iterator[tuple[Plan, tuple[str, ...]]]:
        for child in children(plan):
            if isinstance(plan, Join | AntiJoin) and self._is_invariant(child):
                yield child, plan.on
            else:
                yield from self._invariant_sides(child)

    def compute(self, compiler: PlanCompiler) -> None:
        """Computes and counts them, with the session's own settings."""
        for plan, _ in self._sides:
            if plan in self._whole:
                continue
            frame = compiler.ordered(plan)
            if isinstance(plan, Values):
                self._whole[plan] = Kept(frame, len(plan.rows), lambda: None)
            else:
                self._whole[plan] = self._resources.cache(frame)

    @property
    def most_rows(self) -> int:
        return max((kept.rows for kept in self._whole.values()), default=0)

    def rows(self, plan: Plan) -> int | None:
        kept = self._whole.get(plan)
        return kept.rows if kept else None

    def spread(self, partitions: Partitions) -> None:
        """Brings them into the current number of partitions."""
        if partitions.count == 1:
            self._frames = {side: partitions.spread(self._whole[side[0]].frame, ()) for side in self._sides}
            return
        sources = self._copies or {side: self._whole[side[0]] for side in self._sides}
        self._copies = {
            (plan, on): self._resources.cache(partitions.spread(source.frame, [spark_name(name) for name in on]))
            for (plan, on), source in sources.items()
        }
        self._frames = {side: kept.frame for side, kept in self._copies.items()}
        for kept in sources.values():
            self._resources.release(kept)

    def prepared(self, plan: Plan, on: tuple[str, ...]) -> DataFrame | None:
        return self._frames.get((plan, on))
