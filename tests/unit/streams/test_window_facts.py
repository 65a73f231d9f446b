"""Tuples that differ in their time alone are one fact, unless the time is a part of it."""

from __future__ import annotations

import pyarrow as pa
import pytest

from emberlog.io.local_relation import facts_of_table
from emberlog.semantics.model import Fact, TimeRole
from emberlog.streams.evaluate.window_facts import facts_of_tuples

TUPLES = pa.table({"at": [3, 1, 2, 3], "x": ["a", "a", "b", "a"], "y": [1.5, 1.5, None, 2.5]})
FACTS: dict[TimeRole, list[Fact]] = {
    TimeRole.NONE: [("a", 1.5), ("a", 2.5), ("b", None)],
    TimeRole.ANNOTATION: [(1, "a", 1.5), (2, "b", None), (3, "a", 2.5)],
    TimeRole.ORDINARY: [(1, "a", 1.5), (2, "b", None), (3, "a", 1.5), (3, "a", 2.5)],
}


@pytest.mark.parametrize("role", FACTS, ids=lambda role: role.name)
def test_facts_of_tuples(role: TimeRole) -> None:
    facts = list(facts_of_table(facts_of_tuples(role, TUPLES)))
    assert sorted(facts, key=str) == FACTS[role]
    assert list(facts_of_table(facts_of_tuples(role, TUPLES.slice(0, 0)))) == []
