"""Compiles kernels: once, kept on disk, free of the interpreter lock while they run.

numba's own types say nothing about arguments, so the decorator claims to change nothing: to the type checker a kernel
is the plain function that one reads.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Kernel = TypeVar("Kernel", bound=Callable[..., object])


_kernels: list[Any] = []


def jit(function: Kernel) -> Kernel:
    """Compiles a kernel when it is first called with arguments of some types, or loads what an earlier run compiled."""
    compiled = numba.njit(cache=True, nogil=True, boundscheck=False)(function)
    _kernels.append(compiled)
    return cast(Kernel, compiled)


def load_compiled() -> int:
    """Loads what earlier runs compiled, of every kernel that is imported; returns the number of variants.

    numba has no public way to ask for it. Should a version of it keep its files differently, nothing is loaded here,
    and each kernel when it is first called.
    """
    count = 0
    with contextlib.suppress(AttributeError, LookupError, OSError):
        for kernel in _kernels:
            for signature, *_ in kernel._cache._cache_file._load_index():
                kernel.compile(signature)
                count += 1
    return count
