"""What was found when a pass was left out: of one program, the costs with it and without."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

MEASURED = "measured"
SAME_PLAN = "same plan"
"""The pass does nothing here, so there is nothing to measure."""
GIVEN_UP = "given up"
"""Without the pass there was no answer in time; `without` has the time after which it was stopped."""
WRONG = "WRONG"
"""The answers differ."""

ON_SPARK = "on Spark"
IN_PROCESS = "in this process"


@dataclass(frozen=True, slots=True)
class Costs:
    seconds: tuple[float, ...]
    """Of the timed runs; of the first one alone where that took long."""
    rows: int | None
    """That rules gave, repeats included, where they were counted."""
    bytes: int | None
    """Between workers or tasks."""
    rounds: int | None

    @property
    def median(self) -> float:
        return median(self.seconds)


@dataclass(frozen=True, slots=True)
class Ablation:
    part: str
    """The pass."""
    subject: str
    """A workload, or the title of the pass's own case."""
    where: str
    outcome: str
    whole: Costs | None = None
    without: Costs | None = None

    @property
    def gain(self) -> float | None:
        """How many times as long it takes without the pass; at least so many, where it was given up."""
        if self.whole is None or self.without is None or self.outcome == WRONG:
            return None
        return self.without.median / self.whole.median


def from_json(content: Mapping[str, Any]) -> Ablation:
    return Ablation(**{**content, "whole": _costs(content["whole"]), "without": _costs(content["without"])})


def _costs(content: Mapping[str, Any] | None) -> Costs | None:
    return None if content is None else Costs(**{**content, "seconds": tuple(content["seconds"])})
