"""Records in which iteration each fact of a recursion came, for provenance.

A set has its rows in the order in which they came, so a number per iteration is all there is to keep. A relation of
groups forgets the values that it improves, so each of them is kept as it comes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from emberlog.workers.kernels.lanes import Lane
from emberlog.workers.kernels.tuning import RESULT_BATCH
from emberlog.workers.store.relations import WorkerRelation
from emberlog.workers.store.stores import SetStore

Iterations: TypeAlias = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class HistoryBatch:
    """Holds some rows: a lane per column, and the iteration of each row."""

    columns: list[Lane]
    iterations: Iterations

    @staticmethod
    def of_iteration(columns: list[Lane], iteration: int) -> HistoryBatch:
        return HistoryBatch(columns, np.full(len(columns[0]), iteration, np.int32))


class KeepsHistory(ABC):
    """Marks a worker that can tell in which iteration its facts came."""

    @abstractmethod
    def history(self, relation: str) -> Iterator[HistoryBatch]:
        """This worker's part of a history, as `engines/recording.py` defines it, if the task asks for provenance."""


class RelationHistory:
    """Records the history of a relation whose facts come or improve round by round."""

    def __init__(self, relation: WorkerRelation) -> None:
        self.relation = relation
        self.ends: list[int] = []
        """Of a set: how many rows it had after each iteration."""
        self.values: list[HistoryBatch] = []
        """Of groups: what each iteration changed."""

    def note(self, iteration: int) -> None:
        """Notes the changes of an iteration that is over; they are the delta."""
        store = self.relation.store
        if isinstance(store, SetStore):
            self.ends.append(store.delta_end)
            return
        delta = store.delta
        if delta.shape[1]:
            self.values.append(HistoryBatch.of_iteration(self.relation.visible(delta), iteration))

    def batches(self) -> Iterator[HistoryBatch]:
        if not isinstance(self.relation.store, SetStore):
            yield from self.values
            return
        begin, ends = 0, np.array(self.ends)
        for columns in self.relation.in_batches(self.relation.store.all, RESULT_BATCH):
            rows = np.arange(begin, begin + len(columns[0]))
            yield HistoryBatch(columns, np.searchsorted(ends, rows, side="right").astype(np.int32))
            begin += len(columns[0])
