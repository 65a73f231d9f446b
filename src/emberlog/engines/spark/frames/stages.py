"""Stage by stage: the facts of a stage are complete before anything is derived from them, and never looked at again.

Each rule raises the stage, or hands it on unchanged along a path that does not come back. So the facts of the lowest
open stage are final once those of the same stage that they are derived from are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from emberlog.engines.spark.frames.columns import spark_name
from emberlog.engines.spark.frames.environment import Environment, RelationResult
from emberlog.engines.spark.frames.resources import Kept
from emberlog.logical.expressions import substitute
from emberlog.logical.nodes import (
    AntiJoin,
    Distinct,
    Filter,
    Fixpoint,
    FixpointRelation,
    Join,
    Plan,
    Project,
    Scan,
    Version,
)
from emberlog.logical.traverse import column_names, scans
from emberlog.optimize.derive_delta_rules import delta_plans
from emberlog.syntax.ast import Binary, BinaryOperator, Constant, Expression, Variable, variables_of

LOWEST, HIGHEST, UNKNOWN_STAGES = "lowest", "highest", "unknown"
"""Measures of contributions: their stages, and how many have none."""


def stage_ranks(fixpoint: Fixpoint) -> dict[str, int] | None:
    """Returns the order in which the relations of one stage are completed, or None if the plans do not show it."""
    columns = fixpoint.recursion.stage_columns
    reads: dict[str, set[str]] = {}
    for relation in fixpoint.relations:
        reads[relation.name] = set()
        for rule in relation.rules:
            growth = _growth(rule.plan, relation.columns[columns[relation.name]].name)
            if growth is None:
                return None
            if growth == 0:
                reads[relation.name] |= {scan.relation for scan in scans(rule.plan) if scan.relation in columns}
    ranks: dict[str, int] = {}
    while len(ranks) < len(reads):
        ready = [name for name, needed in reads.items() if name not in ranks and needed <= ranks.keys()]
        if not ready:
            return None
        ranks |= dict.fromkeys(ready, max(ranks.values(), default=-1) + 1)
    return ranks


def _growth(plan: Plan, column: str) -> int | None:
    """Returns by how much the column of a rule's head is larger than the stage that its body reads."""
    stage = _origin(plan, column)
    growth = 0
    while isinstance(stage, Binary) and stage.operator is BinaryOperator.ADD:
        left, right = stage.left, stage.right
        if isinstance(left, Constant):
            left, right = right, left
        if not isinstance(right, Constant) or not isinstance(right.value, int):
            return None
        growth += right.value
        stage = left
    return growth if isinstance(stage, Variable) and growth >= 0 else None


def _origin(plan: Plan, column: str) -> Expression | None:
    """Returns a column as an expression over the columns of scans, if that is all it is."""
    match plan:
        case Scan():
            return Variable(column)
        case Filter(source) | Distinct(source) | AntiJoin(source):
            return _origin(source, column)
        case Join(left, right):
            return _origin(left if column in column_names(left) else right, column)
        case Project(source, outputs):
            (expression,) = (output.expression for output in outputs if output.field.name == column)
            origins: dict[str, Expression] = {}
            for variable in variables_of(expression):
                origin = _origin(source, variable.name)
                if origin is None:
                    return None
                origins[variable.name] = origin
            return substitute(expression, origins)
        case _:
            return None


class StagedState:
    """Holds the facts of the stages that are complete, and the contributions to those that are not."""

    def __init__(self, environment: Environment, relation: FixpointRelation) -> None:
        self.environment = environment
        self.name = relation.name
        self.contributions = environment.contributions[relation.name]
        stage = relation.columns[environment.fixpoint.recursion.stage_columns[relation.name]]
        self.stage = spark_name(stage.name)
        self.open: list[Kept] = []
        self.done: int | None = None
        """The last stage that is complete."""
        self.older: list[Kept] = []
        self.delta: Kept | None = None

    def read(self, version: Version) -> DataFrame:
        segments = self._segments(version)
        if not segments:
            return self.environment.empty_facts(self.name)
        return self.environment.gathered([one.frame for one in segments])

    def rows(self, version: Version) -> int:
        return sum(one.rows for one in self._segments(version))

    def _segments(self, version: Version) -> list[Kept]:
        newest = [self.delta] if self.delta else []
        match version:
            case Version.DELTA:
                return newest
            case Version.BEFORE:
                return self.older
            case Version.FULL:
                return [*self.older, *newest]

    def add(self, frame: DataFrame) -> None:
        """Contributions to stages that are not complete yet."""
        stage = F.col(self.stage)
        kept = self.environment.resources.keep(
            frame,
            {LOWEST: F.min(stage), HIGHEST: F.max(stage), UNKNOWN_STAGES: F.count_if(stage.isNull())},
        )
        if kept.rows:
            self.open.append(kept)
        else:
            self.environment.resources.release(kept)

    @property
    def has_unknown_stages(self) -> bool:
        return any(one.measures[UNKNOWN_STAGES] for one in self.open)

    def lowest_open(self) -> int | None:
        """Returns the lowest stage that has contributions and is not complete."""
        lowest: int | None = None
        for one in self.open:
            found, highest = one.measures[LOWEST], one.measures[HIGHEST]
            if self.done is not None and found is not None and found <= self.done:
                # The part of it that is complete hides where the rest begins.
                found = self._lowest_above(one.frame, self.done) if highest and highest > self.done else None
            if found is not None and (lowest is None or found < lowest):
                lowest = found
        return lowest

    def _lowest_above(self, frame: DataFrame, stage: int) -> int | None:
        found = frame.where(F.col(self.stage) > stage).agg(F.min(self.stage)).collect()[0][0]
        return None if found is None else int(found)

    def complete(self, stage: int) -> None:
        """Makes the facts of a stage, which become the delta."""
        frames = [one.frame.where(F.col(self.stage) == stage) for one in self.open]
        self.delta = self.environment.resources.keep(self.contributions.all_facts(self.environment.gathered(frames)))
        self.done = stage
        spent = [one for one in self.open if (one.measures[HIGHEST] or 0) <= stage]
        self.open = [one for one in self.open if one not in spent]
        for one in spent:
            self.environment.resources.release(one)

    def settle(self) -> None:
        """Drops the delta, from which everything is derived."""
        if self.delta is None:
            return
        self.older.append(self.delta)
        self.delta = None
        if len(self.older) >= 8:
            merged = self.environment.resources.keep(self.environment.gathered([one.frame for one in self.older]))
            for one in self.older:
                self.environment.resources.release(one)
            self.older = [merged]


