"""Random numbers that are the same for ever, on every machine and with every version of numpy.

The i-th number of a sequence is a hash (splitmix64) of the seed and i, so nothing depends on the order or the size of
the blocks in which they are drawn.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.uint64]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


class Sequence:
    """An endless sequence of random numbers; each call takes the next ones."""

    def __init__(self, seed: int, purpose: str) -> None:
        digest = hashlib.sha256(f"{seed} {purpose}".encode()).digest()
        self._offset = int.from_bytes(digest[:8], "little")
        self._taken = 0

    def bits(self, count: int) -> Bits:
        """64 random bits, `count` times."""
        start = (self._offset + self._taken * int(_GOLDEN)) % 2**64
        self._taken += count
        mixed = np.arange(count, dtype=np.uint64) * _GOLDEN + np.uint64(start)
        mixed ^= mixed >> np.uint64(30)
        mixed *= _FIRST
        mixed ^= mixed >> np.uint64(27)
        mixed *= _SECOND
        mixed ^= mixed >> np.uint64(31)
        return mixed

    def below(self, bound: int | Ints, count: int) -> Ints:
        """Whole numbers from 0 to `bound` − 1; one bound for all, or one for each."""
        limit = np.asarray(bound).astype(np.uint64)
        return (((self.bits(count) >> np.uint64(32)) * limit) >> np.uint64(32)).astype(np.int64)

    def units(self, count: int) -> Floats:
        """Numbers from 0 up to, but not, 1."""
        return (self.bits(count) >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def chances(self, probability: float, count: int) -> NDArray[np.bool_]:
        """True with the given probability."""
        return self.units(count) < probability

    def order(self, count: int) -> Ints:
        """The numbers from 0 to `count` − 1, shuffled."""
        return np.argsort(self.bits(count), kind="stable").astype(np.int64)
