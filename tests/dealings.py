"""Counts what is done with files of a folder, so that a test can strike at any of these moments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from emberlog.workers.store.folders import LocalFolder

METHODS = ("make", "open_out", "open_in", "write", "files", "delete_files")


class Dealings:
    """Counts what this process does with local folders, before and after it is done; at one of these moments something
    else happens first."""

    def __init__(self, at: int | None = None, instead: Callable[[], None] = lambda: None) -> None:
        self.count = 0
        self.at = at
        self.instead = instead

    def begin(self, patch: pytest.MonkeyPatch) -> None:
        for name in METHODS:
            patch.setattr(LocalFolder, name, self._counted(getattr(LocalFolder, name)))

    def _counted(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any) -> Any:
            self._count()
            found = method(*arguments)
            if found is None:  # an opened file would be left open
                self._count()
            return found

        return counted

    def _count(self) -> None:
        self.count += 1
        if self.count == self.at:
            self.instead()
