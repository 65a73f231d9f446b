"""Counts how often strata are compiled for workers."""

from __future__ import annotations

from collections import Counter

import pytest

from emberlog.logical.nodes import Fixpoint
from emberlog.workers.plan import capabilities
from emberlog.workers.plan.compile import CyclicProgram, compile_fixpoint

Compilations = Counter[tuple[str, ...]]
"""By the relations of a stratum."""


def counted_compilations(monkeypatch: pytest.MonkeyPatch) -> Compilations:
    """Returns what counts every compilation from now on."""
    counted: Compilations = Counter()

    def counting(fixpoint: Fixpoint, *arguments: object) -> CyclicProgram:
        counted[tuple(relation.name for relation in fixpoint.relations)] += 1
        return compile_fixpoint(fixpoint, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(capabilities, "compile_fixpoint", counting)
    return counted
