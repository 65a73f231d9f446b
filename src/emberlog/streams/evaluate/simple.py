"""Evaluates every slide from scratch: keeps the tuples of the window, and runs the batch program on them.

It is what incremental evaluation is compared with, and the better choice where nothing of a window is left in the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from emberlog.config import DEFAULT_LIMITS, Limits
from emberlog.engines.local.run import run
from emberlog.io.arrow_values import table_of
from emberlog.io.local_relation import LocalRelation
from emberlog.logical.build import fields_of
from emberlog.logical.nodes import LogicalPlan
from emberlog.optimize.pipeline import plan_program
from emberlog.semantics.model import TimeRole
from emberlog.streams.evaluate.evaluator import Changes
from emberlog.streams.evaluate.window_facts import facts_of_tuples
from emberlog.streams.plan.batch_program import BatchProgram
from emberlog.streams.plan.slides import Slide
from emberlog.streams.state.copies import without
from emberlog.streams.state.lane_relations import relation_of


@dataclass(frozen=True, slots=True, eq=False)
class SimplePlan:
    program: BatchProgram
    plan: LogicalPlan
    limits: Limits


def simple_plan(program: BatchProgram, limits: Limits = DEFAULT_LIMITS) -> SimplePlan:
    return SimplePlan(program, plan_program(program.checked).plan, limits)


class SimpleEvaluator:
    def __init__(self, plan: SimplePlan, statics: Mapping[str, pa.Table]) -> None:
        self._plan = plan
        self._program = plan.program
        self._statics = {name: self._relation(name, table) for name, table in statics.items()}
        self._window: dict[str, pa.Table] = {}
        self._before: Mapping[str, pa.Table] = {}
        self._answers: dict[str, LocalRelation] = {}
        self._answers_before: dict[str, LocalRelation] = {}

    def advance(
        self, slide: Slide, arrived: Mapping[str, pa.Table], gone: Mapping[str, pa.Table] | None = None
    ) -> None:
        self._before = dict(self._window)
        for name in self._program.streams:
            parts = [table for table in (self._window.get(name), arrived.get(name)) if table is not None]
            if parts:
                held = pa.concat_tables(part.combine_chunks() for part in parts)
                if gone is not None and name in gone:
                    held = without(held, gone[name])
                self._window[name] = _since(slide.since, held)
        self._answers_before, self._answers = self._answers, self._evaluated()

    def restore(self, slide: Slide, window: Mapping[str, pa.Table]) -> None:
        self._window = {}
        self.advance(slide, window)

    def answers(self) -> Mapping[str, pa.Table]:
        return {name: relation.table for name, relation in self._answers.items()}

    def changes(self) -> Mapping[str, Changes]:
        changes = {}
        for name, relation in self._answers.items():
            before = self._answers_before.get(name)
            known = frozenset() if before is None else before.facts
            differences = (relation.facts - known, known - relation.facts)
            changes[name] = Changes(*(table_of(relation.columns, relation.types, list(one)) for one in differences))
        return changes

    def expired(self) -> int:
        return sum(
            len(self._facts(name, table) - self._facts(name, self._window[name]))
            for name, table in self._before.items()
        )

    def state_bytes(self) -> int:
        return sum(table.nbytes for table in self._window.values())

    def _evaluated(self) -> dict[str, LocalRelation]:
        inputs = {name: self._relation(name, self._window.get(name)) for name in self._program.streams} | self._statics
        return run(self._plan.plan, inputs, self._plan.limits, interpret_small=True)

    def _facts(self, name: str, table: pa.Table) -> frozenset[tuple[object, ...]]:
        """Returns the facts of a stream by the columns that tell them apart."""
        relation = self._relation(name, table)
        is_annotated = self._program.times[name] is TimeRole.ANNOTATION
        return frozenset(fact[1:] for fact in relation.facts) if is_annotated else relation.facts

    def _relation(self, name: str, table: pa.Table | None) -> LocalRelation:
        if table is not None and name in self._program.times:
            table = facts_of_tuples(self._program.times[name], table)
        return relation_of(fields_of(self._program.checked.relations[name]), () if table is None else table)


class SessionEvaluator(SimpleEvaluator):
    """Evaluates each session by itself: it has no tuple in common with the one before."""

    def advance(
        self, slide: Slide, arrived: Mapping[str, pa.Table], gone: Mapping[str, pa.Table] | None = None
    ) -> None:
        self._window = {}
        super().advance(slide, arrived, gone)

    def expired(self) -> int:
        return 0


def _since(since: int | None, table: pa.Table) -> pa.Table:
    return table if since is None else table.filter(pc.greater_equal(table.column(0), since))
