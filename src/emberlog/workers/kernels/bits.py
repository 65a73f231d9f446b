"""Counts, turns and lists sets of numbers that are rows of 64-bit words."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from emberlog.workers.kernels.jit import jit
from emberlog.workers.kernels.lanes import Lane

Words: TypeAlias = npt.NDArray[np.uint64]
"""Bit b of word w says whether the number 64 w + b is in the set. Several rows of them are several sets."""

ALL_SET = np.uint64(0xFFFFFFFFFFFFFFFF)
ONE = np.uint64(1)


def words_for(numbers: int) -> int:
    """Returns how many words a set of numbers below this needs."""
    return (numbers + 63) // 64


@jit
def bit_count(word: np.uint64) -> int:
    """Counts the bits of a word. LLVM knows this sum and makes it one instruction."""
    word = word - ((word >> ONE) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@jit
def lowest_bit(word: np.uint64) -> int:
    """Returns the place of the lowest bit of a word that has one."""
    return bit_count((word & (~word + ONE)) - ONE)


@jit
def count_bits(rows: Words) -> int:
    result = 0
    for row in range(rows.shape[0]):
        for word in range(rows.shape[1]):
            result += bit_count(rows[row, word])
    return result


@jit
def turn(block: Words) -> None:
    """Transposes 64 words as a matrix of 64 x 64 bits, in place."""
    width = np.uint64(32)
    mask = np.uint64(0x00000000FFFFFFFF)
    while width > np.uint64(0):
        position = np.uint64(0)
        while position < np.uint64(64):
            other = position + width
            swapped = ((block[position] >> width) ^ block[other]) & mask
            block[other] ^= swapped
            block[position] ^= swapped << width
            position = (other + ONE) & ~width
        width >>= ONE
        mask ^= mask << width


@jit
def list_rows(
    rows: Words,
    first: int,
    end: int,
    limit: int,
    pivots: Lane,
    values: Lane,
    pivot_lane: Lane,
    value_lane: Lane,
) -> tuple[int, int]:
    """Lists the sets `[first, end)` as facts, set by set, until about `limit` are found.

    Returns the next set and the number of facts; the lanes need room for one set more than `limit`.
    """
    row = first
    found = 0
    while row < end and found < limit:
        before = found
        for place in range(rows.shape[1]):
            word = rows[row, place]
            base = 64 * place
            if word == ALL_SET:
                for bit in range(64):
                    value_lane[found + bit] = values[base + bit]
                found += 64
                continue
            while word != np.uint64(0):
                value_lane[found] = values[base + lowest_bit(word)]
                found += 1
                word &= word - ONE
        for place in range(before, found):
            pivot_lane[place] = pivots[row]
        row += 1
    return row, found
