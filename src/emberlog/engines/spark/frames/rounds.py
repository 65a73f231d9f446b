"""Whole rounds: all rules applied to the facts of the round before, as the meaning of a recursion says.

For recursions with a bound on their rounds, and for any other whose rules have no delta plans.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from time import perf_counter

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from emberlog.engines.recording import has_history
from emberlog.engines.spark.frames.contributions import IS_KNOWN
from emberlog.engines.spark.frames.environment import Environment, RelationResult
from emberlog.engines.spark.frames.history import RelationHistory
from emberlog.engines.spark.frames.resources import Kept
from emberlog.logical.nodes import Fixpoint, FixpointRelation, Plan, Version


def full_plans(fixpoint: Fixpoint) -> list[Plan]:
    return [rule.plan for relation in fixpoint.relations for rule in relation.rules]


class RoundState:
    """Holds the facts of a relation after a round."""

    def __init__(self, environment: Environment, name: str) -> None:
        self.environment = environment
        self.name = name
        self.kept: Kept | None = None

    def read(self, _version: Version) -> DataFrame:
        return self.kept.frame if self.kept else self.environment.empty_facts(self.name)

    def rows(self, _version: Version) -> int:
        return self.kept.rows if self.kept else 0


class WholeRounds:
    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.states = {
            relation.name: RoundState(environment, relation.name) for relation in environment.fixpoint.relations
        }
        environment.states = self.states
        is_recorded = environment.session.provenance and has_history(environment.fixpoint.recursion.case)
        self.histories = {name: RelationHistory(environment, name) for name in self.states if is_recorded}

    def run(self) -> dict[str, RelationResult]:
        bound = self.environment.fixpoint.recursion.iterations
        for number in count(1):
            if bound is not None and number > bound:
                break
            iteration = number - (bound is None)
            relations = self.environment.fixpoint.relations
            after = {relation.name: self._round(relation, iteration) for relation in relations}
            changed = {name: self._changed_rows(name, kept) for name, kept in after.items()}
            is_same = not any(changed.values()) and all(
                kept.rows == self.states[name].rows(Version.FULL) for name, kept in after.items()
            )
            vanished = sum(self.states[name].rows(Version.FULL) - kept.rows for name, kept in after.items())
            self._record(number, after)
            self._advance(after)
            if is_same:
                break
            self._check(sum(changed.values()) or vanished)
            self.environment.grow(sum(state.rows(Version.FULL) for state in self.states.values()))
        return {name: self._result(state) for name, state in self.states.items()}

    def _record(self, number: int, after: dict[str, Kept]) -> None:
        """All facts of a round if rounds are bounded, since one can take facts back; otherwise those that are new."""
        is_bounded = self.environment.fixpoint.recursion.iterations is not None
        for name, history in self.histories.items():
            facts = after[name].frame
            if is_bounded:
                history.note(number, facts)
            else:
                history.note(number - 1, self._new_facts(name, after[name]))

    def _round(self, relation: FixpointRelation, iteration: int) -> Kept:
        environment, name = self.environment, relation.name
        environment.counts.begin(name, iteration)
        derived = [environment.rule_frame(name, rule.plan, rule.name, iteration) for rule in relation.rules]
        since = perf_counter()
        contributions = environment.gathered([environment.seeds[name].frame, *derived])
        after = environment.resources.keep(environment.contributions[name].all_facts(contributions))
        new = self._new_facts(name, after) if environment.counts.profile is not None else None
        environment.counts.keep(name, new, environment.contributions[name].of_a_fact, perf_counter() - since)
        return after

    def _new_facts(self, name: str, after: Kept) -> DataFrame:
        """Returns the facts that were not there the round before."""
        return after.frame.subtract(self.states[name].read(Version.FULL).toDF(*after.frame.columns))

    def _changed_rows(self, name: str, after: Kept) -> int:
        """Returns the facts that were not there the round before."""
        before = self.states[name].kept
        if before is None or not after.rows:
            return after.rows
        marked = [
            kept.frame.withColumn(IS_KNOWN, F.lit(is_known)) for kept, is_known in ((before, True), (after, False))
        ]
        grouped = self.environment.gathered(marked).groupBy(*after.frame.columns)
        return grouped.agg(F.bool_or(IS_KNOWN).alias(IS_KNOWN)).where(~F.col(IS_KNOWN)).count()

    def _advance(self, after: dict[str, Kept]) -> None:
        for name, kept in after.items():
            before, self.states[name].kept = self.states[name].kept, kept
            if before is not None:
                self.environment.resources.release(before)

    def _check(self, delta_rows: int) -> None:
        self.environment.watch.check_iteration(
            delta_rows,
            sum(state.rows(Version.FULL) for state in self.states.values()),
            lambda count: self.environment.some_facts(
                {name: state.kept.frame if state.kept else None for name, state in self.states.items()}, count
            ),
        )

    def _result(self, state: RoundState) -> RelationResult:
        if state.kept is None:
            result = RelationResult(self.environment.empty_facts(state.name), 0, ())
        else:
            result = RelationResult(state.kept.frame, state.kept.rows, (state.kept,))
        if state.name not in self.histories:
            return result
        history = self.histories[state.name]
        return replace(result, history=history.frame(), kept=(*result.kept, *history.segments))
