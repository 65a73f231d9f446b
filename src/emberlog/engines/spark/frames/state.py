"""What semi-naive evaluation keeps of a relation: everything known, in a few segments, and what the last round changed.

A segment is never changed. New ones are added behind the others and small ones are merged now and then, as in a
log-structured store, so that a round neither copies what is known nor reads it from many pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from emberlog.engines.spark.frames.contributions import IS_KNOWN
from emberlog.engines.spark.frames.environment import Environment, RelationResult
from emberlog.engines.spark.frames.plans import union_all
from emberlog.engines.spark.frames.resources import Kept
from emberlog.logical.nodes import Version

MOST_SEGMENTS = 8

NEW = "new"
"""The measure that counts the facts whose key was not known."""


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """Combined contributions that are known."""

    kept: Kept
    frame: DataFrame
    """Without the column that says whether they were known before."""

    @property
    def rows(self) -> int:
        return self.kept.rows


class RelationState:
    """Holds the state of a relation whose contributions only ever add to what is known."""

    def __init__(self, environment: Environment, name: str) -> None:
        self.environment = environment
        self.resources = environment.resources
        self.contributions = environment.contributions[name]
        self.name = name
        self.older: list[Segment] = []
        """Spread by the keys of contributions. A key may be in several: the best one counts."""
        self.older_rows: DataFrame | None = None
        """All of them together."""
        self.changed: Segment | None = None
        """What the last round changed."""
        self.delta: Kept | None = None
        """The facts that this changed, where they are not the same rows."""
        self.views: dict[Version, Kept] = {}
        """All facts, where they had to be computed from contributions."""
        self.fact_count = 0

    # --- reading ----------------------------------------------------------------------------------------------------

    def read(self, version: Version) -> DataFrame:
        if version is Version.DELTA:
            return self.delta_facts()
        known = self._known(version)
        if known is None:
            return self.environment.empty_facts(self.name)
        if not self.contributions.relation.aggregates:
            return known
        if version not in self.views:
            self.views[version] = self.resources.keep(self._facts(known))
        return self.views[version].frame

    def rows(self, version: Version) -> int:
        if version is Version.DELTA:
            return self.delta_rows
        newest = self.changed.rows if self.changed and version is Version.FULL else 0
        return sum(one.rows for one in self.older) + newest

    @property
    def delta_rows(self) -> int:
        kept = self.delta or self.changed
        return kept.rows if kept else 0

    def delta_facts(self) -> DataFrame:
        if self.delta is not None:
            return self.delta.frame.drop(IS_KNOWN)
        if self.changed is None:
            return self.environment.empty_facts(self.name)
        return self.contributions.facts(self.changed.frame)

    def _known(self, version: Version) -> DataFrame | None:
        """Returns the contributions that are known. If there are several segments, a key may be there several times."""
        newest = self.changed if version is Version.FULL else None
        frames = [one for one in (self.older_rows, newest.frame if newest else None) if one is not None]
        return self.environment.gathered(frames) if frames else None

    def _facts(self, known: DataFrame) -> DataFrame:
        return self.contributions.facts(self.contributions.reduced(known))

    # --- a round ----------------------------------------------------------------------------------------------------

    def changes(self, frames: Sequence[DataFrame]) -> Segment | None:
        """Returns what new contributions change; nothing of it takes effect yet."""
        if not frames:
            return None
        new = self.environment.gathered(frames)
        known = self._known(Version.FULL)
        if known is not None and self.environment.partitions.count > 1:
            # Most of what is known has nothing to do with this round: finding out costs less than combining it.
            new = self.contributions.reduced(new)
            known = self._related(known, new, self.contributions.keys)
        changed = self.contributions.changes(known, new)
        if self.contributions.values:
            kept = self.resources.keep(changed, {NEW: _count_of_new()})
        else:  # of a set nothing is changed but by adding to it
            kept = self.resources.keep(changed.drop(IS_KNOWN))
        return self._segment(kept)

    def _segment(self, kept: Kept) -> Segment:
        return Segment(kept, kept.frame.drop(IS_KNOWN) if self.contributions.values else kept.frame)

    def advance(self, changed: Segment | None) -> None:
        """Takes over what a round changed."""
        self._forget_last_round()
        if changed is None:
            return
        if not changed.rows:
            self.resources.release(changed.kept)
            return
        self.changed = changed
        counted = changed.kept
        if self.contributions.is_summed:
            self.delta = counted = self.resources.keep(self._changed_sums(changed), {NEW: _count_of_new()})
        self.fact_count += counted.measures.get(NEW, counted.rows) or 0

    def _forget_last_round(self) -> None:
        for view in self.views.values():
            self.resources.release(view)
        self.views.clear()
        if self.delta is not None:
            self.resources.release(self.delta)
            self.delta = None
        if self.changed is not None:
            self._add(self.changed)
            self.changed = None

    def _changed_sums(self, changed: Segment) -> DataFrame:
        """Returns the new facts of the groups to which something changed, and whether they had one before."""
        rows = changed.frame.withColumn(IS_KNOWN, F.lit(False))
        if self.older_rows is not None:
            groups = changed.frame.select(*self.contributions.group).distinct()
            related = self._related(self.environment.gathered([self.older_rows]), groups, self.contributions.group)
            rows = rows.unionAll(related.withColumn(IS_KNOWN, F.lit(True)))
        return self.contributions.facts(self.environment.gathered([rows]), beside=[IS_KNOWN])

    def _related(self, known: DataFrame, others: DataFrame, keys: Sequence[str]) -> DataFrame:
        """Returns the known rows that have their keys in common with one of the others, and perhaps some more."""
        if not keys:
            return known
        wanted = others.select(*keys).hint("shuffle_hash") if self._is_small() else others.select(*keys)
        found = known.join(wanted, list(keys), "left_semi").select(*self.contributions.names)
        # A join finds no nulls, but a null key is a key like any other here.
        has_null = reduce(Column.__or__, (F.col(key).isNull() for key in keys))
        return found.unionAll(known.where(has_null))

    def _is_small(self) -> bool:
        """Tells whether the keys of this round probably fit into a hash table, going by what the last one changed."""
        return self.delta_rows <= 200_000 * self.environment.partitions.count

    # --- segments ---------------------------------------------------------------------------------------------------

    def _add(self, segment: Segment) -> None:
        """Adds a segment, and merges the newest when there are many: all but those larger than all behind them."""
        self.older.append(segment)
        self.older_rows = segment.frame if self.older_rows is None else self.older_rows.unionAll(segment.frame)
        if len(self.older) < MOST_SEGMENTS:
            return
        first = 0
        while self.older[first].rows > sum(one.rows for one in self.older[first + 1 :]):
            first += 1
        self._merge(min(first, MOST_SEGMENTS // 2))

    def _merge(self, first: int, *, spread: bool = False) -> None:
        """Puts one segment in the place of the one with this index and all behind it."""
        old = self.older[first:]
        rows = self.environment.gathered([one.frame for one in old])
        if spread:
            rows = self.environment.partitions.spread(rows, self.contributions.keys)
        merged = self.resources.keep(self.contributions.reduced(rows) if self.contributions.values else rows)
        self.older[first:] = [Segment(merged, merged.frame)]
        self.older_rows = union_all([one.frame for one in self.older])
        for one in old:
            self.resources.release(one.kept)

    def spread(self) -> None:
        """Brings everything known into the current number of partitions."""
        if self.older:
            self._merge(0, spread=True)
        if self.changed is not None:
            self.changed = self._segment(self._moved(self.changed.kept, self.contributions.keys))
        if self.delta is not None:
            self.delta = self._moved(self.delta, self.contributions.group)

    def _moved(self, kept: Kept, keys: Sequence[str]) -> Kept:
        moved = self.resources.keep(self.environment.partitions.spread(kept.frame, keys))
        self.resources.release(kept)
        return moved

    def result(self) -> RelationResult:
        known = self._known(Version.FULL)
        if known is None:
            return RelationResult(self.environment.empty_facts(self.name), 0, ())
        if self.contributions.relation.aggregates:
            kept = self.resources.keep(self._facts(known))
            return RelationResult(kept.frame, kept.rows, (kept,))
        newest = [self.changed] if self.changed else []
        return RelationResult(known, self.fact_count, tuple(one.kept for one in (*self.older, *newest)))


def _count_of_new() -> Column:
    return F.count_if(~F.col(IS_KNOWN))
