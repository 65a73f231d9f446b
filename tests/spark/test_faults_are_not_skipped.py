"""Whether a program has a fault does not depend on what Spark's optimizer sees."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from emberlog.diagnostics import EmberlogError
from tests.programs import checked
from tests.spark.answers import run_dataframe

PROGRAMS = {
    "a condition that would leave out the row": "p(X, sum<Z>) :- n(X), Z = 1 / X.\nq(X) :- p(X, _), X > 0.\n",
    "a constant that nothing agrees with": 'p("a", sum<Z>) :- n(X), Z = 1 / X.\nq(Z) :- p("b", Z).\n',
    "a column that nobody reads": "p(X, Z) :- n(X), Z = 1 / X.\nq(X) :- p(X, _).\n",
    "an aggregate that nobody reads": "p(X, msum<(X, Z)>) :- n(X), Z = X - 5.\nq(X) :- p(X, _).\n",
    "a negation": "p(X, Z) :- n(X), Z = 1 / X.\nq(X) :- n(X), X > 0, ~p(X, 7.5).\n",
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_fault_is_told(spark: SparkSession, program: str) -> None:
    with pytest.raises(EmberlogError) as caught:
        run_dataframe(spark, checked(f"declare n(x: int).\n{program}q(X)?\n"), {"n": [(0,), (1,)]})
    assert [diagnostic.code in ("DL501", "DL504") for diagnostic in caught.value.diagnostics] == [True]
