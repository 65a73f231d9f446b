"""Aggregates that are taken before a join give on Spark what the reference gives, nulls and empty groups included."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from emberlog.config import Execution
from emberlog.database import Database
from tests.oracle.evaluate import evaluate
from tests.programs import checked
from tests.spark.answers import SERIES_OF_JOBS

PROGRAM = """
    declare knows(int a, int b). declare paid(int a, int v).
    total(X, sum<V>, count<V>, count<_>) :- knows(X, Y), paid(Y, V).
    least_paid(X, min<V>, max<V>) :- knows(X, Y), paid(Y, V).
    all_of_it(sum<X>, sum<V>, count<_>) :- knows(X, Y), paid(Y, V).
    none(count<_>, count<V>) :- knows(X, Y), paid(Y, V), X > 1000.
    near(X) :- knows(X, Y), paid(Y, _).
"""


@pytest.mark.parametrize("execution", [SERIES_OF_JOBS, Execution()], ids=["dataframe", "auto"])
def test_parts_are_put_together(spark: SparkSession, execution: Execution) -> None:
    knows = [(one, (one * 7 + step) % 40) for one in range(40) for step in range(20)]
    paid = [(place % 40, None if place % 11 == 0 else place - 300) for place in range(1_200)]
    database = Database(spark)
    database["knows"], database["paid"] = knows, paid
    changes = database.check(PROGRAM).optimized.changes
    assert {"aggregate_eagerly", "reduce_by_semijoin"} <= {change.name for change in changes if change.changed}
    expected = evaluate(checked(PROGRAM, params={}), {"knows": frozenset(knows), "paid": frozenset(paid)})
    with database.datalog(PROGRAM, execution=execution) as result:
        assert {name: {tuple(row) for row in frame.collect()} for name, frame in result.items()} == expected
