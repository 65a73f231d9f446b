"""R-MAT graphs, with the four parameter sets of the Nexus paper.

Each arc falls into one of the four quarters of the adjacency matrix, then into a quarter of that, down to one cell.
As in GTgraph, which the papers used, the side of a quarter is halved as a whole number, so any number of vertices
works, and as there only the largest power of two below that number really occurs: that is why the papers reach
523,967 vertices, nearly 2¹⁹, of a graph with a million. Unlike there, probabilities are not perturbed, and the graph
has exactly the asked number of distinct arcs and no loops.
"""

from __future__ import annotations

import numpy as np
import pyarrow

from benchmarks.data.randomness import Ints, Sequence
from benchmarks.data.relations import Relations, graph

PARAMETERS: dict[int, tuple[float, float, float, float]] = {
    1: (0.45, 0.25, 0.15, 0.15),
    2: (0.25, 0.25, 0.25, 0.25),
    3: (0.50, 0.20, 0.10, 0.20),
    4: (0.35, 0.25, 0.15, 0.25),
}
"""The probabilities a, b, c, d of the quarters, by the number that Nexus (section 7.1) gives the configuration."""

ARCS_PER_VERTEX = 10
SOURCE = 977
"""The vertex from which the papers compute reachability."""

_BLOCK = 1 << 18


def rmat(configuration: int, vertices: int, seed: int = 1) -> Relations:
    """Ten arcs per vertex, as in the papers' tables."""
    source, target = arcs(configuration, vertices, vertices * ARCS_PER_VERTEX, seed)
    return graph(source, target, vertices, seed)


def arcs(configuration: int, vertices: int, count: int, seed: int) -> tuple[Ints, Ints]:
    """Exactly `count` distinct arcs, in the order in which they were drawn."""
    random = Sequence(seed, f"rmat {configuration} {vertices}")
    known = np.empty(0, dtype=np.int64)
    while len(known) < count:
        # A few more than are missing, because some will be repeats; the first ones drawn are kept.
        wanted = (count - len(known)) * 11 // 10 + 64
        blocks = [_draw(random, configuration, vertices, _BLOCK) for _ in range(-(-wanted // _BLOCK))]
        # Arrow's unique keeps the order of first occurrence, and hashes instead of sorting.
        known = pyarrow.array(np.concatenate([known, *blocks])).unique().to_numpy()
    known = known[:count]
    return known // vertices, known % vertices


def _draw(random: Sequence, configuration: int, vertices: int, count: int) -> Ints:
    """Arcs as numbers source × vertices + target, without loops."""
    a, b, c, _ = PARAMETERS[configuration]
    thresholds = [np.uint32(round(edge * 2**32)) for edge in (a, a + b, a + b + c)]
    source = np.zeros(count, dtype=np.int64)
    target = np.zeros(count, dtype=np.int64)
    levels = vertices.bit_length() - 1
    step = vertices
    # One 64-bit number decides two levels.
    for pair in range(-(-levels // 2)):
        halves = random.bits(count).view(np.uint32).reshape(count, 2)
        for half in range(min(2, levels - 2 * pair)):
            step //= 2
            value = halves[:, half]
            lower = value >= thresholds[1]
            right = ((value >= thresholds[0]) & ~lower) | (value >= thresholds[2])
            source += np.where(lower, step, 0)
            target += np.where(right, step, 0)
    different = source != target
    pairs: Ints = source[different] * vertices + target[different]
    return pairs
