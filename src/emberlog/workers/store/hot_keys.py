"""Finds the values that very many rows have, by samples, and says where the rows of such a value are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from emberlog.workers.kernels.hashing import row_owners
from emberlog.workers.kernels.lanes import Lane, Lanes, Mask
from emberlog.workers.kernels.tuning import FEWEST_HOT, HOT_SAMPLE, HOT_SHARE
from emberlog.workers.store.partitioning import Owners, Partitioning


@dataclass(frozen=True, slots=True)
class HotKeys:
    """Holds, by relation, the values whose rows are on all workers, in order."""

    values: Mapping[str, Lane] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.values)

    def is_hot(self, relation: str, lane: Lane) -> Mask:
        """Tells which values of a lane are hot; the relation has some."""
        hot = self.values[relation]
        found: Mask = hot[np.minimum(np.searchsorted(hot, lane), len(hot) - 1)] == lane
        return found

    def owners(self, relation: str, lanes: Lanes, column: int, partitioning: Partitioning, workers: int) -> Owners:
        """Returns the worker of each row: that of its value, or where its value is hot, that of the whole row."""
        owner = partitioning.owners(lanes[column])
        if relation in self.values:
            hot = self.is_hot(relation, lanes[column])
            owner[hot] = row_owners(np.ascontiguousarray(lanes[:, hot]), workers)
        return owner

    @property
    def described(self) -> str:
        return "; ".join(
            f"{len(values):,} hot {'key' if len(values) == 1 else 'keys'} of {name} on all workers"
            for name, values in self.values.items()
        )


NO_HOT_KEYS = HotKeys()


def frequent(lane: Lane, workers: int) -> tuple[Lane, Lane]:
    """Returns the values that may be hot, by a sample of a worker's rows, and about how many rows have each."""
    if not len(lane):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    step = -(-len(lane) // HOT_SAMPLE)
    values, counts = np.unique(lane[::step], return_counts=True)
    counts = counts * step
    # Half of what makes a value hot: another worker may have more than its share of it.
    candidates = counts > max(len(lane) * HOT_SHARE, FEWEST_HOT) / workers / 2
    return values[candidates], counts[candidates].astype(np.int64)


def hot_among(values: Lane, counts: Lane, rows: int, workers: int) -> Lane:
    """Returns the values that are hot, in order, of candidates with their counts; there are so many rows."""
    found, place = np.unique(values, return_inverse=True)
    total = np.bincount(place, counts, len(found))
    return found[total > max(rows * HOT_SHARE / workers, FEWEST_HOT)]


def hot_keys_of(columns: Mapping[str, Lane], workers: int) -> HotKeys:
    """Returns the hot values of columns that are here whole."""
    return HotKeys(dict(_hot(columns, workers))) if workers > 1 else NO_HOT_KEYS


def _hot(columns: Mapping[str, Lane], workers: int) -> Iterator[tuple[str, Lane]]:
    for name, lane in columns.items():
        hot = hot_among(*frequent(lane, workers), len(lane), workers)
        if len(hot):
            yield name, hot
