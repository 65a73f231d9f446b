"""What a worker frees stays with it, up to a limit, until memory is short."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(
    getattr(ctypes.CDLL(None), "mallopt", None) is None, reason="the C library cannot be told"
)

BATCHES = """
import resource, sys
import numpy as np
from emberlog.workers.kernels.memory import give_back, hold_freed, used_memory

MIB = 1 << 20

def batch():
    arrays = [np.ones(3 * MIB, np.int8) for _ in range(10)]

def page_faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

budget = int(sys.argv[1])
give_back()
hold_freed(budget * MIB)
empty = used_memory()
batch()
held = used_memory() - empty
before = page_faults()
for _ in range(10):
    batch()
pages = (page_faults() - before) * resource.getpagesize()
give_back()
print(held // MIB, pages // MIB, (used_memory() - empty) // MIB)
"""


def held_anew_and_left(budget: int) -> list[int]:
    """In MiB, of ten batches of 30 MiB: in a process of its own, which has nothing else to free."""
    command = [sys.executable, "-c", BATCHES, str(budget)]
    return [int(word) for word in subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()]


def test_a_batch_lives_where_the_last_one_did() -> None:
    held, anew, left = held_anew_and_left(4096)
    assert held >= 25
    assert anew < 10
    assert left < 5


def test_little_is_held_of_a_small_budget() -> None:
    held, _, left = held_anew_and_left(32)
    assert held < 5
    assert left < 5
