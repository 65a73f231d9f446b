"""Facts with the iteration in which each came, in a column behind their own."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from emberlog.engines.recording import ITERATION, is_latest
from emberlog.io.matching import free_name
from emberlog.semantics.model import RecursionCase

_IS_ASKED = "is asked"


def dated(facts: DataFrame, history: DataFrame, case: RecursionCase) -> DataFrame:
    """`history` has these facts, and perhaps others; its columns are theirs and the iteration."""
    names = [*facts.columns, free_name(ITERATION, facts.columns)]
    keys = [f"c{place}" for place in range(len(facts.columns))]
    came = F.max(ITERATION) if is_latest(case) else F.min(ITERATION)
    # A group is a fact of both: unlike a join, that takes null for null.
    asked = facts.toDF(*keys).withColumns({ITERATION: F.lit(None).cast("long"), _IS_ASKED: F.lit(True)})
    known = history.toDF(*keys, ITERATION).withColumn(_IS_ASKED, F.lit(False))
    groups = asked.unionByName(known).groupBy(*keys).agg(came.alias(ITERATION), F.bool_or(_IS_ASKED).alias(_IS_ASKED))
    return groups.where(F.col(_IS_ASKED)).drop(_IS_ASKED).toDF(*names)
