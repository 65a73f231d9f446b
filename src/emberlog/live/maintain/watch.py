"""Keeps transactions within the limits of their view."""

from __future__ import annotations

from collections.abc import Sequence

from emberlog.config import Limits
from emberlog.deadline import check_time
from emberlog.diagnostics import fail
from emberlog.live.searches.facts import Facts

_STEPS_BETWEEN_LOOKS = 256


class Watch:
    """Looks now and then whether a transaction keeps the limits of its view."""

    def __init__(self, facts: Sequence[Facts], limits: Limits) -> None:
        self._facts = facts
        self._limits = limits
        self._steps = 0

    def look(self) -> None:
        self._steps += 1
        if self._steps % _STEPS_BETWEEN_LOOKS == 0:
            check_time(f"bringing `{self._names}` up to date")
            self.check_rows()

    @property
    def _names(self) -> str:
        return ", ".join(one.name for one in self._facts)

    def check_rows(self) -> None:
        limit = self._limits.max_rows
        if limit is not None and sum(map(len, self._facts)) > limit:
            hint = "if the program comes to an end by itself, raise max_rows"
            raise fail("DL511", f"the limit of {limit:,} rows was passed in {self._names}", None, hint)

    def check_iterations(self, relation: str, iterations: int) -> None:
        """Refuses facts that are so many iterations above those of before the transaction."""
        limit = self._limits.max_iterations
        if limit is not None and iterations > limit:
            raise fail(
                "DL510",
                f"the limit of {limit:,} iterations was passed in {relation}",
                None,
                "if the program comes to an end by itself, raise max_iterations; "
                "if it makes new values for ever, bound them with a condition such as `D < 1000`",
            )
