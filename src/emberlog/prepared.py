"""Keeps programs that were checked and planned, for when they are run again over data that looks the same."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock

from emberlog.language.registry import Functions
from emberlog.logical.statistics import Statistics
from emberlog.optimize.pipeline import Optimized
from emberlog.semantics.model import CheckedProgram, Column
from emberlog.syntax import ast

MOST_KEPT = 64
"""Programs of a database that are kept; those that were run last."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Says what somebody wants to run. Constants are as they are spelled: 1 is not 1.0."""

    text: str
    params: tuple[tuple[str, str], ...]
    iterations: int | None
    off: frozenset[str]
    provenance: bool

    @staticmethod
    def of(
        text: str, params: Mapping[str, ast.Constant], iterations: int | None, off: frozenset[str], provenance: bool
    ) -> Asked:
        return Asked(
            text, tuple(sorted((name, repr(one)) for name, one in params.items())), iterations, off, provenance
        )


@dataclass(frozen=True, slots=True)
class Prepared:
    """Holds a plan, and what it was made from beside the program."""

    tree: ast.Program
    columns: Mapping[str, Sequence[Column]]
    functions: Functions
    statistics: Statistics
    checked: CheckedProgram
    optimized: Optimized

    def was_checked_for(self, columns: Mapping[str, Sequence[Column]], functions: Functions) -> bool:
        return self.functions is functions and self.columns == columns


class PreparedPrograms:
    def __init__(self) -> None:
        self._kept: OrderedDict[Asked, Prepared] = OrderedDict()
        self._lock = Lock()

    def get(self, asked: Asked) -> Prepared | None:
        with self._lock:
            found = self._kept.get(asked)
            if found is not None:
                self._kept.move_to_end(asked)
            return found

    def keep(self, asked: Asked, prepared: Prepared) -> None:
        with self._lock:
            self._kept[asked] = prepared
            if len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
