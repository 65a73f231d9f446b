"""Counts rows while DataFrames compute them, for those who ask what a plan or a rule really did.

Each node of a query is observed, so Spark does not move anything past it: the query runs as the plan says it. Rules are
not told apart by that, as Spark plans all rules of a round as one query: each of them is computed by a job of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from emberlog.engines.interpreter.rule_counts import Part, named, parts_of
from emberlog.engines.spark.frames.plans import PlanCompiler, union_all
from emberlog.engines.spark.frames.resources import Kept, Resources, is_connect
from emberlog.logical.nodes import Plan
from emberlog.workers.fixpoint.profile import Counts, Profile


class NodeCounts:
    """Counts the rows of nodes in all queries of a run. Without the session's JVM, as with Spark Connect, nothing is
    counted."""

    def __init__(self, spark: SparkSession) -> None:
        self.rows: dict[int, int] = {}
        """By the identity of a node."""
        self._is_possible = not is_connect(spark)
        self._names: dict[str, Plan] = {}

    @contextmanager
    def observing(self, compiler: PlanCompiler) -> Iterator[None]:
        """Lets the nodes of frames that are compiled meanwhile be observed."""
        if not self._is_possible:
            yield
            return
        compiler.observer = self._observed
        try:
            yield
        finally:
            compiler.observer = None

    def _observed(self, plan: Plan, frame: DataFrame) -> DataFrame:
        name = f"node {len(self._names)}"
        self._names[name] = plan
        return frame.observe(name, F.count(F.lit(1)).alias("rows"))

    def take(self, frame: DataFrame) -> None:
        """Takes what was observed of a frame, which has been computed."""
        if not self._is_possible:
            return
        metrics: Any = frame._jdf.queryExecution().observedMetrics()
        for name, plan in self._names.items():
            found = metrics.get(name)
            if found.isDefined():
                self.rows[id(plan)] = self.rows.get(id(plan), 0) + int(found.get().get(0))
        self._names.clear()


_GIVER, _IS_NEW, _LAST = "given by", "is new", "last stage"


@dataclass(frozen=True, slots=True)
class _Given:
    counts: Counts
    kept: Kept
    is_seed: bool


class RuleCounts:
    """Counts into a profile, for one stratum; without a profile, not at all."""

    def __init__(self, resources: Resources, profile: Profile | None) -> None:
        self._resources = resources
        self.profile = profile
        self._seeds: dict[str, list[tuple[str, Kept, float]]] = {}
        self._given: dict[str, list[_Given]] = {}
        """By relation, what rules gave whose new facts are not counted yet."""

    def divided(self, plan: Plan, *, is_set: bool) -> list[Part]:
        """Returns the plan in parts if there is something to count, and else as it is."""
        if self.profile is None:
            return [Part("", plan)]
        # Without columns there is one row or none, which is not divided.
        return parts_of(plan, is_set=is_set) if plan.columns else [Part(named(plan), plan)]

    def seed(self, part: Part, relation: str, frame: DataFrame) -> DataFrame:
        """Computes a part of what a recursion begins with, which `begin` counts."""
        if self.profile is None:
            return frame
        since = perf_counter()
        kept = self._resources.keep(frame)
        self._seeds.setdefault(relation, []).append((part.rule, kept, perf_counter() - since))
        return kept.frame

    def begin(self, relation: str, iteration: int) -> None:
        """Counts what a recursion begins with, in each iteration that reads it."""
        if self.profile is None:
            return
        seeds = self._seeds.get(relation, [])
        for rule, kept, seconds in seeds:
            self._take(rule, relation, iteration, kept, seconds, is_seed=True)
        self._seeds[relation] = [(rule, kept, 0.0) for rule, kept, _ in seeds]

    def rows(
        self, rule: str, relation: str, iteration: int, frame: DataFrame, stage: Column | None = None
    ) -> DataFrame:
        """Computes what a rule gives; `stage` is the column of its facts that says when they count."""
        if self.profile is None:
            return frame
        since = perf_counter()
        kept = self._resources.keep(frame, None if stage is None else {_LAST: F.max(stage)})
        self._take(rule, relation, iteration, kept, perf_counter() - since, is_seed=False)
        return kept.frame

    def _take(self, rule: str, relation: str, iteration: int, kept: Kept, seconds: float, *, is_seed: bool) -> None:
        assert self.profile is not None
        counts = self.profile.at(rule, relation, iteration)
        counts.derived = (counts.derived or 0) + kept.rows
        counts.seconds += seconds
        self._given.setdefault(relation, []).append(_Given(counts, kept, is_seed))

    def keep(
        self,
        relation: str,
        new: DataFrame | None,
        keys: Sequence[str],
        seconds: float,
        stage: int | None = None,
    ) -> None:
        """Counts each new fact for the first rule that gave it, or that contributed to it: the keys tell which. It took
        so many seconds to find the new ones. Of a `stage`, what rules gave to later ones is counted with these."""
        if self.profile is None:
            return
        given = self._given.pop(relation, [])
        total = sum(one.kept.rows for one in given) or 1
        for one in given:
            one.counts.seconds += seconds * one.kept.rows / total
        if new is not None and given:
            for place, found in _first_givers(given, new, keys).items():
                given[place].counts.kept += found
        for one in given:
            last = one.kept.measures.get(_LAST)
            if stage is not None and (one.is_seed or (last is not None and last > stage)):
                self._given.setdefault(relation, []).append(one)
            elif not one.is_seed:
                self._resources.release(one.kept)


def _first_givers(given: Sequence[_Given], new: DataFrame, keys: Sequence[str]) -> dict[int, int]:
    """Returns how many of the new facts each gave first."""
    tagged = [one.kept.frame.select(*keys, F.lit(place).alias(_GIVER)) for place, one in enumerate(given)]
    wanted = new.select(*keys, F.lit(None).cast("int").alias(_GIVER))
    # Groups, not a join: a null is a key like any other here.
    grouped = union_all([*tagged, wanted]).groupBy(*keys)
    first = grouped.agg(F.min(_GIVER).alias(_GIVER), F.bool_or(F.col(_GIVER).isNull()).alias(_IS_NEW))
    counted = first.where(F.col(_IS_NEW) & F.col(_GIVER).isNotNull()).groupBy(_GIVER).count()
    return {int(place): int(rows) for place, rows in counted.collect()}
