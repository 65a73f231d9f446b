"""Hashes of texts, from the buffers that Arrow keeps them in."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from emberlog.workers.kernels.hashing import mix
from emberlog.workers.kernels.jit import jit

_PRIME = np.uint64(0x100000001B3)
_BASIS = np.uint64(0xCBF29CE484222325)


@jit
def hash_texts(offsets: npt.NDArray[np.int64], data: npt.NDArray[np.uint8], seed: int) -> npt.NDArray[np.int64]:
    """A 64-bit hash of each text; text `i` is `data[offsets[i]:offsets[i + 1]]`."""
    count = offsets.shape[0] - 1
    result = np.empty(count, np.int64)
    for text in range(count):
        code = _BASIS ^ mix(seed)
        for place in range(offsets[text], offsets[text + 1]):
            code = (code ^ np.uint64(data[place])) * _PRIME
            code ^= code >> np.uint64(29)
        result[text] = np.int64(mix(np.int64(code)))
    return result
