"""Unites sets of numbers along links: the smallest number of a set stands for it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from emberlog.workers.kernels.jit import jit

Lane = npt.NDArray[np.int64]


@jit
def smallest_of_sets(first: Lane, second: Lane, count: int) -> Lane:
    """Returns for each of `count` numbers the smallest one that links lead to, in any direction."""
    parent = np.arange(count, dtype=np.int64)
    for link in range(first.size):
        one, other = first[link], second[link]
        while one != parent[one]:  # the way is halved as it is gone
            parent[one] = parent[parent[one]]
            one = parent[one]
        while other != parent[other]:
            parent[other] = parent[parent[other]]
            other = parent[other]
        if one < other:
            parent[other] = one
        elif other < one:
            parent[one] = other
    for number in range(count):  # a parent is smaller, and has its own set already
        parent[number] = parent[parent[number]]
    return parent
