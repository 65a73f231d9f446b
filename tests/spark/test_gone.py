"""What is gone when a program reads it: a result that was closed, a session that was stopped."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback

import pytest

from emberlog.database import Database
from emberlog.diagnostics import EmberlogError

REACH = "reach(X, Y) :- arc(X, Y). reach(X, Z) :- reach(X, Y), arc(Y, Z)."


def test_a_closed_result(database: Database) -> None:
    database["arc"] = [(1, 2), (2, 3)]
    result = database.datalog(REACH)
    database["way"] = result["reach"]
    assert database.datalog("p(X) :- way(1, X).")["p"].count() == 2
    result.close()
    assert result.is_closed
    with pytest.raises(EmberlogError, match=r"DL427.*`way`"):
        database.datalog("p(X) :- way(1, X).")
    database["way"] = result["reach"].filter("X = 1")  # which nobody can tell from other frames
    with pytest.raises(EmberlogError, match="DL520") as caught:
        database.datalog("p(X) :- way(1, X). p(Y) :- p(X), way(X, Y).")
    assert "at org.apache" not in "".join(traceback.format_exception(caught.value))


STOPPED = """
import emberlog
from emberlog.engines.spark.session import start_session

spark = start_session("local[1]", memory="1g", conf={})
database = emberlog.Database(spark)
database["arc"] = [(1, 2), (2, 3)]
spark.stop()
for action in (
    lambda: database.datalog("p(X) :- arc(X, _)."),
    lambda: database.register("arc", "no.such.table"),
    lambda: database["arc"],
):
    try:
        action()
    except emberlog.EmberlogError as error:
        print(error.diagnostics[0].code)
"""


@pytest.mark.slow
def test_a_stopped_session() -> None:
    done = subprocess.run([sys.executable, "-c", STOPPED], capture_output=True, text=True, check=True, env=os.environ)
    assert done.stdout.split() == ["DL426"] * 3, done.stderr
