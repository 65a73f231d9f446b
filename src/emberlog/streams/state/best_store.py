"""A relation of which only what is seen now is kept: per key the best row, and a slide until which it surely holds.

When that slide has passed, the key is lost, and has to be derived again from what still holds. Until then a derivation
that would last longer is of no interest: it moves the slide, and nothing is derived from it.
"""

from __future__ import annotations

import numpy as np

from emberlog.streams.state.frontier_store import FrontierStore
from emberlog.workers.kernels.frontiers import NO_ROW, sort_out_due, upsert_best
from emberlog.workers.kernels.lanes import Lane, Lanes, no_rows


class BestStore(FrontierStore):
    def __init__(
        self,
        keys: int,
        directions: tuple[int, ...],
        slide: int,
        *,
        tracks_changes: bool = False,
        tells_longer: bool = False,
    ) -> None:
        """`tells_longer` where rows that only hold longer than before are changes, too, because others have copies."""
        super().__init__(keys, directions, slide, tracks_changes=tracks_changes)
        self.tells_longer = tells_longer
        self.lost = no_rows(keys)
        """The keys whose rows went with the last slide."""

    def _upsert(self, batch: Lanes, begin: int, end: int) -> None:
        before = self.count
        self.count, self.changes = upsert_best(
            self.table,
            self.rows,
            self.count,
            self.keys,
            self.directions,
            self.slide,
            batch,
            begin,
            end,
            self.tells_longer,
            self.stamps,
            self.round,
            self.changed,
            self.changes,
        )
        # Each row is the only one of its key.
        self.leaders[before : self.count] = np.arange(before, self.count)
        self.following[before : self.count] = NO_ROW

    def _find_what_is_beaten(self) -> None:
        """What is beaten is not kept."""

    def _let_go(self) -> Lane:
        self.mark += 1
        gone, longer = sort_out_due(self.rows, self.queue.take(self.slide), self.slide, self.marks, self.mark)
        self.queue.enter(longer, self.rows[-1, longer])
        self.lost = np.ascontiguousarray(self.rows[: self.keys, gone])
        return gone

    def _empty(self) -> BestStore:
        return BestStore(
            self.keys,
            tuple(self.directions.tolist()),
            self.slide,
            tracks_changes=self.tracks_changes,
            tells_longer=self.tells_longer,
        )
