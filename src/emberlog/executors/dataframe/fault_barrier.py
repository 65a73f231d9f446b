"""Keeps Spark from skipping work that would end in a fault.

A relation is read by conditions that Spark moves to where it is computed. If `p(X, Y) :- q(X), Y = 1 div X.` divides by
zero, `q(X) :- p(X, _), X > 0.` has to say so as well: whether a program has a mistake must not depend on what an
optimizer sees. Only when a relation is joined with one that turns out to be empty does Spark compute neither.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from emberlog.logical.expressions import Risk, condition_risk, risk_of
from emberlog.logical.nodes import Aggregate, Filter, Plan, Project
from emberlog.logical.traverse import column_types, walk
from emberlog.semantics.functions import AGGREGATES

_REFUSING = frozenset({"mcount", "msum"})
"""The aggregates that take no negative values."""


def behind_barrier(frame: DataFrame, plan: Plan) -> DataFrame:
    """The frame of a plan. If the plan can end in a fault, all its rows and columns are computed when it is read."""
    if not any(map(_can_fault, walk(plan))):
        return frame
    # Both conditions always hold, which Spark does not see. The first one reads every column; and no condition is moved
    # past columns that could depend on the partition, nor decided by the constants behind them.
    needed = frame.where(F.hash(*frame.columns) >= F.lit(-(2**31)))
    return needed.select(*(F.when(F.spark_partition_id() >= 0, F.col(name)).alias(name) for name in frame.columns))


def _can_fault(node: Plan) -> bool:
    match node:
        case Project(source, outputs):
            types = column_types(source)
            return any(risk_of(output.expression, types) is Risk.FAULT for output in outputs)
        case Filter(source, conditions):
            types = column_types(source)
            return any(condition_risk(condition, types) is Risk.FAULT for condition in conditions)
        case Aggregate(_, _, aggregates):
            return any(one.function in _REFUSING or one.function not in AGGREGATES for one in aggregates)
        case _:
            return False
