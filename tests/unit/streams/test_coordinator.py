"""Which environment of Spark's Python workers a stream query has."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]

from emberlog.streams.spark.coordinator import OwnWorkers
from emberlog.streams.steps.resident_state import forget_other_states, keep_state, take_state


@dataclass
class Query:
    isActive: bool


class LostQuery:
    @property
    def isActive(self) -> bool:
        raise Py4JError("Spark is gone")


@dataclass
class Context:
    environment: dict[str, str] = field(default_factory=dict)


def owned(query: Any) -> OwnWorkers:
    workers = OwnWorkers()
    workers.query = query
    return workers


def test_queries_that_run_have_different_ones() -> None:
    begins, runs = owned(None), owned(Query(True))
    assert len({begins.number, runs.number, OwnWorkers().number}) == 3


def test_the_one_of_a_query_that_has_ended_is_taken_again() -> None:
    query = Query(True)
    before, lost = owned(query), owned(LostQuery())
    query.isActive = False
    after = [owned(Query(True)), owned(Query(True))]
    assert {one.number for one in after} == {before.number, lost.number}


def test_one_that_nobody_has_any_more_is_free() -> None:
    number = OwnWorkers().number
    assert OwnWorkers().number == number


def test_it_is_the_environment_of_the_functions_that_are_made_meanwhile() -> None:
    context: Any = Context({"LANG": "C"})
    workers = OwnWorkers()
    with workers.chosen(context):
        assert context.environment == {"LANG": "C", "EMBERLOG_STREAM": str(workers.number)}
    assert context.environment == {"LANG": "C"}


def test_a_worker_keeps_the_state_of_one_query() -> None:
    state: Any = object()
    keep_state("old", "1", state)
    keep_state("new", "2", state)
    forget_other_states("new")
    assert take_state("old", "1") is None
    assert take_state("new", "2") is state
