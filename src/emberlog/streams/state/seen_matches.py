"""Joins of facts that expire: only pairs that hold, and are the best of their keys, at the same slide are ever seen."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from emberlog.streams.state.frontier_store import FrontierStore
from emberlog.workers.kernels.frontiers import NO_LOW, expand_seen
from emberlog.workers.kernels.indexes import NEW_PROBE
from emberlog.workers.kernels.lanes import Lane, Lanes
from emberlog.workers.kernels.tuning import FEWEST_PAIRS, MOST_PAIRS
from emberlog.workers.store.indexes import ChainedIndex, Matches


def seen_matches(
    store: FrontierStore, index: ChainedIndex, keys: Lanes, until: Lane, beaten: Lane
) -> Iterator[Matches]:
    """The rows of the store that agree with the keys; each probe holds until a slide, and is beaten until one."""
    keys = np.ascontiguousarray(keys)
    low = index.low if index.is_direct else NO_LOW
    chains = (index.heads, low, index.following, store.rows, index.lanes, keys, len(store.directions) > 0, store.slide)
    probe, row = 0, NEW_PROBE
    capacity = max(FEWEST_PAIRS, min(4 * keys.shape[1], MOST_PAIRS))
    while probe < keys.shape[1]:
        pairs = (np.empty(capacity, np.int64), np.empty(capacity, np.int64))
        probe, row, found = expand_seen(*chains, until, beaten, probe, row, *pairs)
        capacity = MOST_PAIRS
        if found:
            yield Matches(pairs[0][:found], pairs[1][:found])
