"""How a stream program is evaluated: kept up to date from slide to slide, or from scratch at each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, assert_never

import pyarrow as pa

from emberlog.config import DEFAULT_LIMITS, Limits
from emberlog.semantics.model import CheckedProgram, Column
from emberlog.streams.evaluate.evaluator import SlideEvaluator
from emberlog.streams.evaluate.incremental import IncrementalEvaluator
from emberlog.streams.evaluate.partition_evaluator import PartitionEvaluator
from emberlog.streams.evaluate.simple import SimpleEvaluator
from emberlog.streams.plan.batch_program import batch_program
from emberlog.streams.plan.window import Window

Evaluation = Literal["incremental", "simple"]


def slide_evaluator(
    checked: CheckedProgram,
    window: Window | None,
    statics: Mapping[str, pa.Table],
    limits: Limits = DEFAULT_LIMITS,
    *,
    evaluation: Evaluation = "incremental",
    workers: int = 1,
    tracks_changes: bool = True,
) -> SlideEvaluator:
    """Evaluates in this process. `statics` are the inputs that are no streams; `workers` share the work of an
    incremental one. `tracks_changes=False` where nobody will ask for `changes`."""
    program = batch_program(checked)
    match evaluation:
        case "incremental":
            return IncrementalEvaluator(
                program, window, statics, limits, workers=workers, tracks_changes=tracks_changes
            )
        case "simple":
            return SimpleEvaluator(program, statics, limits)
        case _:
            assert_never(evaluation)


def partition_evaluator(
    checked: CheckedProgram,
    window: Window | None,
    limits: Limits,
    evaluation: Evaluation,
    tracks_changes: bool,
    statics: Mapping[str, pa.Table],
    part: int,
    parts: int,
) -> SlideEvaluator:
    """One of several partitions that are in different processes; or the only one, and then like any other."""
    if parts == 1:
        return slide_evaluator(checked, window, statics, limits, evaluation=evaluation, tracks_changes=tracks_changes)
    program = batch_program(checked)
    return PartitionEvaluator(program, window, statics, limits, part=part, parts=parts, tracks_changes=tracks_changes)


def output_columns(checked: CheckedProgram) -> dict[str, tuple[Column, ...]]:
    """The columns of each answer. A time that every query of a relation leaves out with `_` is no column of it."""
    program = batch_program(checked).checked
    return {name: program.relations[name].columns for name in program.outputs}