class Staged:
    def __init__(
        self, environment: Environment, ranks: Mapping[str, int], plans: Mapping[Plan, Sequence[Plan]]
    ) -> None:
        self.environment = environment
        self.ranks = ranks
        self.plans = plans
        """The delta plans of each rule's plan."""
        self.states = {relation.name: StagedState(environment, relation) for relation in environment.fixpoint.relations}
        environment.states = self.states
        self.iteration = 0

    def begin(self) -> bool:
        """Tells whether the contributions that are there from the start all have a stage."""
        for name, seed in self.environment.seeds.items():
            self.environment.counts.begin(name, self.iteration)
            if seed.rows:
                self.states[name].add(self.environment.partitions.gather(seed.frame))
        return not any(state.has_unknown_stages for state in self.states.values())

    def run(self) -> dict[str, RelationResult]:
        while (following := self._next()) is not None:
            stage, names = following
            for name in names:
                self._complete(name, stage)
            self.iteration += 1
            self._check(names)
            self.environment.grow(max(state.rows(Version.DELTA) for state in self.states.values()))
            for relation in self.environment.fixpoint.relations:
                self._derive(relation)
            for state in self.states.values():
                state.settle()
        return {name: self._result(state) for name, state in self.states.items()}

    def _complete(self, name: str, stage: int) -> None:
        since = perf_counter()
        state = self.states[name]
        state.complete(stage)
        new, keys = state.delta.frame if state.delta else None, state.contributions.of_a_fact
        self.environment.counts.keep(name, new, keys, perf_counter() - since, stage)

    def _next(self) -> tuple[int, list[str]] | None:
        """Returns the stage to complete next, and in which relations."""
        lowest = {name: stage for name, state in self.states.items() if (stage := state.lowest_open()) is not None}
        if not lowest:
            return None
        stage, rank = min((stage, self.ranks[name]) for name, stage in lowest.items())
        return stage, [name for name, own in lowest.items() if own == stage and self.ranks[name] == rank]

    def _derive(self, relation: FixpointRelation) -> None:
        stage = F.col(self.states[relation.name].stage)
        frames = [
            self.environment.rule_frame(relation.name, plan, rule.name, self.iteration, stage)
            for rule in relation.rules
            for plan in self.plans[rule.plan]
            if self._reads_delta(plan)
        ]
        if frames:
            self.states[relation.name].add(self.environment.gathered(frames))

    def _reads_delta(self, plan: Plan) -> bool:
        return all(
            self.states[scan.relation].rows(Version.DELTA) for scan in scans(plan) if scan.version is Version.DELTA
        )

    def _check(self, names: Sequence[str]) -> None:
        deltas = {name: self.states[name].read(Version.DELTA) for name in names}
        self.environment.watch.check_iteration(
            sum(self.states[name].rows(Version.DELTA) for name in names),
            sum(state.rows(Version.FULL) for state in self.states.values()),
            lambda count: self.environment.some_facts(deltas, count),
        )

    def _result(self, state: StagedState) -> RelationResult:
        return RelationResult(state.read(Version.FULL), state.rows(Version.FULL), tuple(state.older))


def staged_plans(fixpoint: Fixpoint) -> dict[Plan, Sequence[Plan]]:
    """Returns the delta plans of each rule: where facts are final once they are there, nothing is derived twice by
    them."""
    members = [relation.name for relation in fixpoint.relations]
    return {rule.plan: delta_plans(rule, members) for relation in fixpoint.relations for rule in relation.rules}
