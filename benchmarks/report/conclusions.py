"""How Emberlog compares with each peer: what the numbers support, and no more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import exp, log

from benchmarks.report import choices
from benchmarks.report.document import Block, Cell, Section, Table, Text
from benchmarks.results import ANEW, EngineRecord, Run

LOCAL = "emberlog-local"

HEADER = ("peer", "workloads", "Emberlog faster", "geometric mean", "least", "most")


def section(run: Run, engines: Sequence[EngineRecord]) -> Section | None:
    """Emberlog is what people get who choose nothing, and what they get without Spark, where these were measured; not
    the best of all that could be chosen."""
    own = [engine.name for engine in engines if engine.name.startswith("emberlog")]
    peers = [engine for engine in engines if engine.name not in own]
    blocks: list[Block] = [
        Text(
            "For each peer, the workloads that both it and Emberlog finished with the right answer. A number above 1 "
            "says how many times faster Emberlog was there; below 1, the peer was faster."
        )
    ]
    if not {choices.WHOLE, LOCAL}.intersection(own):
        blocks += _compared(run, peers, own, "")
    if choices.WHOLE in own:
        blocks += _compared(run, peers, [choices.WHOLE], "Emberlog on Spark, as it is without any choice.")
    if LOCAL in own:
        told = 'Emberlog without Spark, `Database(engine="local")`, in one process.'
        blocks += _compared(run, peers, [LOCAL], told)
    for name in (choices.WHOLE, LOCAL):
        if f"{name}{ANEW}" in own:
            told = f"`{name}`, without anything that a database keeps from earlier runs."
            blocks += _compared(run, peers, [f"{name}{ANEW}"], told)
    return Section("In short", tuple(blocks)) if len(blocks) > 1 else None


def _compared(run: Run, peers: Sequence[EngineRecord], own: Sequence[str], told: str) -> Iterator[Block]:
    lines = [(peer.title, ratios) for peer in peers if (ratios := list(_ratios(run, peer.name, own)))]
    if lines:
        yield Table(HEADER, tuple(_line(title, ratios) for title, ratios in lines), told)


def _ratios(run: Run, peer: str, own: Sequence[str]) -> Iterator[float]:
    """How many times as long the peer takes as the fastest of these engines, where both finished."""
    for workload in run.workloads:
        other = run.measurement(workload.name, peer)
        candidates = (run.measurement(workload.name, name) for name in own)
        mine = [one.median for one in candidates if one is not None and one.is_usable and one.median]
        if other is not None and other.is_usable and other.median and mine:
            yield other.median / min(mine)


def _line(title: str, ratios: Sequence[float]) -> tuple[Cell, ...]:
    mean = exp(sum(map(log, ratios)) / len(ratios))
    counts = (str(len(ratios)), str(sum(ratio > 1 for ratio in ratios)))
    return tuple(map(Cell, (title, *counts, *map(_times_faster, (mean, min(ratios), max(ratios))))))


def _times_faster(ratio: float) -> str:
    if ratio < 0.1:
        return f"{ratio:.2g} ×"
    return f"{ratio:.2f} ×" if ratio < 1 else f"{ratio:.1f} ×" if ratio < 10 else f"{ratio:,.0f} ×"
