"""Runs the analyses on either engine, from registered tables to all answers; beside them compiled Soufflé, if there is
one."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from benchmarks.souffle.facts import ANALYSES, Facts, program
from emberlog.database import Database
from emberlog.dialects import SOUFFLE, parse_tolerantly
from emberlog.io.arrow_values import arrow_type
from emberlog.semantics.analysis import analyze
from emberlog.semantics.model import CheckedProgram
from emberlog.source import Source


def checked_analysis(name: str) -> CheckedProgram:
    path = program(name)
    return analyze(parse_tolerantly(Source(path.name, path.read_text(encoding="utf-8")), SOUFFLE))


def tables(checked: CheckedProgram, facts: Facts) -> dict[str, pa.Table]:
    """Returns the facts of all inputs of an analysis; those that it has no facts for are empty."""
    found = {}
    for name in checked.inputs:
        relation = checked.relations[name]
        rows = facts.get(relation.data_name, [])
        found[relation.data_name] = pa.table(
            [
                pa.array([row[place] for row in rows], arrow_type(one.type))
                for place, one in enumerate(relation.columns)
            ],
            names=[one.name for one in relation.columns],
        )
    return found


def run(only: Sequence[str], rows: int, engine: str) -> Iterator[str]:
    """Yields a line of a table for each analysis, and the counts that its summary has."""
    yield "| analysis | rules | rows | engine | seconds | memory at most | answers |"
    yield "| --- | ---: | ---: | --- | ---: | ---: | ---: |"
    compiler = shutil.which("souffle")
    for name in only or list(ANALYSES):
        checked = checked_analysis(name)
        facts = ANALYSES[name](rows, 0)
        given = tables(checked, facts)
        read = sum(len(table) for table in given.values())
        opened: Database[Any] = Database(engine="local") if engine == "local" else Database()
        with opened as database:
            for relation, table in given.items():
                database[relation] = table
            since = time.perf_counter()
            result = database.datalog(program(name), dialect=SOUFFLE)
            answers = {output: result[output].count() for output in checked.outputs}
            seconds = time.perf_counter() - since
            summary = sorted(map(tuple, result["summary"].collect()))
            memory = peak_memory()
        row = f"{name} | {len(checked.rules):,} | {read:,}"
        yield f"| {row} | {engine} | {seconds:.1f} | {memory / 2**30:.1f} GiB | {sum(answers.values()):,} |"
        if compiler is not None:
            yield f"| {row} | compiled Soufflé | {_by_souffle(compiler, name, given):.1f} | | |"
        yield from (f"    {text}: {count:,}" for text, count in summary)
    if compiler is None:
        yield "Soufflé is not on the path."


def peak_memory() -> int:
    """Returns the most bytes that this process and those it started, Java among them, have had in memory, each at its
    own time; so an analysis has a process of its own if that is asked for."""
    parents: dict[int, int] = {}
    peaks: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":", 1) for line in path.read_text(encoding="utf-8").splitlines() if ":" in line)
        except (OSError, UnicodeDecodeError):
            continue  # it has ended
        parents[int(path.parent.name)] = int(fields["PPid"])
        peaks[int(path.parent.name)] = int(fields.get("VmHWM", "0 kB").split()[0]) * 1024
    ours = {os.getpid()}
    while found := {one for one, parent in parents.items() if parent in ours} - ours:
        ours |= found
    return sum(peaks.get(one, 0) for one in ours)


def _by_souffle(compiler: str, name: str, given: dict[str, pa.Table]) -> float:
    """Returns the seconds that the compiled program takes with two threads, reading and writing its files included."""
    with TemporaryDirectory() as folder:
        place = Path(folder)
        for relation, table in given.items():
            lines = ["\t".join(map(str, row.values())) for row in table.to_pylist()]
            (place / f"{relation}.facts").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        subprocess.run([compiler, "-o", str(place / "analysis"), str(program(name))], check=True)
        since = time.perf_counter()
        subprocess.run([str(place / "analysis"), "-j2", f"-F{place}", f"-D{place}"], check=True)
        return time.perf_counter() - since
