"""What each pass of the optimizer gains: the same engine with and without it, on the same workload."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.engines.catalogue import WITHOUT
from benchmarks.report.document import Cell, Section, Table, Text
from benchmarks.report.numbers import seconds
from benchmarks.results import Measurement, Run

_COSTS: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("facts in recursions", "facts_in_recursions", lambda value: f"{value:,.0f}"),
    ("MiB exchanged", "bytes_exchanged", lambda value: f"{value / 2**20:,.2f}"),
    ("iterations", "iterations", lambda value: f"{value:,.0f}"),
)


def section(run: Run) -> Section | None:
    rows = []
    for one in run.measurements:
        whole, without, part = one.engine.partition(WITHOUT)
        other = run.measurement(one.workload, whole)
        if not without or other is None or not other.is_usable or not other.median:
            continue
        if one.is_usable and one.median:
            time = (seconds(one.median), f"{one.median / other.median:.2f} ×")
        else:
            time = (one.status, "")
        costs = (_with_and_without(other, one, metric, show) for _, metric, show in _COSTS)
        texts = (part, one.workload, seconds(other.median), *time, *costs)
        rows.append(tuple(Cell(text) for text in texts))
    if not rows:
        return None
    text = (
        "One pass of the optimizer left out at a time. Facts in recursions are those that were new, or whose value "
        "improved, over all rounds. Where two numbers stand, the first is with the pass."
    )
    header = ("without", "workload", "s with it", "s without", "slower by", *(title for title, _, _ in _COSTS))
    ordered = tuple(sorted(rows, key=lambda row: (row[0].text, row[1].text)))
    return Section("Ablations", (Text(text), Table(header, ordered)))


def _with_and_without(whole: Measurement, ablated: Measurement, metric: str, show: Callable[[float], str]) -> str:
    texts = [show(one.metrics[metric]) if metric in one.metrics else "–" for one in (whole, ablated)]
    return texts[0] if texts[0] == texts[1] else " → ".join(texts)
