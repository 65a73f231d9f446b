"""A bounded recursion ends when a round gives the facts of the one before, whatever stands behind them."""

from __future__ import annotations

import pytest

from emberlog.config import Execution
from emberlog.events import Event, StratumFinished
from emberlog.optimize.pipeline import plan_program
from tests.local_runs import SETUPS, run_locally
from tests.programs import checked

PROGRAM = """
    declare node(int a).
    declare arc(int a, int b).
    @iterations(9)
    mean(X, avg<V>) :- node(X), V = 1.0.
    mean(Y, avg<V>) :- mean(X, V), arc(X, Y).
    mean(X, V)?
"""
NODES = range(4000)


@pytest.mark.parametrize("execution", SETUPS.values(), ids=SETUPS)
def test_an_average_that_stays_is_the_same_fact(execution: Execution) -> None:
    """Of one contribution in the first round and of two in the second; by the third all is known."""
    arcs = [(node, (node + 1) % len(NODES)) for node in reversed(NODES)]
    events: list[Event] = []
    plan = plan_program(checked(PROGRAM)).plan
    found = run_locally(
        plan, {"node": [(node,) for node in NODES], "arc": arcs}, execution=execution, listener=events.append
    )
    assert found["mean"] == frozenset((node, 1.0) for node in NODES)
    assert [event.iterations for event in events if isinstance(event, StratumFinished) and event.iterations] == [2]
