"""Chooses how a stream program is evaluated: kept up to date from slide to slide, or from scratch at each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, assert_never

import pyarrow as pa

from emberlog.config import DEFAULT_LIMITS, Evaluation, Limits
from emberlog.streams.evaluate.evaluator import SlideEvaluator
from emberlog.streams.evaluate.incremental import IncrementalEvaluator, PartitionEvaluator
from emberlog.streams.evaluate.incremental_plan import IncrementalPlan, incremental_plan
from emberlog.streams.evaluate.several_windows import SeveralWindows
from emberlog.streams.evaluate.simple import SessionEvaluator, SimpleEvaluator, SimplePlan, simple_plan
from emberlog.streams.plan.batch_program import BatchProgram
from emberlog.streams.plan.maintenance import Maintenance
from emberlog.streams.plan.slides import Schedule
from emberlog.streams.plan.window_plans import WindowPlans


class LivePlan(Protocol):
    """Makes evaluators to which tuples are inserted and deleted. The floor above has it."""

    def evaluator(self, schedule: Schedule, statics: Mapping[str, pa.Table]) -> SlideEvaluator: ...


WindowPlan = IncrementalPlan | SimplePlan | LivePlan
MakeLivePlan = Callable[[BatchProgram, Limits], LivePlan]


@dataclass(frozen=True, slots=True, eq=False)
class SeveralPlans:
    """Holds the plans of several windows, in the order of their schedules."""

    each: tuple[WindowPlan, ...]


StreamPlan = WindowPlan | SeveralPlans


def plan_evaluations(
    plans: WindowPlans,
    evaluations: Sequence[Evaluation],
    limits: Limits = DEFAULT_LIMITS,
    live: MakeLivePlan | None = None,
) -> StreamPlan:
    """Compiles a program for the ways in which its windows are evaluated."""
    each = tuple(
        plan_evaluation(maintenance, evaluation, limits, live)
        for maintenance, evaluation in zip(plans.each, evaluations, strict=True)
    )
    return each[0] if len(each) == 1 else SeveralPlans(each)


def plan_evaluation(
    maintenance: Maintenance,
    evaluation: Evaluation,
    limits: Limits = DEFAULT_LIMITS,
    live: MakeLivePlan | None = None,
) -> WindowPlan:
    """Compiles a program with one window for a way of evaluation. The plan can be pickled. `live` makes that of a live
    view."""
    match evaluation:
        case "incremental":
            return incremental_plan(maintenance, limits)
        case "simple":
            return simple_plan(maintenance.program, limits)
        case "live":
            assert live is not None
            return live(maintenance.program, limits)
        case _:
            assert_never(evaluation)


def slide_evaluator(
    plan: StreamPlan,
    schedule: Schedule,
    tracks_changes: bool,
    statics: Mapping[str, pa.Table],
    part: int = 0,
    parts: int = 1,
) -> SlideEvaluator:
    """Makes the evaluator of all facts, or of one of several partitions that are in different processes. `statics` are
    the inputs that are no streams; `tracks_changes` is False where `changes` is never called."""
    if isinstance(plan, SeveralPlans):
        windows = zip(plan.each, schedule.each, strict=True)
        return SeveralWindows(
            [slide_evaluator(one, own, tracks_changes, statics, part, parts) for one, own in windows], schedule
        )
    if isinstance(plan, SimplePlan):
        return SimpleEvaluator(plan, statics) if schedule.gap is None else SessionEvaluator(plan, statics)
    if not isinstance(plan, IncrementalPlan):
        return plan.evaluator(schedule, statics)
    if parts == 1:
        return IncrementalEvaluator(plan, schedule, statics, tracks_changes=tracks_changes)
    return PartitionEvaluator(plan, schedule, statics, part=part, parts=parts, tracks_changes=tracks_changes)
