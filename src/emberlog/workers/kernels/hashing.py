"""Hashes rows and texts: the same on every worker, in every run."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from emberlog.workers.kernels.jit import jit
from emberlog.workers.kernels.lanes import Lane, Lanes

_FIRST = np.uint64(0x9E3779B97F4A7C15)
_SECOND = np.uint64(0xBF58476D1CE4E5B9)
_THIRD = np.uint64(0x94D049BB133111EB)


@jit
def mix(value: int | np.int64) -> np.uint64:
    """Mixes the bits of a value: a good 64-bit finalizer (splitmix64)."""
    z = np.uint64(value) + _FIRST
    z = (z ^ (z >> np.uint64(30))) * _SECOND
    z = (z ^ (z >> np.uint64(27))) * _THIRD
    return z ^ (z >> np.uint64(31))


@jit
def hash_row(lanes: Lanes, count: int, row: int) -> np.uint64:
    """Hashes the first `count` lanes of a row."""
    result = np.uint64(0)
    for lane in range(count):
        result = mix(np.int64(result) ^ lanes[lane, row])
    return result


@jit
def owners(lane: Lane, workers: int) -> npt.NDArray[np.int32]:
    """Returns the worker that each value of a lane belongs to. Not the bits that tables use: those stay evenly
    filled."""
    result = np.empty(lane.shape[0], np.int32)
    for row in range(lane.shape[0]):
        result[row] = np.int32((mix(lane[row]) >> np.uint64(32)) % np.uint64(workers))
    return result


@jit
def row_owners(lanes: Lanes, workers: int) -> npt.NDArray[np.int32]:
    """Returns the worker that each whole row belongs to, where the rows of one value are on many."""
    result = np.empty(lanes.shape[1], np.int32)
    for row in range(lanes.shape[1]):
        result[row] = np.int32((hash_row(lanes, lanes.shape[0], row) >> np.uint64(32)) % np.uint64(workers))
    return result


@jit
def sections_of(lanes: Lanes, keys: int, sections: int) -> npt.NDArray[np.int32]:
    """Returns the section of each row by its first `keys` lanes. Neither the bits that tables use nor those of
    owners."""
    result = np.empty(lanes.shape[1], np.int32)
    for row in range(lanes.shape[1]):
        result[row] = np.int32((hash_row(lanes, keys, row) >> np.uint64(40)) % np.uint64(sections))
    return result


@jit
def rows_of_owner(lanes: Lanes, owner: npt.NDArray[np.int32], worker: int) -> Lanes:
    """Returns the rows of a batch that belong to one worker."""
    count = 0
    for row in range(owner.shape[0]):
        count += owner[row] == worker
    result = np.empty((lanes.shape[0], count), np.int64)
    for lane in range(lanes.shape[0]):
        place = 0
        for row in range(owner.shape[0]):
            if owner[row] == worker:
                result[lane, place] = lanes[lane, row]
                place += 1
    return result


@jit
def grouped_by_owner(
    lanes: Lanes, owner: npt.NDArray[np.int32], workers: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Returns the rows of a batch worker by worker, in one pass for any number of workers: the lanes of each behind one
    another, and where each worker's rows begin."""
    width = lanes.shape[0]
    begins = np.zeros(workers + 1, np.int64)
    for row in range(owner.shape[0]):
        begins[owner[row] + 1] += 1
    for worker in range(workers):
        begins[worker + 1] += begins[worker]
    places = begins[:-1].copy()
    result = np.empty(width * owner.shape[0], np.int64)
    for row in range(owner.shape[0]):
        one = owner[row]
        count = begins[one + 1] - begins[one]
        place = width * begins[one] + places[one] - begins[one]
        places[one] += 1
        for lane in range(width):
            result[place + lane * count] = lanes[lane, row]
    return result, begins


def parts_by_owner(lanes: Lanes, owner: npt.NDArray[np.int32], workers: int) -> Iterator[tuple[int, Lanes]]:
    """Yields the rows of each worker that has some."""
    rows, begins = grouped_by_owner(lanes, owner, workers)
    width = lanes.shape[0]
    for worker in np.flatnonzero(np.diff(begins)).tolist():
        begin, end = begins[worker], begins[worker + 1]
        yield worker, rows[width * begin : width * end].reshape(width, end - begin)


_PRIME = np.uint64(0x100000001B3)
_BASIS = np.uint64(0xCBF29CE484222325)


@jit
def hash_texts(offsets: npt.NDArray[np.int64], data: npt.NDArray[np.uint8], seed: int) -> npt.NDArray[np.int64]:
    """Returns a 64-bit hash of each text, from the buffers that Arrow keeps them in; text `i` is
    `data[offsets[i]:offsets[i + 1]]`."""
    count = offsets.shape[0] - 1
    result = np.empty(count, np.int64)
    for text in range(count):
        code = _BASIS ^ mix(seed)
        for place in range(offsets[text], offsets[text + 1]):
            code = (code ^ np.uint64(data[place])) * _PRIME
            code ^= code >> np.uint64(29)
        result[text] = np.int64(mix(np.int64(code)))
    return result
