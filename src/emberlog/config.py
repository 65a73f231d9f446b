"""The options of a run."""

from __future__ import annotations

from dataclasses import dataclass, fields

from emberlog.diagnostics import Diagnostics


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may use before it is stopped with an error; None is no limit.

    The defaults let every recursion over finite data come to its end, and stop one that makes up
    new values for ever before it eats the machine.
    """

    max_iterations: int | None = 100_000
    """Rounds of one recursive stratum."""
    max_rows: int | None = 1_000_000_000
    """Derived facts, all strata together."""
    timeout: float | None = None
    """Seconds."""

    def __post_init__(self) -> None:
        diagnostics = Diagnostics()
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and value <= 0:
                diagnostics.error("DL509", f"the limit {field.name} must be larger than 0, not {value:,}", None)
        diagnostics.raise_errors()


DEFAULT_LIMITS = Limits()
