"""Keeps rows on disk instead of in memory, in files without a name, which go with the process however it ends."""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Iterator

import numpy as np

from emberlog.workers.kernels.lanes import Lanes, no_rows
from emberlog.workers.kernels.memory import TooLarge
from emberlog.workers.kernels.tuning import SPILL_BLOCK, WORTH_WRITING


class SpillFile:
    """Holds blocks of rows, one behind the other."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="emberlog-", buffering=0)  # noqa: SIM115
        weakref.finalize(self, self._file.close)
        self._end = 0

    def append(self, lanes: Lanes) -> int:
        """Returns the place where they are."""
        begin = self._end
        try:
            self._file.seek(begin)
            for lane in lanes:
                left = np.ascontiguousarray(lane).data.cast("B")
                while len(left):
                    left = left[self._file.write(left) :]
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else str(error)
            raise TooLarge(f"there is no memory left, and facts cannot be written to disk: {why}") from error
        self._end += lanes.nbytes
        return begin

    def read(self, begin: int, width: int, rows: int) -> Lanes:
        lanes = np.empty((width, rows), np.int64)
        self._file.seek(begin)
        left = lanes.reshape(-1).data.cast("B")
        while len(left):
            left = left[self._file.readinto(left) :]
        return lanes

    def clear(self) -> None:
        self._file.truncate(0)
        self._end = 0


class SpilledRows:
    """Holds some rows of a file in the order in which they came; they have a file of their own unless several share
    one."""

    def __init__(self, width: int, file: SpillFile | None = None) -> None:
        self.width = width
        self.count = 0
        self._own_file = file
        self._blocks: list[tuple[int, int]] = []
        """Where each is, and how many rows it has."""
        self._waiting: list[Lanes] = []
        self._waiting_rows = 0

    @property
    def _file(self) -> SpillFile:
        if self._own_file is None:
            self._own_file = SpillFile()
        return self._own_file

    def add(self, lanes: Lanes) -> None:
        for begin in range(0, lanes.shape[1], SPILL_BLOCK):
            part = lanes[:, begin : begin + SPILL_BLOCK]
            self._waiting.append(part.copy())
            self._waiting_rows += part.shape[1]
            self.count += part.shape[1]
            if 8 * self.width * self._waiting_rows >= WORTH_WRITING or self._waiting_rows >= SPILL_BLOCK:
                self._write()

    def _write(self) -> None:
        if self._waiting:
            # No room is claimed: rows are written when there is none.
            lanes = np.concatenate(self._waiting, axis=1)
            self._blocks.append((self._file.append(lanes), lanes.shape[1]))
            self._waiting, self._waiting_rows = [], 0

    def batches(self) -> Iterator[Lanes]:
        """Yields all rows, a block at a time."""
        for begin, rows in self._blocks:
            yield self._file.read(begin, self.width, rows)
        yield from self._waiting

    @property
    def all(self) -> Lanes:
        if not self.count:
            return no_rows(self.width)
        found, begin = np.empty((self.width, self.count), np.int64), 0
        for lanes in self.batches():
            found[:, begin : begin + lanes.shape[1]] = lanes
            begin += lanes.shape[1]
        return found

    def clear(self) -> None:
        """Forgets the rows. Their place in a file that is shared is only given back when that is cleared."""
        self.count, self._blocks, self._waiting, self._waiting_rows = 0, [], [], 0
