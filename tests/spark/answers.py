"""Programs run on Spark's DataFrames, with facts in and facts out: what other tests compare with other executors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyspark.sql import DataFrame, SparkSession

from emberlog.config import DEFAULT_LIMITS, Execution, Limits
from emberlog.engines.spark.frames.faults import coded_errors
from emberlog.engines.spark.run import run
from emberlog.events import Listener, ignore
from emberlog.io.spark_conversions import fact_of, local_frame
from emberlog.logical.nodes import LogicalPlan
from emberlog.optimize.pipeline import plan_program
from emberlog.semantics.model import CheckedProgram, Fact

SERIES_OF_JOBS = Execution(executor="dataframe")


def run_dataframe(
    spark: SparkSession,
    checked: CheckedProgram,
    inputs: Mapping[str, Iterable[Fact]],
    limits: Limits = DEFAULT_LIMITS,
    listener: Listener = ignore,
    plan: LogicalPlan | None = None,
    execution: Execution = SERIES_OF_JOBS,
) -> dict[str, frozenset[Fact]]:
    """The facts of every output, recursions as series of jobs unless another execution is given. The plan is the
    optimised one unless another is given."""
    plan = plan or plan_program(checked).plan
    places = {rule.name: rule.span for rule in checked.rules}
    frames = input_frames(spark, plan, inputs)
    relations = run(
        plan,
        frames,
        spark,
        limits,
        listener,
        execution=execution,
        functions=checked.functions,
        places=places,
    )
    try:
        with coded_errors(places):
            return {name: facts_of(frame) for name, frame in relations.answers.items()}
    finally:
        relations.close()


def input_frames(spark: SparkSession, plan: LogicalPlan, inputs: Mapping[str, Iterable[Fact]]) -> dict[str, DataFrame]:
    """Returns the facts as frames, as they are behind the door: there is one zero."""
    return {
        name: local_frame(
            spark,
            [f"c{index}" for index in range(len(fields))],
            [field.type for field in fields],
            [tuple(cell + 0.0 if isinstance(cell, float) else cell for cell in fact) for fact in inputs[name]],
        )
        for name, fields in plan.inputs.items()
    }


def facts_of(frame: DataFrame) -> frozenset[Fact]:
    return frozenset(fact_of(row) for row in frame.collect())
