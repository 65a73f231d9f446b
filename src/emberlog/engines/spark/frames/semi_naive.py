"""Semi-naive evaluation: each round joins only what the last one changed, and keeps only what is new or better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter

from pyspark.sql import DataFrame

from emberlog.engines.spark.frames.environment import Environment, RelationResult
from emberlog.engines.spark.frames.history import RelationHistory
from emberlog.engines.spark.frames.state import RelationState, Segment
from emberlog.logical.nodes import Fixpoint, FixpointRelation, Plan, Version
from emberlog.logical.traverse import scans


def has_delta_plans(fixpoint: Fixpoint) -> bool:
    """Tells whether every rule has its delta plans."""
    return all(rule.deltas for relation in fixpoint.relations for rule in relation.rules)


def delta_plans(fixpoint: Fixpoint) -> list[Plan]:
    return [plan for relation in fixpoint.relations for rule in relation.rules for plan in rule.deltas]


class SemiNaive:
    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.states = {relation.name: RelationState(environment, relation.name) for relation in self._relations}
        environment.states = self.states
        is_recorded = environment.session.provenance
        self.histories = {name: RelationHistory(environment, name) for name in self.states if is_recorded}
        self.iteration = 0
        self.seconds: dict[str, float] = {}
        """How long it took to find what the round at hand changed."""

    @property
    def _relations(self) -> tuple[FixpointRelation, ...]:
        return self.environment.fixpoint.relations

    def run(self) -> dict[str, RelationResult]:
        for name in self.states:
            self.environment.counts.begin(name, self.iteration)
        changes = {
            name: self._changes(name, [seed.frame] if seed.rows else [])
            for name, seed in self.environment.seeds.items()
        }
        self._advance(changes)
        while any(state.changed for state in self.states.values()):
            self._check()
            if self.environment.grow(max(state.rows(Version.FULL) for state in self.states.values())):
                for state in self.states.values():
                    state.spread()
            self._advance({relation.name: self._round(relation) for relation in self._relations})
        return {name: self._result(name) for name in self.states}

    def _result(self, name: str) -> RelationResult:
        result = self.states[name].result()
        if name not in self.histories:
            return result
        history = self.histories[name]
        return replace(result, history=history.frame(), kept=(*result.kept, *history.segments))

    def _round(self, relation: FixpointRelation) -> Segment | None:
        """Returns what the rules of a relation change, given what the last round changed."""
        frames = [
            self.environment.rule_frame(relation.name, plan, rule.name, self.iteration)
            for rule in relation.rules
            for plan in rule.deltas
            if self._reads_changes(plan)
        ]
        return self._changes(relation.name, frames)

    def _changes(self, name: str, frames: Sequence[DataFrame]) -> Segment | None:
        since = perf_counter()
        changed = self.states[name].changes(frames)
        self.seconds[name] = perf_counter() - since
        return changed

    def _reads_changes(self, plan: Plan) -> bool:
        return all(self.states[scan.relation].delta_rows > 0 for scan in scans(plan) if scan.version is Version.DELTA)

    def _advance(self, changes: dict[str, Segment | None]) -> None:
        for name, changed in changes.items():
            self.states[name].advance(changed)
        for name, state in self.states.items():
            facts = state.delta_facts() if state.delta_rows else None
            self.environment.counts.keep(name, facts, state.contributions.of_a_fact, self.seconds[name])
        for name, history in self.histories.items():
            if self.states[name].delta_rows:
                history.note(self.iteration, self.states[name].delta_facts())
        self.iteration += 1

    def _check(self) -> None:
        self.environment.watch.check_iteration(
            sum(state.delta_rows for state in self.states.values()),
            sum(state.fact_count for state in self.states.values()),
            lambda count: self.environment.some_facts(self._deltas(), count),
        )

    def _deltas(self) -> dict[str, DataFrame | None]:
        return {name: state.delta_facts() if state.delta_rows else None for name, state in self.states.items()}
