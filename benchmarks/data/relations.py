"""What a generator makes: named relations, each with named columns of equal length."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data.randomness import Ints, Sequence

Columns = Mapping[str, NDArray[Any]]
Relations = Mapping[str, Columns]

HEAVIEST_ARC = 100


def graph(source: Ints, target: Ints, vertices: int, seed: int) -> Relations:
    """A graph in the three shapes that programs ask for: arcs, arcs with a length from 1 to 100, and vertices."""
    weight = Sequence(seed, "weights").below(HEAVIEST_ARC, len(source)) + 1
    return {
        "arc": {"src": source, "dst": target},
        "weighted": {"src": source, "dst": target, "weight": weight},
        "node": {"id": np.arange(vertices, dtype=np.int64)},
    }


def without_repeats(columns: Columns) -> dict[str, NDArray[Any]]:
    """The same rows, each once, in the order of their first occurrence: a relation is a set."""
    arrays = [np.asarray(values) for values in columns.values()]
    order = np.lexsort(arrays)
    changes = [array[order][1:] != array[order][:-1] for array in arrays]
    first = np.concatenate(([True], np.logical_or.reduce(changes)))
    kept = np.sort(np.minimum.reduceat(order, np.flatnonzero(first)))
    return {name: array[kept] for name, array in zip(columns, arrays, strict=True)}
