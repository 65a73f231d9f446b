"""Libraries that load more of themselves on first use do so before facts are counted."""

from __future__ import annotations

import subprocess
import sys

LOADS_NOTHING_MORE = """
import sys
import numpy as np
import emberlog.engines.spark.task
from emberlog.workers.kernels.hashing import owners
from emberlog.workers.kernels.machine_memory import load_libraries
from emberlog.workers.store.texts import TextTable

load_libraries()
known = set(sys.modules)
TextTable().code("a")
owners(np.arange(4), 2)
print(sorted(set(sys.modules) - known))
"""


def test_libraries_are_loaded_before_facts_are_counted() -> None:
    """In a process of its own: this one has used them."""
    found = subprocess.run([sys.executable, "-c", LOADS_NOTHING_MORE], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
