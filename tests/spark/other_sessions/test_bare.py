"""Executors on which the package is missing: it is said at once, with the host, and the recursion runs elsewhere."""

from __future__ import annotations

import pytest

from emberlog.config import Execution
from emberlog.database import Database
from emberlog.diagnostics import EmberlogError
from emberlog.events import Event, ExecutorChosen
from tests.spark.answers import facts_of

TC = "tc(X, Y) :- arc(X, Y).\ntc(X, Y) :- tc(X, Z), arc(Z, Y).\n"
MISSING = r"executor 0 on 127\.0\.0\.1 cannot import Emberlog: ModuleNotFoundError: No module named 'emberlog\.engines'"


def test_it_falls_back_and_says_why(database: Database) -> None:
    database["arc"] = [(1, 2), (2, 3)]
    events: list[Event] = []
    with database.datalog(TC, listener=events.append) as result:
        assert facts_of(result["tc"]) == {(1, 2), (2, 3), (1, 3)}
    (chosen,) = [event for event in events if isinstance(event, ExecutorChosen)]
    assert chosen.executor == "dataframe"
    assert "executor 0 on 127.0.0.1 cannot import Emberlog: ModuleNotFoundError" in chosen.why
    with pytest.raises(EmberlogError, match=f"DL333.*{MISSING}"):
        database.datalog(TC, execution=Execution(executor="cyclic"))
