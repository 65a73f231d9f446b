"""Programs run on Spark's DataFrames, with facts in and facts out: what other tests compare with other executors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from pyspark.sql import DataFrame, SparkSession

from emberlog.config import DEFAULT_LIMITS, Execution, Limits
from emberlog.engines.spark.frames.faults import coded_errors
from emberlog.engines.spark.run import run
from emberlog.events import Listener, ignore
from emberlog.io.local_relation import LocalRelation
from emberlog.io.spark_conversions import fact_of, local_frame
from emberlog.io.spark_frames import Placed
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
    relations = run(
        plan,
        placed_inputs(spark, plan, inputs),
        spark,
        limits,
        listener,
        execution=execution,
        functions=checked.functions,
        places=places,
    )
    try:
        with coded_errors(places):
            return {name: facts_of(one.frame) for name, one in relations.answers.items()}
    finally:
        relations.close()


def placed_inputs(spark: SparkSession, plan: LogicalPlan, inputs: Mapping[str, Iterable[Fact]]) -> dict[str, Placed]:
    """Returns the facts as inputs of a run, which are as they are behind the door: there is one zero."""
    found = {}
    for name, fields in plan.inputs.items():
        names, types = [f"c{index}" for index in range(len(fields))], [field.type for field in fields]
        facts = [tuple(cell + 0.0 if isinstance(cell, float) else cell for cell in fact) for fact in inputs[name]]
        here = LocalRelation(names, types, facts)
        found[name] = Placed(partial(local_frame, spark, names, types, facts), here)
    return found


def facts_of(frame: DataFrame) -> frozenset[Fact]:
    return frozenset(fact_of(row) for row in frame.collect())
