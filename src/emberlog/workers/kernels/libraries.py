"""What libraries load when they are first used. Facts have a budget of their own, and this is no part of it."""

from __future__ import annotations

import pyarrow as pa

from emberlog.workers.kernels.hashing import mix


def load_libraries() -> None:
    """pandas comes with the first array of pyarrow, LLVM with the first kernel: 20 MiB each."""
    pa.array([], pa.large_string())
    mix(0)
