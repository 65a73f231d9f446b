"""What each pass gains, one row for each: time and other costs, with it and without, by workload."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.ablation.record import GIVEN_UP, ON_SPARK, SAME_PLAN, WRONG, Ablation, Costs
from benchmarks.report.document import Block, Cell, Section, Table, Text
from benchmarks.report.numbers import seconds
from benchmarks.results import Run

PAYS = 1.3
"""A pass stays if there is a program that takes so many times as long without it."""

Amount = Callable[[Costs], float | None]
Show = Callable[[float], str]

_OTHERS: tuple[tuple[str, Amount, Show], ...] = (
    ("Rows that rules gave, repeats included, where workers counted them", lambda one: one.rows, "{:,.0f}".format),
    ("MiB exchanged between workers or tasks", lambda one: one.bytes, lambda value: f"{value / 2**20:,.2f}"),
    ("Rounds of all recursions together", lambda one: one.rounds, "{:,.0f}".format),
)

_ABOUT = (
    "Each pass is left out of seven programs, on the executor that Emberlog chooses, and of programs that are made for "
    "it, in one process without Spark. Where two numbers stand, the first is with the pass. «same plan»: the pass does "
    "nothing there. A run without a pass that was given up took at least as long as it says. Where the first run took "
    "long, it is the only one; otherwise times are medians. All answers were compared. A pass stays if some program "
    f"takes {PAYS} times as long without it."
)


def section(run: Run) -> Section | None:
    if not run.ablations:
        return None
    parts = tuple(dict.fromkeys(one.part for one in run.ablations))
    workloads = tuple(dict.fromkeys(one.subject for one in run.ablations if one.where == ON_SPARK))
    blocks: list[Block] = [Text(_ABOUT), _gains(run, parts, workloads)]
    blocks += [_amounts(run, parts, workloads, *other) for other in _OTHERS] if workloads else []
    cases = tuple(one for one in run.ablations if one.where != ON_SPARK)
    if cases:
        blocks.append(_cases(cases))
    return Section("What each pass of the optimizer gains", tuple(blocks))


def _gains(run: Run, parts: tuple[str, ...], workloads: tuple[str, ...]) -> Table:
    rows = []
    for part in parts:
        own = [one for one in run.ablations if one.part == part]
        best = max((one.gain for one in own if one.gain is not None), default=None)
        cells = [_time(one) for one in _by_workload(own, workloads)]
        rows.append((Cell(part), _best(best), *cells))
    return Table(("pass", "most", *workloads), tuple(rows), "Seconds, and how many times as long it takes without.")


def _best(gain: float | None) -> Cell:
    if gain is None:
        return Cell("–", "bad")
    return Cell(_times(gain), "best" if gain >= PAYS else "bad")


def _times(gain: float) -> str:
    return f"{gain:,.0f} ×" if gain >= 10 else f"{gain:.2f} ×"


def _by_workload(own: list[Ablation], workloads: tuple[str, ...]) -> list[Ablation | None]:
    found = {one.subject: one for one in own}
    return [found.get(name) for name in workloads]


def _time(one: Ablation | None) -> Cell:
    if one is None:
        return Cell("")
    if one.whole is None or one.without is None:
        return Cell(one.outcome, "faint")
    if one.outcome == WRONG:
        return Cell(WRONG, "bad")
    assert one.gain is not None
    given_up = "over " if one.outcome == GIVEN_UP else ""
    times = f"{seconds(one.whole.median)} → {given_up}{seconds(one.without.median)}"
    return Cell(f"{times} ({given_up}{_times(one.gain)})", "best" if one.gain >= PAYS else "")


def _amounts(
    run: Run, parts: tuple[str, ...], workloads: tuple[str, ...], caption: str, amount: Amount, show: Show
) -> Table:
    rows = []
    for part in parts:
        own = [one for one in run.ablations if one.part == part]
        rows.append((Cell(part), *(_amount(one, amount, show) for one in _by_workload(own, workloads))))
    return Table(("pass", *workloads), tuple(rows), f"{caption}.")


def _amount(one: Ablation | None, amount: Amount, show: Show) -> Cell:
    if one is None:
        return Cell("")
    if one.whole is None or one.without is None:
        return Cell(SAME_PLAN, "faint")
    values = [amount(costs) for costs in (one.whole, one.without)]
    texts = ["–" if value is None else show(value) for value in values]
    return Cell(texts[0] if texts[0] == texts[1] else " → ".join(texts))


def _cases(cases: tuple[Ablation, ...]) -> Table:
    rows = []
    for one in cases:
        amounts = [_amount(one, amount, show) for _, amount, show in _OTHERS if amount is not _OTHERS[1][1]]
        rows.append((Cell(one.part), Cell(one.subject), _time(one), *amounts))
    header = ("pass", "its own case", "seconds", "rows that rules gave", "rounds")
    return Table(header, tuple(rows), "Programs that passes are made for, in one process.")
