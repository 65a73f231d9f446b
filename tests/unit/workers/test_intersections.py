"""Joins that close a cycle: found in chains, and intersected right whatever the lists are."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emberlog.logical.nodes import Definition
from emberlog.optimize.pipeline import plan_program
from emberlog.semantics.model import Fact
from emberlog.syntax.ast import Constant
from emberlog.workers.plan.closing_joins import with_intersections
from emberlog.workers.plan.compile import compile_fixpoint
from emberlog.workers.plan.definition_plans import as_fixpoint
from emberlog.workers.plan.rules import Bound, Intersect, RuleChain
from emberlog.workers.store.indexes import Intersection, SortedLists
from emberlog.workers.store.stores import StaticStore
from tests.local_runs import SETUPS, run_locally
from tests.oracle.evaluate import evaluate
from tests.programs import checked

ARC = "declare arc(int a, int b).\n"
TRIANGLES = f"{ARC}p(X, Y, Z) :- arc(X, Y), X < Y, arc(Y, Z), Y < Z, arc(X, Z)."


def chain_of(text: str) -> RuleChain:
    (stratum,) = plan_program(checked(text)).plan.strata
    assert isinstance(stratum.root, Definition)
    fixpoint = as_fixpoint(stratum.root)
    assert fixpoint is not None
    (seed,) = compile_fixpoint(fixpoint).seeds
    return with_intersections(seed, frozenset())


def intersections(text: str) -> list[Intersect]:
    return [step for step in chain_of(text).steps if isinstance(step, Intersect)]


def test_nothing_is_found_in_a_relation_without_rows() -> None:
    empty = SortedLists(StaticStore(np.empty((2, 0), np.int64)), (0,), 1)
    keys = np.array([[1, 2]])
    assert Intersection([empty, empty]).count([keys, keys], None, None) == 0


def test_a_triangle_is_one_intersection_within_bounds() -> None:
    (step,) = intersections(TRIANGLES)
    assert [atom.relation for atom in step.atoms] == ["arc", "arc"]
    assert len(step.lows) == 1
    assert step.highs == ()
    assert len(chain_of(TRIANGLES).steps) == 3  # the start, X < Y, and the intersection


def test_a_clique_of_four_is_two() -> None:
    clique = f"{ARC}p(A, B, C, D) :- arc(A, B), arc(B, C), arc(A, C), arc(C, D), arc(B, D), arc(A, D)."
    assert [len(step.atoms) for step in intersections(clique)] == [2, 3]


def test_bounds_may_be_constants_on_either_side() -> None:
    (step,) = intersections(f"{ARC}p(X, Y, Z) :- arc(X, Y), arc(Y, Z), arc(X, Z), Z >= 2, 9 > Z.")
    assert step.lows == (Bound(Constant(2), False),)
    assert step.highs == (Bound(Constant(9), True),)


@pytest.mark.parametrize(
    "body",
    [
        "arc(X, Y), arc(Y, Z)",
        "arc(X, Y), wide(Y, Z, W), arc(X, Z)",  # how often a value is there depends on W
        "arc(X, Y), arc(Y, Z), arc(Z, W)",
    ],
)
def test_other_joins_stay_as_they_are(body: str) -> None:
    assert intersections(f"{ARC}declare wide(int a, int b, int c).\np(X, Y, Z) :- {body}.") == []


ARCS = st.frozensets(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=40)

SHAPES = (
    "arc(X, Y), X < Y, arc(Y, Z), Y < Z, arc(X, Z)",
    "arc(X, Y), arc(Y, Z), arc(Z, X)",
    "arc(X, Y), arc(Y, Z), arc(X, Z), Z <= X, Z > 2",
    "arc(X, Y), arc(Y, Z), arc(X, Z), arc(Z, Z)",
    "arc(X, 3), arc(X, Y), arc(Y, Z), arc(3, Z)",
)


@given(ARCS, st.sampled_from(SHAPES))
@settings(deadline=None)
def test_workers_find_what_the_reference_finds(arcs: frozenset[Fact], body: str) -> None:
    for head in ("p(X, Y, Z)", "p(count<_>)", "p(Y, sum<Z>)", "p(Y)"):
        program = checked(f"{ARC}{head} :- {body}.")
        expected = evaluate(program, {"arc": arcs})
        for setup in ("cyclic-1", "cyclic-3"):
            assert run_locally(plan_program(program).plan, {"arc": arcs}, execution=SETUPS[setup]) == expected


def test_limits_at_the_ends_of_the_range() -> None:
    """There is no number above the largest: nothing is greater than it, and it is not greater than itself."""
    low, high = -(2**63), 2**63 - 1
    numbers = (low, low + 1, 0, high - 1, high)
    arcs = frozenset(itertools.product(numbers, repeat=2))
    for comparison in ("Z > X", "Z >= X", "Z < X", "Z <= X"):
        program = checked(f"{ARC}p(X, Y, Z) :- arc(X, Y), arc(Y, Z), arc(X, Z), {comparison}.")
        found = run_locally(plan_program(program).plan, {"arc": arcs})
        assert found == evaluate(program, {"arc": arcs}), comparison


def test_a_hub_costs_no_more_room_than_its_partner() -> None:
    """Two lists of very different length, more results than fit into one batch of pairs."""
    many = 700_000
    rows = np.stack([np.zeros(many, np.int64), np.arange(many)])
    rows = np.concatenate([rows, np.array([[1, 1, 1], [5, 7, many + 1]])], axis=1)
    lists = SortedLists(StaticStore(np.ascontiguousarray(rows)), (0,), 1)
    hub, other = np.array([[0, 0]]), np.array([[1, 0]])
    batches = list(Intersection([lists, lists]).pairs([hub, other], None, None))
    assert [batch.probes.tolist()[:2] for batch in batches] == [[0, 0], [1, 1]]
    assert batches[0].rows.tolist() == [5, 7]
    assert len(batches[1].rows) == many
    assert Intersection([lists, lists]).count([hub, other], None, None) == many + 2
