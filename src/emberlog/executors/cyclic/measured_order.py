"""The order of a rule's lookups by what they gave so far: one that drops most rows should come before one that repeats
them. Statistics decide that before a recursion begins, where there are any; its iterations know it.

Only lookups that stand side by side and bind nothing that the other one reads change places, so each gives the same
rows for a valuation wherever it stands, and the rule the same valuations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from emberlog.executors.cyclic.rules import Probe, RuleChain, Step

CLEARLY = 2.0
"""How many times fewer rows the later of two lookups has to give for each that it gets."""

ENOUGH = 1_000
"""Rows that a lookup must have got before it is judged."""


@dataclass(slots=True)
class Passed:
    """Through a step, in all iterations so far."""

    rows_in: int = 0
    rows_out: int = 0

    @property
    def share(self) -> float | None:
        return self.rows_out / self.rows_in if self.rows_in >= ENOUGH else None


def in_measured_order(chain: RuleChain, passed: Mapping[Step, Passed], fixed: int | None) -> RuleChain:
    """The chain with neighbours swapped where that is clearly better; the same object where it is not. The step at the
    place `fixed` stays."""
    steps = list(chain.steps)
    changed = True
    while changed:
        changed = False
        for place in range(len(steps) - 1):
            one, other = steps[place], steps[place + 1]
            if fixed not in (place, place + 1) and _can_swap(one, other) and _is_better(other, one, passed):
                steps[place], steps[place + 1] = other, one
                changed = True
    return chain if tuple(steps) == chain.steps else replace(chain, steps=tuple(steps))


def _can_swap(one: Step, other: Step) -> bool:
    if not isinstance(one, Probe) or not isinstance(other, Probe):
        return False
    return not (_bound_by(one) & set(other.atom.variables) or _bound_by(other) & set(one.atom.variables))


def _bound_by(step: Probe) -> set[str]:
    return {name for column, name in enumerate(step.atom.variables) if column not in step.keys}


def _is_better(later: Step, earlier: Step, passed: Mapping[Step, Passed]) -> bool:
    own, other = passed.get(later, Passed()).share, passed.get(earlier, Passed()).share
    return own is not None and other is not None and own * CLEARLY < other
