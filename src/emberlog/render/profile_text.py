"""Shows a profile as a person reads it in a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from emberlog.events import IterationFinished
from emberlog.logical.summary import counted
from emberlog.profile import RunProfile, StratumProfile

MOST_ITERATIONS = 12
"""Of a recursion with more, the first and the last are shown."""


def profile_text(profile: RunProfile) -> str:
    lines = [f"profile: {sum(profile.spent.values()) or profile.seconds:,.2f} s"]
    if profile.spent:
        lines += ["", timing_text(profile.spent)]
    for stratum in profile.strata:
        lines += ["", *_stratum(stratum)]
    return "\n".join(lines)


def timing_text(spent: Mapping[str, float]) -> str:
    """Shows where time went, part by part, and what it comes to."""
    rows = [(part, f"{seconds:,.3f}") for part, seconds in spent.items()]
    return "\n".join(_table(("time", "seconds"), [*rows, ("total", f"{sum(spent.values()):,.3f}")], texts=1))


def _stratum(stratum: StratumProfile) -> list[str]:
    rows = "" if stratum.rows is None else f"   {counted(stratum.rows, 'fact')}"
    lines = [f"{stratum.name}   {stratum.seconds:,.2f} s{rows}"]
    if stratum.how:
        lines.append(f"  {stratum.how}: {stratum.why}")
    if len(stratum.workers) > 1:
        efforts = [
            (f"{one.worker:,}", f"{one.busy:,.3f}", f"{one.waiting:,.3f}", f"{one.exchanges:,}")
            for one in stratum.workers
        ]
        lines += ["", *_table(("worker", "busy", "waiting", "exchanges"), efforts), f"  {stratum.imbalance}"]
    if stratum.rounds:
        rules = [
            (one.rule, one.relation, count_text(one.derived), f"{one.kept:,}", f"{one.seconds:,.3f}")
            for one in stratum.rules()
        ]
        lines += ["", *_table(("rule", "relation", "derived", "new", "seconds"), rules, texts=2)]
    if stratum.iterations:
        head = ("iteration", "delta", "facts", "seconds")
        lines += ["", *_table(head, [_iteration(one) for one in _shown(stratum.iterations)])]
    return lines


def count_text(count: int | None) -> str:
    """Writes a number of rows, or that nobody knows it."""
    return "–" if count is None else f"{count:,}"


def _iteration(one: IterationFinished | None) -> tuple[str, ...]:
    if one is None:
        return ("…", "", "", "")
    return (f"{one.iteration:,}", f"{one.delta_rows:,}", f"{one.total_rows:,}", f"{one.seconds:,.3f}")


def _shown(iterations: Sequence[IterationFinished]) -> list[IterationFinished | None]:
    if len(iterations) <= MOST_ITERATIONS:
        return list(iterations)
    half = MOST_ITERATIONS // 2
    return [*iterations[:half], None, *iterations[-half:]]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], texts: int = 0) -> list[str]:
    """Returns rows with columns of equal width; the first `texts` of them are texts, the others numbers."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return [
        "  "
        + "  ".join(
            cell.ljust(width) if index < texts else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (head, *rows)
    ]
