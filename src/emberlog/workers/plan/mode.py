"""How the workers of a recursion go on: in step, each by itself, or without any exchange."""

from __future__ import annotations

from enum import Enum
from typing import assert_never

from emberlog.semantics.model import RecursionCase
from emberlog.workers.plan.compile import CyclicProgram


class Mode(Enum):
    DECOMPOSED = "decomposed"
    """Nothing is exchanged: what a worker derives is its own."""
    BSP = "bsp"
    """In rounds, with an exchange after each."""
    ASYNC = "async"
    """Each to its local fixpoint, and on as messages arrive."""


def needs_rounds(program: CyclicProgram) -> str | None:
    """Returns why a recursion cannot go on without rounds; None where it can, because its facts are only added or
    improved, so that the order in which they are met does not matter."""
    match program.recursion.case:
        case RecursionCase.SET | RecursionCase.MEET | RecursionCase.MONOTONE_SUM:
            return None
        case RecursionCase.STAGED:
            return "a stage must be complete before the next one reads it"
        case RecursionCase.BOUNDED:
            return "@iterations counts rounds, and each starts anew from the one before"
        case _:
            assert_never(program.recursion.case)
