"""A query with constants restricts a run with provenance, and takes no answer away."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from emberlog import Database, EmberlogError, Limits

SAME = "sg(X, Y) :- arc(P, X), arc(P, Y), X != Y. sg(X, Y) :- arc(A, X), sg(A, B), arc(B, Y)."
NEAREST = "near(9, 70). near(X, min<D>) :- arc(0, X), D = 1. near(Y, min<D>) :- near(X, E), arc(X, Y), D = E + 1."


def tree(depth: int) -> list[tuple[int, int]]:
    """Arcs from each node to two below it."""
    return [(node, 2 * node + side) for node in range(2**depth - 1) for side in (1, 2)]


def asked(text: str, arcs: list[tuple[int, int]], **options: Any) -> Any:
    database = Database(engine="local")
    database["arc"] = arcs
    return database.datalog(text, provenance=True, **options)


def recorded(result: Any, relation: str) -> int:
    """How many facts a run has recorded."""
    count: int = result._outputs.recorded().relations[relation].rows
    return count


def test_a_bound_query_on_same_generation() -> None:
    """Some 5.6 million facts in all, of which the query demands 4,083."""
    result = asked(f"{SAME} sg(4094, Y)?", tree(11), limits=Limits(max_rows=20_000))
    assert len(result["sg"]) == 2047
    assert recorded(result, "sg") == sum(2**level - 1 for level in range(1, 12))
    proof = result.why("sg", (4094, 2047))
    assert proof.tree.root.iteration == 10
    assert len(result.history("sg")) == recorded(result, "sg")
    with pytest.raises(EmberlogError, match="DL401"):
        result.history("demand for sg")
    with pytest.raises(EmberlogError, match="the run has no relation `demand for sg`"):
        result.why("demand for sg", (4094,))
    assert "sg(1, 2)" in str(proof).replace("sg(2, 1)", "sg(1, 2)")


def test_what_no_query_asked_for_is_computed_for_the_question(caplog: pytest.LogCaptureFixture) -> None:
    result = asked(f"{SAME} sg(62, Y)?", tree(5))
    whole = asked(SAME, tree(5))
    with caplog.at_level(logging.INFO, "emberlog"):
        assert str(result.why("sg", (62, 31))) == str(whole.why("sg", (62, 31)))
        assert "run once more" not in caplog.text
        assert str(result.why("sg", (31, 62))) == str(whole.why("sg", (31, 62)))
        assert "run once more for a question" in caplog.text
    assert str(result.origin("sg", (31, 62))) == str(whole.origin("sg", (31, 62)))
    assert str(result.trace("sg", (31, None))) == str(whole.trace("sg", (31, None)))
    assert str(result.why_not("sg", (62, 3))) == str(whole.why_not("sg", (62, 3)))
    assert str(result.why_not("sg", (3, 62), depth=2)) == str(whole.why_not("sg", (3, 62), depth=2))
    for question in (result, whole):
        with pytest.raises(EmberlogError, match="DL445"):
            question.why_not("sg", (31, 62))
        with pytest.raises(EmberlogError, match="DL443"):
            question.why("sg", (None, 62))
        with pytest.raises(EmberlogError, match="DL442"):
            question.why("sg", (3, 62))


def test_a_question_is_about_the_inputs_of_the_run() -> None:
    database = Database(engine="local")
    database["arc"] = tree(3)
    result = database.datalog(f"{SAME} sg(14, Y)?", provenance=True)
    database["arc"] = []
    assert result.why("sg", (7, 8)).tree.root.iteration == 0


def test_a_group_that_nobody_asked_for_has_no_value_of_written_facts() -> None:
    result = asked(f"{NEAREST} near(4, D)?", [(0, 1), (1, 4), (1, 9)])
    assert result["near"].facts == {(4, 2)}
    assert recorded(result, "near") == 2
    assert result.why("near", (9, None)).tree.root.fact == (9, 2)


def test_a_pass_that_is_off_is_off() -> None:
    result = asked(f"{SAME} sg(62, Y)?", tree(5), off=["rewrite_demand"])
    assert recorded(result, "sg") == sum(2**level * (2**level - 1) for level in range(1, 6))


def test_what_is_negated_is_computed_in_full() -> None:
    text = f"{SAME} other(X, Y) :- arc(_, X), arc(_, Y), !sg(X, Y). other(14, Y)?"
    result = asked(text, tree(3))
    assert recorded(result, "sg") == 2 + 12 + 56
    assert "no fact matches sg(14, 1)" in str(result.why("other", (14, 1)))
