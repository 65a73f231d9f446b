"""Keeps Spark from skipping work that would end in a fault.

A relation is read by conditions that Spark moves to where it is computed. If `p(X, Y) :- q(X), Y = 1 div X.` divides by
zero, `q(X) :- p(X, _), X > 0.` has to say so as well: whether a program has a mistake must not depend on what an
optimizer sees. Only when a relation is joined with one that turns out to be empty does Spark compute neither.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from emberlog.logical.nodes import Plan
from emberlog.logical.properties import plan_can_fail


def behind_barrier(frame: DataFrame, plan: Plan) -> DataFrame:
    """The frame of a plan. If the plan can end in a fault, all its rows and columns are computed when it is read."""
    if not plan_can_fail(plan):
        return frame
    # Both conditions always hold, which Spark does not see. The first one reads every column; and no condition is moved
    # past columns that could depend on the partition, nor decided by the constants behind them.
    needed = frame.where(F.hash(*frame.columns) >= F.lit(-(2**31)))
    return needed.select(*(F.when(F.spark_partition_id() >= 0, F.col(name)).alias(name) for name in frame.columns))
