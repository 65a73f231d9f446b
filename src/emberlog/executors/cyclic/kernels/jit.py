"""The one way a kernel is compiled: once, kept on disk, free of the interpreter lock while it runs.

numba's own types say nothing about arguments, so the decorator claims to change nothing: to the type checker a kernel
is the plain function that one reads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba

Kernel = TypeVar("Kernel", bound=Callable[..., object])


def jit(function: Kernel) -> Kernel:
    """Compiles a kernel when it is first called with arguments of some types, or loads what an earlier run compiled."""
    return cast(Kernel, numba.njit(cache=True, nogil=True, boundscheck=False)(function))
