"""Compiles kernels: once, kept on disk where there is a place, free of the interpreter lock while they run.

numba's own types say nothing about arguments, so the decorator claims to change nothing: to the type checker a kernel
is the plain function that one reads.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

from emberlog.diagnostics import EmberlogError
from emberlog.places import kept_folder
from emberlog.timing import compiling
from emberlog.workers.kernels.memory import loading_code

Kernel = TypeVar("Kernel", bound=Callable[..., object])


_kernels: list[Any] = []

_BESIDE = Path(__file__).parent / "__pycache__"


def jit(function: Kernel) -> Kernel:
    """Compiles a kernel when it is first called with arguments of some types, or loads what an earlier run compiled."""
    folder = code_folder()
    before = numba.config.CACHE_DIR
    # For this kernel alone: the setting is everybody's. Without one, numba takes the folder beside the source.
    numba.config.CACHE_DIR = "" if folder in (None, _BESIDE) else str(folder)
    try:
        compiled = numba.njit(cache=folder is not None, nogil=True, boundscheck=False)(function)
    finally:
        numba.config.CACHE_DIR = before
    with contextlib.suppress(AttributeError):  # a version of numba that keeps its files differently
        compiled._cache.save_overload = _if_there_is_room(compiled._cache.save_overload)
    compiled.compile = _timed(compiled.compile)
    _kernels.append(compiled)
    return cast(Kernel, compiled)


@cache
def code_folder() -> Path | None:
    """Returns where machine code is kept: as NUMBA_CACHE_DIR says, else beside the source, else where Emberlog keeps
    things. None if nothing can be written. numba's own second choice depends on a home, and is a folder called `~`
    where there is none."""
    if numba.config.CACHE_DIR:
        return Path(numba.config.CACHE_DIR)
    if os.access(_BESIDE if _BESIDE.exists() else _BESIDE.parent, os.W_OK | os.X_OK):
        return _BESIDE
    try:
        return kept_folder() / "kernels"
    except EmberlogError:
        return None


def _timed(compile_or_load: Callable[..., object]) -> Callable[..., object]:
    def timed(signature: Any) -> object:
        with compiling(), loading_code():
            return compile_or_load(signature)

    return timed


def _if_there_is_room(save: Callable[..., None]) -> Callable[..., None]:
    def saved(*arguments: Any) -> None:
        with contextlib.suppress(OSError):  # a full disk: then the next process compiles again
            save(*arguments)

    return saved


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
