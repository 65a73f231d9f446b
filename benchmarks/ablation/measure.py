"""Leaves passes out of a program one at a time: plans are compared first, and what differs is measured in turns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from benchmarks.ablation.record import GIVEN_UP, MEASURED, SAME_PLAN, WRONG, Ablation, Costs
from benchmarks.ablation.trial import AnswerType, Subject, Trial, first_run, timed_run
from emberlog.logical.nodes import LogicalPlan


@dataclass(frozen=True, slots=True)
class Patience:
    repeat: int
    timeout: float
    """Seconds after which a run is given up."""
    long: float = 15.0
    """A first run that takes more seconds is the only one: what it tells need not be told more exactly."""


def ablations(
    subject: Subject[AnswerType], parts: Iterable[str], patience: Patience, tell: Callable[[str], None]
) -> tuple[Ablation, ...]:
    """One for each part. All that change the plan are measured against the same runs of the whole."""
    chosen = tuple(parts)
    whole = _planned(subject, ())
    changing = tuple(part for part in chosen if not _is_same(_planned(subject, (part,)), whole))
    if not changing:
        return tuple(Ablation(part, subject.name, subject.where, SAME_PLAN) for part in chosen)
    variants = ((), *((part,) for part in changing))
    timed_run(subject, (), patience.timeout)  # warms up, so that a first run tells whether something takes long
    firsts = {off: first_run(subject, off, patience.timeout) for off in variants}
    costs = _timed(subject, firsts, patience)
    found = []
    for part in chosen:
        if part not in changing:
            found.append(Ablation(part, subject.name, subject.where, SAME_PLAN))
            continue
        outcome = _outcome(subject, firsts[()], firsts[part,])
        found.append(Ablation(part, subject.name, subject.where, outcome, costs[()], costs[part,]))
        tell(f"    without {part:30} {outcome:9} {costs[()].median:8.3f} s → {costs[part,].median:8.3f} s")
    return tuple(found)


def _planned(subject: Subject[AnswerType], off: tuple[str, ...]) -> LogicalPlan:
    return subject.database.check(subject.text, params=subject.parameters, off=off).optimized.plan


def _is_same(one: LogicalPlan, other: LogicalPlan) -> bool:
    """Statistics take no part in the comparison of plans, but executors go by them, so their absence is a change."""
    return one == other and bool(one.statistics) == bool(other.statistics)


def _timed(
    subject: Subject[AnswerType], firsts: dict[tuple[str, ...], Trial[AnswerType]], patience: Patience
) -> dict[tuple[str, ...], Costs]:
    seconds: dict[tuple[str, ...], list[float]] = {off: [] for off in firsts}
    bytes_sent = {off: first.costs.bytes for off, first in firsts.items()}
    repeated = [
        off for off, first in firsts.items() if not off or (first.answer is not None and not _is_long(first, patience))
    ]
    for number in range(patience.repeat):
        # Every round starts with another one, so that none always runs in the wake of the same.
        shift = number % max(1, len(repeated))
        for off in repeated[shift:] + repeated[:shift]:
            costs = timed_run(subject, off, patience.timeout)
            seconds[off].append(costs.median)
            bytes_sent[off] = costs.bytes
    return {
        off: replace(first.costs, seconds=tuple(seconds[off]) or first.costs.seconds, bytes=bytes_sent[off])
        for off, first in firsts.items()
    }


def _is_long(first: Trial[AnswerType], patience: Patience) -> bool:
    return first.costs.median > patience.long


def _outcome(subject: Subject[AnswerType], whole: Trial[AnswerType], without: Trial[AnswerType]) -> str:
    if whole.answer is None or without.answer is None:
        return GIVEN_UP
    return MEASURED if subject.agree(whole.answer, without.answer) else WRONG
