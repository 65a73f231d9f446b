"""The programs whose cost is measured by the number of workers, with small data that have few rounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from emberlog.config import Execution

_ARC = "declare arc(int a, int b).\n"
_BSP = Execution(mode="bsp", representation="hash")
Arcs = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Case:
    text: str
    tables: Callable[[], dict[str, pa.Table]]
    execution: Execution = _BSP


def _random(vertices: int, arcs: int) -> Arcs:
    found = np.random.default_rng(7).integers(0, vertices, (2, arcs))
    distinct: Arcs = np.unique(found[:, found[0] != found[1]], axis=1)
    return distinct


def _both_ways(arcs: Arcs) -> Arcs:
    return np.unique(np.hstack([arcs, arcs[::-1]]), axis=1)


def _tree(children: int, depth: int) -> Arcs:
    vertices = sum(children**level for level in range(depth + 1))
    below = np.arange(1, vertices)
    return np.stack([(below - 1) // children, below])


def _table(*columns: npt.NDArray[Any]) -> pa.Table:
    return pa.table({f"c{place}": column for place, column in enumerate(columns)})


def _weighted() -> dict[str, pa.Table]:
    arcs = _random(20_000, 120_000)
    weights = np.random.default_rng(8).integers(1, 100, (1, arcs.shape[1]))[0]
    return {"arc": _table(arcs[0], arcs[1], weights)}


def _ranked() -> dict[str, pa.Table]:
    arcs = _random(20_000, 120_000)
    origins, degrees = np.unique(arcs[0], return_counts=True)
    return {"arc": _table(*arcs), "degree": _table(origins, degrees), "node": _table(np.arange(20_000))}


def _pointers() -> dict[str, pa.Table]:
    dice = np.random.default_rng(9)

    def names(count: int) -> list[str]:
        return [
            f"com.example.project.Module{one // 50}.method{one % 50}.local" for one in dice.integers(0, 6000, count)
        ]

    return {
        name: pa.table({"c0": names(count), "c1": names(count)}).group_by(["c0", "c1"]).aggregate([])
        for name, count in (("address_of", 4000), ("assign", 2000), ("load", 100), ("store", 100))
    }


CASES = {
    "tc": Case(
        f"{_ARC}tc(X, Y) :- arc(X, Y).\ntc(X, Y) :- tc(X, Z), arc(Z, Y).\n", lambda: {"arc": _table(*_tree(6, 6))}
    ),
    "sg": Case(
        f"{_ARC}sg(X, Y) :- arc(P, X), arc(P, Y), X != Y.\nsg(X, Y) :- arc(A, X), sg(A, B), arc(B, Y).\n",
        lambda: {"arc": _table(*_tree(3, 6))},
    ),
    "cc": Case(
        f"{_ARC}cc(X, min<X>) :- arc(X, _).\ncc(Y, min<C>) :- cc(X, C), arc(X, Y).\n",
        lambda: {"arc": _table(*_both_ways(_random(50_000, 200_000)))},
    ),
    "sssp": Case(
        "declare arc(int a, int b, int w).\nd(0, min<V>) :- V = 0.\n"
        "d(Y, min<V>) :- d(X, U), arc(X, Y, W), V = U + W.\n",
        _weighted,
    ),
    "pagerank": Case(
        f"{_ARC}declare node(int a).\ndeclare degree(int a, int n).\n@iterations(5)\n"
        "rank(X, sum<V>) :- node(X), V = 0.15.\n"
        "rank(Y, sum<V>) :- rank(X, R), arc(X, Y), degree(X, D), V = 0.85 * R / D.\n",
        _ranked,
    ),
    "points-to": Case(
        "".join(f"declare {name}(string a, string b).\n" for name in ("address_of", "assign", "load", "store"))
        + "pt(Y, X) :- address_of(Y, X).\npt(Y, X) :- assign(Y, Z), pt(Z, X).\n"
        "pt(Y, W) :- load(Y, X), pt(X, Z), pt(Z, W).\npt(Z, W) :- store(Y, X), pt(Y, Z), pt(X, W).\n",
        _pointers,
    ),
    "star": Case(
        f"{_ARC}cc(X, min<X>) :- arc(X, _).\ncc(Y, min<C>) :- cc(X, C), arc(X, Y).\n",
        lambda: {"arc": _table(*_both_ways(np.stack([np.zeros(100_000, np.int64), np.arange(1, 100_001)])))},
    ),
}
"""By name; the last one is a star, whose centre has half of all arcs."""
