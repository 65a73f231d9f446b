"""Relations with several choices, against a search that takes one fact after the other."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from emberlog.config import Execution
from emberlog.database import Database

DOMAINS = {
    "X, Y": ((0,), (1,)),
    "(X, Y), Z": ((0, 1), (2,)),
    "X, (Y, Z), Z": ((0,), (2,)),
    "Z, Y, X": ((0,), (1,), (2,)),
}
"""Choices, and the places of the columns that make a difference."""

Facts = list[tuple[int, ...]]


def kept_one_after_the_other(facts: Facts, domains: Sequence[Sequence[int]]) -> Facts:
    taken: set[tuple[int, ...]] = set()
    kept = []
    for fact in sorted(facts):
        keys = {(number, *(fact[place] for place in places)) for number, places in enumerate(domains)}
        if not keys & taken:
            taken |= keys
            kept.append(fact)
    return kept


@pytest.mark.parametrize("executor", ["auto", "cyclic"])
@pytest.mark.parametrize("choices", DOMAINS)
def test_facts_are_kept_as_one_after_the_other(choices: str, executor: str) -> None:
    draw = random.Random(f"{choices} {executor}")
    for largest in (2, 4, 9, 40):
        facts = list({tuple(draw.randrange(largest) for _ in "XYZ") for _ in range(4 * largest)})
        with Database(engine="local") as database:
            database["given"] = facts
            text = f"declare kept(X: int, Y: int, Z: int) choice {choices}.\nkept(X, Y, Z) :- given(X, Y, Z)."
            result = database.datalog(text, execution=Execution(executor=executor))
            assert sorted(map(tuple, result["kept"].collect())) == kept_one_after_the_other(facts, DOMAINS[choices])


def test_nothing_is_kept_of_nothing() -> None:
    with Database(engine="local") as database:
        database["given"] = [(1, 2)]
        text = "declare kept(X: int, Y: int) choice X, Y.\nkept(X, Y) :- given(X, Y), X > 1."
        assert database.datalog(text)["kept"].collect() == []


def test_a_null_is_in_common_with_none() -> None:
    with Database(engine="local") as database:
        database["given"] = [(None, 1), (None, 2), (3, 3), (3, 4)]
        text = "declare kept(X: int, Y: int) choice X, Y.\nkept(X, Y) :- given(X, Y)."
        assert len(database.datalog(text)["kept"].collect()) == 3


def test_a_kept_fact_can_be_proved() -> None:
    with Database(engine="local") as database:
        database["given"] = [(1, 1), (1, 2), (2, 2)]
        text = "declare kept(X: int, Y: int) choice X, Y.\nkept(X, Y) :- given(X, Y)."
        result = database.datalog(text, provenance=True)
        proof = str(result.why("kept", (2, 2)))
        assert "given(2, 2)" in proof
