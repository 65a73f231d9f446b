"""What was measured, as tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.recovery.killed import CHECKPOINT_SECONDS, KilledRun
from benchmarks.recovery.modes import VERTICES
from benchmarks.recovery.run import RecoveryResults
from benchmarks.report import markdown
from benchmarks.report.document import Cell, Document, Section, Table, Text


def write_recovery_report(results: RecoveryResults, folder: Path) -> Path:
    path = folder / "recovery.md"
    path.write_text(markdown.render(document(results)), encoding="utf-8")
    return path


def document(results: RecoveryResults) -> Document:
    return Document("Faults, checkpoints and rounds on Spark", tuple(_sections(results)))


def _sections(results: RecoveryResults) -> Iterator[Section]:
    machine = results.machine
    yield Section(
        "How it was measured",
        (
            Text(
                "One session of Spark with two workers, by the clock, from the call to facts that are there to be "
                "read. Runs that are compared take turns; times are medians."
            ),
            Text(
                f"{machine.processor}, {machine.cores} cores, {machine.memory_gib} GiB; Python {machine.python}; "
                f"commit {machine.commit}."
            ),
        ),
    )
    if results.killed:
        yield _killed(results)
    if results.modes:
        yield _modes(results)
    if results.costs:
        yield _costs(results)


def _killed(results: RecoveryResults) -> Section:
    about = (
        "The closure `tc`, with facts in hash tables. A worker is killed (SIGKILL) at nine tenths of the time of a run "
        "that was left alone just before; the rest is from the kill to the answer, with all that Spark takes to notice "
        f"and to start workers again. A checkpoint is due every {CHECKPOINT_SECONDS:g} seconds."
    )
    header = ("graph", "mode", "facts", "left alone, s", "after the kill, s", "share", "went on from iteration")
    rows = tuple(_killed_row(one) for one in results.killed)
    return Section("Killed at nine tenths", (Text(about), Table(header, rows)))


def _killed_row(one: KilledRun) -> tuple[Cell, ...]:
    begin = (Cell(one.case), Cell(one.mode), Cell(f"{one.facts:,}"))
    if not one.rest:
        return (*begin, Cell("over before it was killed"), Cell(""), Cell(""), Cell(""))
    since = " ".join(f"{iteration:,}" for iteration in one.since)
    return (
        *begin,
        Cell(f"{median(one.fresh):.2f}"),
        Cell(f"{median(one.rest):.2f}"),
        Cell(f"{one.share:.0%}", "" if one.share < 0.4 else "bad"),
        Cell(f"{since} of {one.iterations:,}"),
    )


def _modes(results: RecoveryResults) -> Section:
    about = (
        f"Connected components (`hcc`) of a path of {VERTICES:,} vertices, each arc both ways. What is not in the "
        "recursion is what Spark takes to start a job and to read its results, the same in both modes."
    )
    rows = tuple(
        (
            Cell(one.mode),
            Cell(f"{one.middle[1]:.3f}"),
            Cell(f"{one.middle[0]:.3f}"),
            Cell(f"{one.exchanges:,}"),
            Cell(f"{len(one.whole):,}"),
        )
        for one in results.modes
    )
    header = ("mode", "in the recursion, s", "whole run, s", "exchanges", "runs")
    return Section("With and without rounds", (Text(about), Table(header, rows)))


def _costs(results: RecoveryResults) -> Section:
    about = (
        "With the default, the first checkpoint is due after ten seconds, so that runs as short as these write none. "
        "What lists its sources one by one, as `tc/grid150` does, has its results on disk already: a checkpoint "
        "closes a file."
    )
    rows = tuple(
        (
            Cell(one.program),
            Cell(one.setting),
            Cell(f"{median(one.seconds):.2f}"),
            Cell(f"{one.ratio - 1:+.1%}", "" if one.ratio < 1.1 else "bad"),
            Cell(f"{len(one.seconds):,}"),
        )
        for one in results.costs
    )
    return Section("Checkpoints", (Text(about), Table(("run", "checkpoints", "s", "cost", "runs"), rows)))
