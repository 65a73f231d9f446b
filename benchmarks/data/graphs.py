"""Graphs of known shape: grids, trees, random graphs, chains, stars and road networks."""

from __future__ import annotations

import numpy as np

from benchmarks.data.randomness import Ints, Sequence
from benchmarks.data.relations import Relations, graph, without_repeats


def grid(side: int, seed: int = 1) -> Relations:
    """`side` + 1 by `side` + 1 vertices, numbered row by row, with arcs to the right and down: Grid150 is grid(150)."""
    width = side + 1
    vertex = np.arange(width * width, dtype=np.int64).reshape(width, width)
    source = np.concatenate([vertex[:, :-1].ravel(), vertex[:-1, :].ravel()])
    target = np.concatenate([vertex[:, 1:].ravel(), vertex[1:, :].ravel()])
    return graph(source, target, width * width, seed)


def tree(depth: int, seed: int = 1) -> Relations:
    """A tree of the kind of Tree11: an inner vertex has 2 to 6 children, and from the third level on, up to the last,
    four vertices in ten are leaves. Its longest path has `depth` + 1 arcs, so that a closure takes `depth` iterations.
    """
    random = Sequence(seed, f"tree {depth}")
    level = np.zeros(1, dtype=np.int64)
    vertices = 1
    sources: list[Ints] = []
    targets: list[Ints] = []
    for height in range(depth + 1):
        children = random.below(5, len(level)) + 2
        if height >= 2:
            leaves = random.chances(0.4, len(level))
            leaves[0] = False  # so that some branch reaches the full depth
            children[leaves] = 0
        below = np.arange(vertices, vertices + int(children.sum()), dtype=np.int64)
        sources.append(np.repeat(level, children))
        targets.append(below)
        vertices += len(below)
        level = below
    return graph(np.concatenate(sources), np.concatenate(targets), vertices, seed)


def random_graph(vertices: int, probability: float, seed: int = 1) -> Relations:
    """G(n, p): each ordered pair, a vertex with itself included, is an arc with the given probability."""
    random = Sequence(seed, f"random graph {vertices} {probability}")
    threshold = np.uint64(round(probability * 2**64))
    rows_at_once = max(1, 4_000_000 // vertices)
    found: list[Ints] = []
    for first in range(0, vertices, rows_at_once):
        rows = min(rows_at_once, vertices - first)
        found.append(np.flatnonzero(random.bits(rows * vertices) < threshold) + first * vertices)
    pair = np.concatenate(found)
    return graph(pair // vertices, pair % vertices, vertices, seed)


def chain(length: int, seed: int = 1) -> Relations:
    """One path of `length` arcs: as many iterations as a graph can need."""
    vertex = np.arange(length, dtype=np.int64)
    return graph(vertex, vertex + 1, length + 1, seed)


def star(rays: int, seed: int = 1) -> Relations:
    """One vertex in the middle with arcs to and from each other one: all the skew a graph can have."""
    ray = np.arange(1, rays + 1, dtype=np.int64)
    middle = np.zeros(rays, dtype=np.int64)
    return graph(np.concatenate([middle, ray]), np.concatenate([ray, middle]), rays + 1, seed)


def road(side: int, seed: int = 1) -> Relations:
    """A road network: a grid of streets in both directions, one street in eight closed, and a few diagonal shortcuts.

    Degrees are small and paths are long, the opposite of R-MAT.
    """
    random = Sequence(seed, f"road {side}")
    streets = grid(side, seed)["arc"]
    source, target = np.asarray(streets["src"]), np.asarray(streets["dst"])
    open_streets = ~random.chances(1 / 8, len(source))
    source, target = source[open_streets], target[open_streets]
    shortcut = random.below((side + 1) * side - 1, side)
    source = np.concatenate([source, shortcut])
    target = np.concatenate([target, shortcut + side + 2])
    inside = target < (side + 1) ** 2
    both = {
        "src": np.concatenate([source[inside], target[inside]]),
        "dst": np.concatenate([target[inside], source[inside]]),
    }
    once = without_repeats(both)
    return graph(once["src"], once["dst"], (side + 1) ** 2, seed)
