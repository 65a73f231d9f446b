"""What the rounds of a recursion work with, however they are organised."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import Column, DataFrame, SparkSession

from emberlog.engines.spark.frames.columns import spark_name
from emberlog.engines.spark.frames.contributions import Contributions
from emberlog.engines.spark.frames.counts import RuleCounts
from emberlog.engines.spark.frames.partitions import Partitions
from emberlog.engines.spark.frames.plans import PlanCompiler, union_all
from emberlog.engines.spark.frames.resources import Kept, Resources
from emberlog.engines.spark.frames.settings import compile_queries
from emberlog.engines.spark.frames.watch import Watch
from emberlog.io.spark_conversions import fact_of, local_frame
from emberlog.language.registry import Functions
from emberlog.logical.nodes import (
    AntiJoin,
    Distinct,
    Filter,
    Fixpoint,
    Join,
    Plan,
    Project,
    Scan,
    Union,
    Values,
    Version,
)
from emberlog.logical.traverse import children, scans
from emberlog.workers.fixpoint.profile import Profile


class Invariants:
    """Holds the sides of joins, in the plans of a recursion, that read nothing of it."""

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


MOST_ROWS_IN_A_HASH_TABLE = 1_000_000
"""Per task: a hash join keeps one side in memory, and what is larger is sorted instead, which can spill."""


ROWS_WORTH_COMPILING = 20_000
"""With fewer of them, a query is done before it could be compiled."""


class State(Protocol):
    """The facts of one relation of the recursion, as far as they are known."""

    def read(self, version: Version) -> DataFrame: ...

    def rows(self, version: Version) -> int: ...


@dataclass(frozen=True, slots=True)
class RelationResult:
    """Holds the facts of a relation, computed."""

    frame: DataFrame
    """With the columns of the relation, in its order."""
    rows: int
    kept: tuple[Kept, ...]
    """What has to stay for the frames to be read."""
    history: DataFrame | None = None
    """With provenance, what `engines/recording.py` calls the history, if the recursion has one."""


@dataclass(frozen=True, slots=True)
class Session:
    """Holds what all strata of a run share."""

    spark: SparkSession
    functions: Functions
    resources: Resources
    watch: Watch
    complete: PlanCompiler
    """Compiles plans that read only relations that are complete."""
    provenance: bool = False
    profile: bool = False
    """Whether it is counted what each rule does."""


class Environment:
    """Holds what one recursion needs while it runs: its sources, limits and resources."""

    def __init__(self, session: Session, fixpoint: Fixpoint, plans: Iterable[Plan]) -> None:
        self.session = session
        self.resources = session.resources
        self.watch = session.watch
        self.fixpoint = fixpoint
        self.members = frozenset(relation.name for relation in fixpoint.relations)
        self.contributions = {
            relation.name: Contributions(relation, session.functions) for relation in fixpoint.relations
        }
        self.invariants = Invariants(plans, self.members, session.resources)
        self.seeds: dict[str, Kept] = {}
        self.counts = RuleCounts(session.resources, Profile() if session.profile else None)
        self.partitions: Partitions
        self._is_compiled = False
        self.states: Mapping[str, State] = {}
        self.compiler = PlanCompiler(session.spark, session.functions, self)

    def prepare(self, known: Mapping[str, Kept]) -> None:
        """Computes what no round changes. It may be large, so this is done with the session's own settings. What is
        known of the recursion already counts as its beginning."""
        for relation in self.fixpoint.relations:
            names = self.contributions[relation.name].names
            parts = self.counts.divided(relation.seed, is_set=not relation.aggregates)
            frame = union_all(
                [
                    self.counts.seed(part, relation.name, self.session.complete.ordered(part.plan).toDF(*names))
                    for part in parts
                ]
            )
            if isinstance(relation.seed, Values):
                self.seeds[relation.name] = Kept(frame, len(relation.seed.rows), lambda: None)
            else:
                self.seeds[relation.name] = self.resources.keep(frame)
            if relation.name in known:
                seed, more = self.seeds[relation.name], known[relation.name]
                frame = seed.frame.unionAll(more.frame.toDF(*names))
                self.seeds[relation.name] = Kept(frame, seed.rows + more.rows, lambda: None)
        self.invariants.compute(self.session.complete)

    def begin(self, partitions: Partitions) -> None:
        self.partitions = partitions
        rows = max(self.invariants.most_rows, *(seed.rows for seed in self.seeds.values()))
        self._compile(rows)
        partitions.grow(rows)
        self.invariants.spread(partitions)

    def grow(self, rows: int) -> bool:
        """Tells whether so many rows want more partitions. The invariants are in them then; the rest is up to the
        caller."""
        self._compile(rows)
        if not self.partitions.grow(rows):
            return False
        self.invariants.spread(self.partitions)
        return True

    def _compile(self, rows: int) -> None:
        if rows > ROWS_WORTH_COMPILING and not self._is_compiled:
            self._is_compiled = True
            compile_queries(self.session.spark)

    def rule_frame(
        self, relation: str, plan: Plan, rule: str, iteration: int, stage: Column | None = None
    ) -> DataFrame:
        """Returns what a rule contributes in an iteration, given the states as they are."""
        frame = self.compiler.ordered(plan, rule).toDF(*self.contributions[relation].names)
        return self.counts.rows(rule, relation, iteration, frame, stage)

    def gathered(self, frames: Sequence[DataFrame]) -> DataFrame:
        return self.partitions.gather(union_all(frames))

    def empty_facts(self, relation: str) -> DataFrame:
        columns = self.contributions[relation].relation.columns
        names = [field.name for field in columns]
        return local_frame(self.session.spark, names, [field.type for field in columns], ())

    def some_facts(self, frames: Mapping[str, DataFrame | None], count: int) -> list[str]:
        """Returns a few facts as text, from frames with the columns of the relations."""
        shown: list[str] = []
        for name, frame in frames.items():
            if frame is not None and len(shown) < count:
                rows = frame.limit(count - len(shown)).collect()
                shown += [f"{name}({', '.join(map(_shown, fact_of(row)))})" for row in rows]
        return sorted(shown)

    # --- sources of plans -------------------------------------------------------------------------------------------

    def read(self, scan: Scan) -> DataFrame:
        if scan.relation in self.members:
            return self.states[scan.relation].read(scan.version)
        return self.session.complete.sources.read(scan)

    def prepared(self, plan: Plan, on: tuple[str, ...]) -> DataFrame | None:
        return self.invariants.prepared(plan, on)

    def join_hints(self, left: Plan, right: Plan) -> tuple[str | None, str | None]:
        """Returns a hash table of the smaller side, where its size is known and it fits."""
        limit = MOST_ROWS_IN_A_HASH_TABLE * self.partitions.count
        first, second = self._most_rows(left), self._most_rows(right)
        if first is not None and first <= limit and (second is None or first < second):
            return "shuffle_hash", None
        if second is not None and second <= limit:
            return None, "shuffle_hash"
        return None, None

    def _most_rows(self, plan: Plan) -> int | None:
        """Returns a number that the rows of the plan do not pass, if one is known."""
        known = self.invariants.rows(plan)
        if known is not None:
            return known
        match plan:
            case Scan(relation, _, version) if relation in self.members:
                return self.states[relation].rows(version)
            case Filter(source) | Project(source) | Distinct(source) | AntiJoin(source):
                return self._most_rows(source)
            case Union(inputs):
                rows = [self._most_rows(one) for one in inputs]
                return sum(one or 0 for one in rows) if None not in rows else None
            case _:
                return None


def _shown(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)
