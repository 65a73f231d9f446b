"""Keeps rows on disk instead of in memory, in files without a name, which go with the process however it ends.

They are where Spark has its own, in a task of Spark, and encrypted if Spark's are: each with a key that is in memory
only. The package `cryptography` does that; without it nothing is written.
"""

from __future__ import annotations

import os
import secrets
import tempfile
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from emberlog.workers.kernels.lanes import Lanes, no_rows
from emberlog.workers.kernels.memory import TooLarge, at_once, may_wait
from emberlog.workers.kernels.tuning import SPILL_BLOCK, WORTH_WRITING


@dataclass(frozen=True, slots=True)
class SpillPlace:
    """Says where the files of a worker are, and whether others may be able to read the disk."""

    folders: Sequence[str] = ()
    """The disks of the machine, in turn; none for the temporary directory."""
    is_encrypted: bool = False


_NOWHERE_ELSE = SpillPlace()
_own = threading.local()


@contextmanager
def spilling_to(place: SpillPlace) -> Iterator[None]:
    """Lets the files that this thread makes be there while this is entered."""
    before = getattr(_own, "place", _NOWHERE_ELSE)
    _own.place = place
    try:
        yield
    finally:
        _own.place = before


def local_folders() -> tuple[str, ...]:
    """Returns the folders that Spark has on the disks of this machine for what does not fit into memory, in a task."""
    found = os.environ.get("SPARK_LOCAL_DIRS") or os.environ.get("LOCAL_DIRS") or ""
    return tuple(folder for folder in found.split(",") if os.access(folder, os.W_OK | os.X_OK))


class SpillFile:
    """Holds blocks of rows, one behind the other."""

    def __init__(self) -> None:
        place: SpillPlace = getattr(_own, "place", _NOWHERE_ELSE)
        self._cipher = _Cipher() if place.is_encrypted else None
        folder = secrets.choice(place.folders) if place.folders else None
        with _no_memory_else():
            self._file = tempfile.TemporaryFile(prefix="emberlog-", buffering=0, dir=folder)  # noqa: SIM115
        weakref.finalize(self, self._file.close)
        self._end = 0

    def append(self, lanes: Lanes) -> int:
        """Returns the place where they are."""
        begin = self._end
        seal = self._cipher.from_place(begin) if self._cipher is not None else None
        with _no_memory_else():
            self._file.seek(begin)
            for lane in lanes:
                for block in _blocks(np.ascontiguousarray(lane).data.cast("B")):
                    left = memoryview(seal.update(block)) if seal is not None else block
                    while len(left):
                        left = left[self._file.write(left) :]
        self._end += -(-lanes.nbytes // CIPHER_BLOCK) * CIPHER_BLOCK
        return begin

    def read(self, begin: int, width: int, rows: int) -> Lanes:
        lanes = np.empty((width, rows), np.int64)
        self._file.seek(begin)
        whole = left = lanes.reshape(-1).data.cast("B")
        while len(left):
            left = left[self._file.readinto(left) :]
        if self._cipher is not None:
            unseal = self._cipher.from_place(begin)
            for block in _blocks(whole):
                block[:] = unseal.update(block)
        return lanes

    def clear(self) -> None:
        self._file.truncate(0)
        self._end = 0
        if self._cipher is not None:
            self._cipher = _Cipher()  # no two things are ever written with the same key in the same place


CIPHER_BLOCK = 16
_AT_ONCE = 1 << 20


class _Cipher:
    """Encrypts a file with AES in counter mode and a key of its own, so that any part of it can be read by itself."""

    def __init__(self) -> None:
        try:
            from cryptography.hazmat.primitives.ciphers import algorithms
        except ImportError:
            raise TooLarge(
                "there is no memory left, and facts are not written to disk: spark.io.encryption.enabled is on, and "
                "workers have no package cryptography, which emberlog[encryption] brings"
            ) from None
        self._algorithm = algorithms.AES(secrets.token_bytes(32))

    def from_place(self, begin: int) -> Any:
        """Returns what encrypts from this place of the file on, or decrypts, which is the same."""
        from cryptography.hazmat.primitives.ciphers import Cipher, modes

        counter = (begin // CIPHER_BLOCK).to_bytes(CIPHER_BLOCK, "big")
        return Cipher(self._algorithm, modes.CTR(counter)).encryptor()


def _blocks(data: memoryview) -> Iterator[memoryview]:
    for begin in range(0, len(data), _AT_ONCE):
        yield data[begin : begin + _AT_ONCE]


@contextmanager
def _no_memory_else() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise TooLarge(f"there is no memory left, and facts cannot be written to disk: {why}") from error


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
        block, waiting = at_once(SPILL_BLOCK), may_wait(WORTH_WRITING)
        for begin in range(0, lanes.shape[1], block):
            part = lanes[:, begin : begin + block]
            self._waiting.append(part.copy())
            self._waiting_rows += part.shape[1]
            self.count += part.shape[1]
            if 8 * self.width * self._waiting_rows >= waiting or self._waiting_rows >= block:
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
