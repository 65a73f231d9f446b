"""Recursions that factor give the reference's answer in every representation, on any number of workers."""

from __future__ import annotations

import random
from collections import Counter
from itertools import chain

import pytest

from emberlog.config import Limits
from emberlog.language.faults import Fault
from emberlog.semantics.model import Fact
from emberlog.workers.fixpoint import factored_worker
from emberlog.workers.plan.representation import Representation
from emberlog.workers.wire.messages import Progress
from tests.unit.workers.factored_runs import (
    DENSE,
    SG,
    TC,
    WORKERS,
    assert_right,
    expected,
    ran,
    ran_by_rounds,
)


def graph(seed: int, vertices: int, edges: int) -> list[Fact]:
    chance = random.Random(seed)
    return sorted({(chance.randrange(vertices), chance.randrange(vertices)) for _ in range(edges)})


@pytest.mark.parametrize("text", [TC, SG], ids=["tc", "sg"])
@pytest.mark.parametrize(
    "arcs",
    [
        [],
        [(7, 7)],
        [(1, 2)],
        [(1, 2), (2, 1), (2, 2)],
        [(i, i + 1) for i in range(70)],
        [(0, i) for i in range(1, 100)],
        [(i, (i + 1) % 65) for i in range(65)],
        [(-5, -6), (-6, 4), (4, -5), (4, 3)],
        [(2**62, -(2**63)), (-(2**63), 2**63 - 1), (2**63 - 1, 5), (2**62, 5), (5, 2**62)],
    ],
    ids=["none", "loop", "one", "two", "path", "star", "cycle", "negative", "sparse"],
)
def test_corner_cases(text: str, arcs: list[Fact]) -> None:
    assert_right(text, {"arc": arcs}, (*DENSE, Representation.AUTO, Representation.HASH))


@pytest.mark.parametrize("seed", range(6))
def test_random_graphs(seed: int) -> None:
    arcs = graph(seed, vertices=10 + 15 * seed, edges=30 + 20 * seed)
    assert_right(TC, {"arc": arcs})
    assert_right(SG, {"arc": arcs})


def test_right_linear() -> None:
    text = "declare arc(int a, int b). tc(X, Y) :- arc(X, Y). tc(X, Y) :- arc(X, Z), tc(Z, Y)."
    assert_right(text, {"arc": graph(1, 20, 40)})


def test_texts() -> None:
    text = (
        'declare arc(string a, string b). tc(X, Y) :- arc(X, Y), X != "b". tc(X, Y) :- tc(X, Z), arc(Z, Y), Y != "d".'
    )
    assert_right(text, {"arc": [("a", "b"), ("b", "c"), ("c", "d"), ("c", "a"), ("d", "e")]})


def test_several_columns_on_a_side() -> None:
    text = """
    declare road(string town, int from, int to).
    declare bus(int a, int b, int c).
    r(T, X, Y) :- road(T, X, Y).
    r(T, Y, Z) :- r(T, X, Y), bus(X, Y, Z).
    """
    roads = [("ulm", 1, 2), ("ulm", 2, 3), ("bonn", 3, 1), ("bonn", 2**60, 4)]
    buses = [(1, 2, 3), (2, 3, 1), (3, 1, 2), (2**60, 4, -1), (4, -1, 9), (7, 7, 7)]
    assert_right(text, {"road": roads, "bus": buses})


def test_two_kept_columns_and_columns_in_another_order() -> None:
    text = """
    declare road(int a, int b, int c).
    declare arc(int a, int b).
    r(X, K, L) :- road(K, L, X).
    r(Y, K, L) :- r(X, K, L), arc(X, Y).
    """
    roads = [(1, 1, 5), (1, 2, 6), (2, 1, 5), (2, 2, 9)]
    assert_right(text, {"road": roads, "arc": [(5, 6), (6, 7), (7, 5), (9, 9)]})


EXITS = (
    "r(X, Y) :- e(X, Y).",
    "r(X, Y) :- f(P, X), e(P, Y), X != Y.",
    "r(X, Y) :- n(X), n(Y).",
    "r(3, 4). r(1, 77).",
    "r(X, Y) :- e(X, Y), ~n(X), X < Y.",
)
STEPS = (
    "e({a}, {b})",
    "f({b}, {a})",
    "e({a}, {m}), f({m}, {b})",
    "e({a}, {b}), {a} != {b}",
    "f({a}, {b}), ~n({b})",
    "n({a}), e({a}, {b}), {a} < {b}",
    "e({a}, {a}), f({a}, {b})",
    "g({a}, {m}, {b}), n({m})",
    "n({a}), {b} = {a}",
    "g({a}, _, {a}), {b} = {a}",
)


