"""Ints and floats join as numbers: by hash, exactly, and as pandas brings them."""

from __future__ import annotations

import pandas as pd
import pytest

from emberlog import Database
from emberlog.datatypes import FLOAT, INT
from emberlog.logical.nodes import Definition, Join
from emberlog.logical.traverse import walk
from emberlog.optimize.pipeline import plan_program
from tests.programs import checked

DECLARED = "declare a(n: int). declare b(x: float).\n"


@pytest.mark.parametrize("body", ["a(X), b(X)", "b(X), a(X)", "a(X), b(Y), X = Y", "b(Y), a(X), X = Y"])
def test_the_join_has_a_key(body: str) -> None:
    plan = plan_program(checked(f"{DECLARED}p(X) :- {body}.")).plan
    (stratum,) = plan.strata
    assert isinstance(stratum.root, Definition)
    (join,) = (node for node in walk(stratum.root.plan) if isinstance(node, Join))
    assert join.on


def test_a_variable_has_the_type_of_its_atoms_whatever_their_order() -> None:
    for body in ("a(X), b(Y), X = Y", "b(Y), a(X), X = Y", "X = Y, b(Y), a(X)"):
        program = checked(f"{DECLARED}p(X, Y) :- {body}.")
        assert [column.type for column in program.relations["p"].columns] == [INT, FLOAT]


def test_ids_of_pandas_with_gaps_are_ints() -> None:
    db = Database(engine="local")
    db["emp"] = pd.DataFrame(
        {"id": [1, 2, 3], "boss": [None, 1, 2], "pay": [1.5, None, 2.0], "far": [2.0**60, None, 1]}
    )
    assert set(db.datalog("p(E, B, P, F) :- emp(E, B, P, F).")["p"].facts) == {
        (1, None, 1.5, 2.0**60),
        (2, 1, None, None),
        (3, 2, 2.0, 1.0),
    }
    ((one, other),) = {
        tuple(map(type, row)) for row in db.datalog("p(E, B) :- emp(E, B, _, _), emp(B, _, _, _).")["p"].facts
    }
    assert (one, other) == (int, int)


def test_a_column_that_a_declaration_makes_float_stays_so() -> None:
    db = Database(engine="local")
    db["t"] = pd.DataFrame({"x": [1.0, None]})
    found = db.datalog("declare t(x: float). p(X) :- t(X).")["p"].facts
    assert {type(value) for (value,) in found if value is not None} == {float}
