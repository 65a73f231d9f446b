"""Warnings about runs on Spark: the same as in this process, by workers and on DataFrames."""

from __future__ import annotations

import pytest

import emberlog
from emberlog.config import Execution
from emberlog.database import Database
from tests.unit.test_run_warnings import CYCLE, PIECES, SALES, TOTAL


@pytest.mark.parametrize("executor", ["cyclic", "dataframe"])
def test_a_recursion_that_is_cut_off_says_so(database: Database, executor: str) -> None:
    database["order"] = [("car", 1)]
    database["part"] = CYCLE
    few = PIECES.replace("20", "4")
    with pytest.warns(emberlog.EmberlogWarning, match=r"DL491.*the last of 4 rounds changed 1 fact\n"):
        result = database.datalog(few, execution=Execution(executor=executor))
    assert [(one.relations, one.iterations, one.changed) for one in result.cut_off] == [(("pieces",), 4, 1)]


def test_duplicate_rows_of_this_process_are_told(database: Database) -> None:
    database["sale"] = SALES
    with pytest.warns(emberlog.EmberlogWarning, match="DL492.*2 duplicate rows of `sale`"):
        database.datalog(TOTAL)