def random_program(seed: int) -> str:
    """Some exits, and rules that do something to each side: take one of the steps above, or nothing."""
    chance = random.Random(seed)
    rules = list(chance.sample(EXITS, chance.randint(1, 2)))
    one_sided = chance.random() < 0.4
    for _ in range(chance.randint(1, 3)):
        left = None if one_sided or chance.random() < 0.3 else chance.choice(STEPS)
        right = None if left is not None and chance.random() < 0.3 else chance.choice(STEPS)
        head = ("A" if left is None else "X", "B" if right is None else "Y")
        parts = ["r(A, B)"]
        if left is not None:
            parts.append(left.format(a="A", b="X", m="M"))
        if right is not None:
            parts.append(right.format(a="B", b="Y", m="N"))
        rules.append(f"r({', '.join(head)}) :- {', '.join(parts)}.")
    declared = "declare e(int a, int b). declare f(int a, int b). declare g(int a, int b, int c). declare n(int a)."
    return "\n".join((declared, *rules))


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed: int) -> None:
    chance = random.Random(1000 + seed)
    size = chance.choice((4, 9, 70))
    inputs: dict[str, list[Fact]] = {
        "e": graph(seed, size, 2 * size),
        "f": graph(seed + 500, size, size),
        "g": [tuple(chance.randrange(size) for _ in range(3)) for _ in range(size)],
        "n": [(chance.randrange(size),) for _ in range(3)],
    }
    assert_right(random_program(seed), inputs, (*DENSE, Representation.AUTO))


@pytest.mark.parametrize("representation", DENSE)
def test_rounds_are_told_as_the_general_worker_tells_them(representation: Representation) -> None:
    arcs = {"arc": graph(3, 40, 60)}
    for workers in WORKERS:
        assert ran(SG, arcs, representation, workers).reports == ran_by_rounds(SG, arcs, workers).reports
        # Without an exchange everyone tells of its own facts, and these workers own others.
        dense, general = ran(TC, arcs, representation, workers).reports, ran_by_rounds(TC, arcs, workers).reports
        assert _new_facts(dense) == _new_facts(general)
        for reports in dense:
            assert [report.iteration for report in reports] == list(range(1, len(reports) + 1))
            assert reports[-1].total == sum(report.changed for report in reports)


def _new_facts(reports: list[list[Progress]]) -> Counter[int]:
    """By iteration, on all workers together."""
    result: Counter[int] = Counter()
    for report in chain.from_iterable(reports):
        result[report.iteration] += report.changed
    return result


def test_rounds_are_kept_where_they_are_asked_for() -> None:
    arcs = graph(4, 30, 50)
    result = ran(TC, {"arc": arcs}, Representation.MARKS, 2, decompose=False)
    assert result.facts == expected(TC, {"arc": arcs})
    assert result.choices[0].representation is Representation.ROWS
    assert result.reports == ran_by_rounds(TC, {"arc": arcs}, 2, decompose=False).reports


@pytest.mark.parametrize("representation", DENSE)
def test_facts_of_a_left_value_come_together(representation: Representation) -> None:
    result = ran(TC, {"arc": graph(5, 50, 90)}, representation, 2)
    assert result.grouped_by == [(0,), (0,)]
    for rows in result.rows:
        runs = [row[0] for place, row in enumerate(rows) if place == 0 or rows[place - 1][0] != row[0]]
        assert len(runs) == len(set(runs))


def test_hashed_facts_come_in_any_order() -> None:
    assert ran(SG, {"arc": graph(5, 50, 90)}, memory=1).grouped_by == [()]


@pytest.mark.parametrize("representation", DENSE)
@pytest.mark.parametrize(
    ("limits", "code"),
    [
        (Limits(max_iterations=10), "DL510"),
        (Limits(max_rows=100), "DL511"),
        (Limits(timeout=1e-9), "DL512"),
    ],
)
def test_limits(representation: Representation, limits: Limits, code: str) -> None:
    with pytest.raises(Fault) as caught:
        ran(TC, {"arc": [(i, i + 1) for i in range(40)]}, representation, limits=limits)
    assert caught.value.code == code


def test_too_many_steps_are_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two steps through the middle of a star are as many as its pairs of points."""
    monkeypatch.setattr(factored_worker, "MOST_STEPS", 100)
    text = "declare arc(int a, int b). r(X, Y) :- arc(X, Y). r(X, Y) :- r(X, Z), arc(Z, M), arc(M, Y)."
    arcs: list[Fact] = [pair for i in range(1, 30) for pair in ((0, i), (i, 0))]
    for workers in WORKERS:
        result = ran(text, {"arc": arcs}, workers=workers)
        assert result.choices[0].representation is Representation.HASH
        assert result.choices[0].why == "hash: the steps of a rule are many more than the facts it reads"
        assert result.facts == expected(text, {"arc": arcs})
