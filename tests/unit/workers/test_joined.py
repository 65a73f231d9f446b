"""Rules that end with a join: combined as it is met, or written out, the result is the same."""

from __future__ import annotations

import numpy as np
import pytest

from emberlog.language.faults import Fault
from emberlog.logical.nodes import Fixpoint
from emberlog.optimize.pipeline import plan_program
from emberlog.workers.kernels.lanes import Lane, floats_to_lane, lane_to_floats
from emberlog.workers.kernels.tables import MAX, MIN, SUM_FLOAT
from emberlog.workers.plan.compile import compile_fixpoint
from emberlog.workers.store.indexes import PackedIndex
from emberlog.workers.store.joined import Joined, LastJoin, last_join
from emberlog.workers.store.stores import KeyedStore, SetStore, StaticStore
from tests.programs import checked


def end_of(text: str) -> LastJoin | None:
    plan = plan_program(checked(text)).plan
    (fixpoint,) = [stratum.root for stratum in plan.strata if isinstance(stratum.root, Fixpoint)]
    (rule,) = compile_fixpoint(fixpoint).rules
    return last_join(rule)


ARC = "declare arc(int a, int b, int w).\ndeclare start(int x).\n"


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ("c(X, min<X>) :- start(X).\nc(Y, min<Z>) :- c(X, Z), arc(X, Y, _).", (1, 1, True, None)),
        ("c(X, min<D>) :- start(X), D = 0.\nc(Y, min<D>) :- c(X, E), arc(X, Y, W), D = E + W.", (1, 1, True, 2)),
        ("c(X, max<W>) :- start(X), W = 0.\nc(Y, max<W>) :- c(X, _), arc(X, Y, W).", (1, 1, False, 2)),
    ],
)
def test_ends_that_need_not_be_written_out(rules: str, expected: tuple[int, int, bool, int | None]) -> None:
    end = end_of(ARC + rules)
    assert end is not None
    assert (end.position, end.key, end.base is not None, end.column) == expected


@pytest.mark.parametrize(
    "rules",
    [
        "c(X, min<D>) :- start(X), D = 0.\nc(Y, min<D>) :- c(X, E), arc(X, Y, W), D = E + W, D < 50.",
        "c(X, min<D>) :- start(X), D = 0.\nc(Y, min<E>) :- c(X, E), arc(X, Y, Y).",
        "c(X, Y, min<D>) :- start(X), Y = X, D = 0.\nc(X, Y, min<E>) :- c(X, Z, E), arc(Z, Y, _).",
    ],
    ids=["a condition behind", "a repeated variable", "two keys"],
)
def test_ends_that_are_written_out(rules: str) -> None:
    assert end_of(ARC + rules) is None


def random_join(generator: np.random.Generator, *, base: bool, column: bool) -> Joined:
    rows = np.stack([generator.integers(0, 20, 200), generator.integers(0, 50, 200), generator.integers(-9, 9, 200)])
    index = PackedIndex(StaticStore(rows.astype(np.int64)), (0,))
    probes = generator.integers(-3, 25, 40).astype(np.int64)
    values = generator.integers(-100, 100, 40).astype(np.int64)
    return Joined("r", index, index.groups(probes[None]), 1, values if base else None, 2 if column else None)


def contents(store: KeyedStore) -> dict[int, int]:
    return dict(zip(*store.all.tolist(), strict=True))


@pytest.mark.parametrize("rule", [MIN, MAX])
@pytest.mark.parametrize(("base", "column"), [(True, False), (False, True), (True, True)])
def test_an_extreme_is_the_same_either_way(rule: int, base: bool, column: bool) -> None:
    generator = np.random.default_rng(7)
    met, written = KeyedStore(1, (rule,)), KeyedStore(1, (rule,))
    for _ in range(5):
        joined = random_join(generator, base=base, column=column)
        assert met.add_joined(joined)
        for lanes in joined.written_out():
            written.add(lanes)
        assert contents(met) == contents(written)
        assert met.advance() == written.advance()
        assert sorted(met.delta[0].tolist()) == sorted(written.delta[0].tolist())


def test_a_sum_is_the_same_either_way() -> None:
    generator = np.random.default_rng(8)
    joined = random_join(generator, base=True, column=False)
    assert joined.base is not None
    floats = Joined("r", joined.index, joined.numbers, 1, floats_to_lane(joined.base / 4), None)
    store = KeyedStore(1, (SUM_FLOAT,), tracks=False)
    assert store.add_joined(floats)
    expected: dict[int, float] = {}
    for lanes in floats.written_out():
        for key, value in zip(lanes[0].tolist(), lane_to_floats(lanes[1]).tolist(), strict=True):
            expected[key] = expected.get(key, 0.0) + value
    found = dict(zip(store.all[0].tolist(), store.all[1].view(np.float64).tolist(), strict=True))
    assert found == pytest.approx(expected)


def test_stores_that_want_rows() -> None:
    joined = random_join(np.random.default_rng(9), base=True, column=False)
    assert not SetStore(2).add_joined(joined)
    assert not KeyedStore(1, (SUM_FLOAT,)).add_joined(joined)  # its changes are asked for
    scattered = KeyedStore(1, (MIN,))
    scattered.add(np.array([[0, 2**60], [1, 1]], np.int64))
    assert not scattered.add_joined(joined)  # its keys are hashed


def test_a_sum_that_does_not_fit() -> None:
    largest: Lane = np.array([2**63 - 1], np.int64)
    index = PackedIndex(StaticStore(np.array([[1], [2], [3]], np.int64)), (0,))
    joined = Joined("r", index, index.groups(np.array([[1]], np.int64)), 1, largest, 2)
    with pytest.raises(Fault, match="DL502"):
        KeyedStore(1, (MIN,)).add_joined(joined)
    with pytest.raises(Fault, match="DL502"):
        list(joined.written_out())
