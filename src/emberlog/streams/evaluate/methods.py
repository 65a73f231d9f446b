"""Chooses how a stream program is evaluated: kept up to date from slide to slide, or from scratch at each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

import pyarrow as pa

from emberlog.config import DEFAULT_LIMITS, Evaluation, Limits
from emberlog.streams.evaluate.evaluator import SlideEvaluator
from emberlog.streams.evaluate.incremental import IncrementalEvaluator, PartitionEvaluator
from emberlog.streams.evaluate.incremental_plan import IncrementalPlan, incremental_plan
from emberlog.streams.evaluate.simple import SimpleEvaluator, SimplePlan, simple_plan
from emberlog.streams.plan.maintenance import Maintenance
from emberlog.streams.plan.slides import Schedule

StreamPlan = IncrementalPlan | SimplePlan


def plan_evaluation(maintenance: Maintenance, evaluation: Evaluation, limits: Limits = DEFAULT_LIMITS) -> StreamPlan:
    """Compiles a program for one way of evaluation. The plan can be pickled."""
    match evaluation:
        case "incremental":
            return incremental_plan(maintenance, limits)
        case "simple":
            return simple_plan(maintenance.program, limits)
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
    if isinstance(plan, SimplePlan):
        return SimpleEvaluator(plan, statics)
    if parts == 1:
        return IncrementalEvaluator(plan, schedule, statics, tracks_changes=tracks_changes)
    return PartitionEvaluator(plan, schedule, statics, part=part, parts=parts, tracks_changes=tracks_changes)
