"""Closures as matrices of levels: against evaluation from scratch after each transaction, and when one is too large."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

import pytest

from emberlog.database import Database
from emberlog.live.maintain import closing
from tests.live.random_views import Pools, Row, check_view
from tests.oracle.evaluate import evaluate
from tests.programs import checked

STEPS = "tc(X, Y) :- arc(X, Y).\n"
SHAPES = {
    "right": STEPS + "tc(X, Z) :- tc(X, Y), arc(Y, Z).",
    "left": STEPS + "tc(X, Z) :- arc(X, Y), tc(Y, Z).",
    "not linear": STEPS + "tc(X, Z) :- tc(X, Y), tc(Y, Z).",
    "two rules, a test and a negation": STEPS
    + "tc(X, Z) :- tc(X, Y), arc(Y, Z), !shut(Z), Z != 3.\ntc(X, Z) :- tc(X, Y), shut(Y), Z = Y + 1, Z < 9.",
    "from some": "tc(X, X) :- shut(X).\ntc(X, Z) :- tc(X, Y), arc(Y, Z).",
    "three columns": "way(X, Y, N) :- arc(X, Y), shut(N).\nway(X, Z, N) :- way(X, Y, N), arc(Y, Z).\n"
    "tc(X, Y) :- way(X, Y, _).",
    "pairs": "way(X, A, B) :- shut(X), arc(A, B).\nway(X, B, C) :- way(X, A, B), arc(B, C).\ntc(X, Y) :- way(X, _, Y).",
    "facts of its own": STEPS + "tc(1, 2).\ntc(2, null).\ntc(X, Z) :- tc(X, Y), arc(Y, Z).",
    "read by columns": STEPS
    + "tc(X, Z) :- tc(X, Y), arc(Y, Z).\nmeets(X, N) :- shut(N), tc(X, N).\nalone(X) :- shut(X), !tc(X, X).\n"
    "size(X, count<Y>) :- tc(X, Y).",
}
POOLS = Pools({"arc": [(*range(8), None)] * 2, "shut": [range(8)]})


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("is_small", [True, False], ids=["matrix", "handed over"])
def test_closures_follow_transactions(shape: str, is_small: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not is_small:
        monkeypatch.setattr(closing, "SMALL_MATRIX", 30)
        monkeypatch.setattr(closing, "CELLS_PER_FACT", 1)
    text = f"declare arc(X: int, Y: int).\ndeclare shut(X: int).\n{SHAPES[shape]}"
    program = checked(text, params={})

    def from_scratch(rows: Mapping[str, Sequence[Row]]) -> Mapping[str, frozenset[Row]]:
        return evaluate(program, rows)

    for seed in range(2):
        random = Random(seed)
        rows = {name: [POOLS.row(random, name) for _ in range(5)] for name in ("arc", "shut")}
        used = {name: given for name, given in rows.items() if name in program.inputs}
        assert check_view(text, used, POOLS, from_scratch, random, 40) == 40


def test_a_matrix_grows_and_leaves_out_what_is_empty() -> None:
    db = Database(engine="local")
    db["arc"] = [(0, 1)]
    live = db.live(SHAPES["right"])
    for first in range(0, 400, 4):
        with live.transaction() as transaction:
            transaction.replace("arc", [(first + step, first + step + 1) for step in range(3)])
        assert len(live["tc"]) == 6
        assert (first, first + 3) in set(live["tc"])
    assert "matrix" in live.explain()


def test_what_takes_less_memory_one_by_one_is_kept_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closing, "SMALL_MATRIX", 100)
    monkeypatch.setattr(closing, "CELLS_PER_FACT", 4)
    db = Database(engine="local")
    db["arc"] = [(number, number + 1) for number in range(5)]
    live = db.live(SHAPES["right"])
    assert "matrix" in live.explain()
    far = [(100 * number, 100 * number + 1) for number in range(1, 60)]
    with pytest.raises(KeyError), live.transaction() as transaction:
        transaction.insert("arc", far)
        raise KeyError
    assert "matrix" in live.explain()
    with live.transaction() as transaction:
        transaction.insert("arc", far)
        transaction.delete("arc", [(2, 3)])
    assert "supported by rank" in live.explain()
    assert len(live["tc"]) == 3 + 3 + 59
    with live.transaction() as transaction:
        transaction.insert("arc", [(2, 3)])
        transaction.delete("arc", far)
    assert len(live["tc"]) == 15
