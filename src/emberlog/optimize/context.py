"""What a pass may know besides the plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from emberlog.logical.nodes import LogicalPlan


@dataclass(frozen=True, slots=True)
class PassContext:
    off: frozenset[str] = frozenset()
    """The passes that the caller switched off."""


PassFunction: TypeAlias = Callable[[LogicalPlan, PassContext], LogicalPlan]
"""Gives back the very same plan when it has nothing to change."""
