"""Measures what each worker sends, holds and waits for, by their number, and writes a table of it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.meeting import MeetingCost, RoundCost, measured_meeting, measured_rounds
from benchmarks.scale.cases import CASES
from benchmarks.scale.team import HOST, Measured, measure
from emberlog.workers.wire.rendezvous import Met

_TITLES = (
    "case",
    "workers",
    "rounds",
    "KB sent per worker",
    "most",
    "to other hosts",
    "frames",
    "facts",
    "skew",
    "rows held",
    "skew",
)

MOST_MEETING = 256
"""Workers that really meet: each needs a thread and several connections here."""


@dataclass(frozen=True, slots=True)
class Row:
    case: str
    workers: int
    rounds: int
    bytes_per_worker: float
    most_bytes: int
    bytes_abroad: float
    """Of each worker, to other hosts."""
    frames: float
    """Of each worker, those without rows included."""
    facts: int
    skew_of_facts: float
    """The most that a worker has, by the mean."""
    held: int
    """Rows of relations that do not change, on all workers together."""
    skew_of_held: float
    seconds: float

    @staticmethod
    def of(case: str, found: Measured, seconds: float) -> Row:
        return Row(
            case,
            found.workers,
            found.iterations,
            _mean(found.bytes_sent),
            max(found.bytes_sent),
            _mean(found.bytes_abroad),
            _mean(found.messages),
            sum(found.facts),
            _skew(found.facts),
            sum(found.held),
            _skew(found.held),
            seconds,
        )


def run(cases: Sequence[str], workers: Sequence[int], output: Path) -> Iterator[str]:
    """Yields the lines of the report as they are known, and writes all that was measured to `scale.json`."""
    output.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    yield f"| {' | '.join(_TITLES)} |"
    yield "| --- |" + " ---: |" * (len(_TITLES) - 1)
    for case in cases:
        for number in workers:
            began = time.monotonic()
            found = measure(CASES[case].text, CASES[case].tables(), number, CASES[case].execution)
            row = Row.of(case, found, time.monotonic() - began)
            rows.append(row)
            yield (
                f"| {case} | {number:,} | {row.rounds} | {row.bytes_per_worker / 1e3:,.1f} |"
                f" {row.most_bytes / 1e3:,.1f} | {row.bytes_abroad / 1e3:,.1f} | {row.frames:,.0f} |"
                f" {row.facts:,} | {row.skew_of_facts:.2f} | {row.held:,} | {row.skew_of_held:.2f} |"
            )
            _write(output, rows, [])
    yield ""
    yield "| workers | hosts | connections | meeting, ms of a worker | empty round, ms of a worker | frames |"
    yield "|" + " ---: |" * 6
    meetings: list[tuple[MeetingCost, RoundCost]] = []
    for number in workers:
        if number > MOST_MEETING:
            continue
        cost, rounds = _met(number)
        meetings.append((cost, rounds))
        yield (
            f"| {number:,} | {cost.hosts:,} | {cost.connections:,} | {1e3 * cost.mean_cpu_seconds:.1f} |"
            f" {1e3 * rounds.cpu_seconds:.2f} | {rounds.frames:.0f} |"
        )
        _write(output, rows, meetings)


def _met(workers: int) -> tuple[MeetingCost, RoundCost]:
    found: list[RoundCost] = []

    def use(teams: list[Met]) -> None:
        found.append(measured_rounds(teams, 5))

    return measured_meeting(workers, -(-workers // HOST), use), found[0]


def _write(output: Path, rows: Sequence[Row], meetings: Sequence[tuple[MeetingCost, RoundCost]]) -> None:
    known = {
        "rows": [asdict(row) for row in rows],
        "meetings": [{"meeting": asdict(one), "empty round": asdict(other)} for one, other in meetings],
    }
    (output / "scale.json").write_text(json.dumps(known, indent=1))


def _mean(numbers: Sequence[int]) -> float:
    return sum(numbers) / len(numbers)


def _skew(numbers: Sequence[int]) -> float:
    return max(numbers) / max(_mean(numbers), 1e-9)
