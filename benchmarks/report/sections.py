"""The sections of a report, each made from the results alone; one without data is left out."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

from benchmarks import results
from benchmarks.data.dataset import PAPER
from benchmarks.engines.catalogue import WITHOUT
from benchmarks.report import ablation_tables, ablations, choices, conclusions, floor, provenance, scaling, workers
from benchmarks.report.colours import colour_of
from benchmarks.report.document import Block, Cell, Document, Figure, Section, Table, Text
from benchmarks.report.floor import FLOOR
from benchmarks.report.numbers import seconds
from benchmarks.report.svg import Bar, bars
from benchmarks.results import EngineRecord, Measurement, Run, WorkloadRecord
from benchmarks.workloads.answer import of_rows
from benchmarks.workloads.expected import TABLE_1, PaperFigure


def document(run: Run) -> Document:
    makers = (
        _conclusions,
        _times,
        _table_1,
        scaling.sizes,
        scaling.iterations,
        workers.section,
        workers.threads,
        floor.section,
        choices.section,
        ablation_tables.section,
        ablations.section,
        provenance.section,
        _plots,
        _loading,
        _memory,
        _exchanged,
        _not_run,
        _how,
        _machine,
    )
    of_engines = (_times, _loading, _memory)
    sections = [maker(run) for maker in makers if run.measurements or maker not in of_engines]
    return Document(
        f"Emberlog benchmarks: the {run.set_name} set", tuple(section for section in sections if section is not None)
    )


def present(run: Run) -> list[EngineRecord]:
    """Engines that ran at least one workload; ablations and limits have sections of their own."""
    ran = {one.engine for one in run.measurements if one.status not in (results.CANNOT, results.SKIPPED)}
    ran -= {*FLOOR}
    return [engine for engine in run.engines if engine.name in ran and WITHOUT not in engine.name]


def measured(run: Run) -> list[WorkloadRecord]:
    """Workloads that at least one engine tried."""
    return [
        workload
        for workload in run.workloads
        if any(one.status != results.CANNOT for one in run.of_workload(workload.name))
    ]


def _conclusions(run: Run) -> Section | None:
    return conclusions.section(run, present(run))


def _matrix(
    run: Run, value: Callable[[Measurement], float | None], show: Callable[[float], str], caption: str
) -> Table:
    engines = present(run)
    names = {engine.name for engine in engines}
    rows = []
    for workload in measured(run):
        usable = [one for one in run.of_workload(workload.name) if one.is_usable and one.engine in names]
        values = {one.engine: value(one) for one in usable}
        known = [one for one in values.values() if one is not None]
        cells = [Cell(workload.name, hint=f"{workload.title}; {workload.about}")]
        for engine in engines:
            one = run.measurement(workload.name, engine.name)
            amount = values.get(engine.name)
            if amount is not None:
                cells.append(Cell(show(amount), "best" if amount == min(known) else ""))
            else:
                cells.append(_without_value(one))
        rows.append(tuple(cells))
    return Table(("", *(engine.name for engine in engines)), tuple(rows), caption)


def _without_value(one: Measurement | None) -> Cell:
    if one is None:
        return Cell("")
    if one.status == results.CANNOT:
        return Cell("–", "faint", one.note)
    if one.status == results.OK:
        return Cell("?", "faint", "finished, but not measured")
    return Cell(one.status, "faint" if one.status == results.SKIPPED else "bad", one.note)


def _times(run: Run) -> Section | None:
    runs = "One timed run" if run.repeat == 1 else f"Median of {run.repeat} interleaved runs"
    caption = f"{runs}, in seconds. Bold: the fastest. –: the engine cannot run it."
    return Section("Time", (_matrix(run, lambda one: one.median, seconds, caption),))


def _loading(run: Run) -> Section | None:
    caption = "Loading or registering the inputs, plus the median run, in seconds."
    if any(one.engine.endswith(results.ANEW) for one in run.measurements):
        caption += (
            f" Of an engine that was measured as `{results.ANEW}`, too, it is that run, for which nothing was kept."
        )
    first = "The first run of a fresh process, without loading, in seconds: what somebody sees who runs a program once."
    blocks = (
        _matrix(run, run.with_loading, seconds, caption),
        _matrix(run, lambda one: one.first_seconds, seconds, first),
    )
    return Section("Time with loading, and the first run", blocks)


def _memory(run: Run) -> Section | None:
    caption = (
        "Peak resident set of all the engine's processes while it ran, in MiB. Java takes what it is allowed to "
        f"({run.memory_gib:g} GiB) before it cleans up, so its figures are upper bounds of what was needed."
    )
    return Section(
        "Memory", (_matrix(run, lambda one: (one.peak_bytes or 0) / 2**20, lambda mib: f"{mib:,.0f}", caption),)
    )


def _exchanged(run: Run) -> Section | None:
    reported = {one.engine for one in run.measurements if one.metrics.get("bytes_exchanged")}
    engines = [engine for engine in present(run) if engine.name in reported]
    if not engines:
        return None
    rows = []
    for workload in measured(run):
        cells = [Cell(workload.name)]
        for engine in engines:
            one = run.measurement(workload.name, engine.name)
            amount = one.metrics.get("bytes_exchanged") if one is not None and one.is_usable else None
            cells.append(Cell("" if amount is None else f"{amount / 2**20:,.2f}"))
        if any(cell.text for cell in cells[1:]):
            rows.append(tuple(cells))
    caption = "MiB that tasks or workers sent each other in one run, by the engine's own account."
    return Section("Bytes exchanged", (Table(("", *(engine.name for engine in engines)), tuple(rows), caption),))


def _table_1(run: Run) -> Section | None:
    rows = []
    for figure in TABLE_1:
        workload = next((one for one in run.workloads if one.name == figure.workload), None)
        usable = [one for one in run.of_workload(figure.workload) if one.is_usable and one.answer is not None]
        if workload is None or not usable:
            continue
        facts = _facts(usable[0], figure)
        # Right answers agree by now; iterations are what the engines say they are.
        iterations = sorted({round(one.metrics["iterations"]) for one in usable if "iterations" in one.metrics})
        rounds = " or ".join(f"{number:,}" for number in iterations) or "–"
        is_same = facts == figure.facts and iterations in ([], [figure.iterations])
        is_paper = workload.data_origin == PAPER
        rows.append(
            (
                Cell(f"{figure.workload.split('/')[0].removesuffix('-count').upper()} {figure.graph}"),
                Cell(f"{figure.edges:,}" if is_paper else f"{workload.input_rows:,} (generated)"),
                Cell(f"{figure.facts:,} ({figure.iterations})"),
                Cell("–" if facts is None else f"{facts:,} ({rounds})"),
                Cell("same" if is_same else "different" if is_paper else "other data"),
                Cell(", ".join(one.engine for one in usable)),
            )
        )
    if not rows:
        return None
    text = (
        "Facts, and in parentheses the iterations that found something new after the seed; – where no engine tells "
        "them. The papers' own files are used where they are given; the generated tree and random graph are of the "
        "same kind, not the same."
    )
    header = ("program and graph", "arcs", "in the papers", "here", "", "found by")
    return Section("Table 1 of Cog and Nexus", (Text(text), Table(header, tuple(rows))))


def _facts(one: Measurement, figure: PaperFigure) -> int | None:
    """The counting form of same generation gives one fact, which holds the number: its checksum tells which."""
    assert one.answer is not None
    if not figure.workload.startswith("sg-count/"):
        return one.answer.rows
    return figure.facts if one.answer == of_rows(("int",), [(figure.facts,)]) else None


def _plots(run: Run) -> Section | None:
    figures: list[Block] = []
    for workload in measured(run):
        entries = []
        for engine in present(run):
            one = run.measurement(workload.name, engine.name)
            if one is None or one.status == results.CANNOT:
                continue
            colour = colour_of(engine.name)
            if one.is_usable and one.median is not None:
                entries.append(Bar(engine.name, one.median, f"{seconds(one.median)} s", colour))
            else:
                entries.append(Bar(engine.name, None, _why(one), colour))
        facts = next((one.answer.rows for one in run.of_workload(workload.name) if one.is_usable and one.answer), None)
        found = f"{facts:,} facts found" if facts is not None else "no answer"
        caption = f"{workload.name}: {workload.title}; {workload.about}; {workload.input_rows:,} rows in, {found}."
        figures.append(Figure(bars(entries, "seconds"), caption))
    return Section("Each workload", tuple(figures)) if figures else None


def _why(one: Measurement) -> str:
    first = one.note.splitlines()[0] if one.note else ""
    return f"{one.status}: {first}"[:90]


def _not_run(run: Run) -> Section | None:
    """Every gap, with its reason: nothing is left out in silence."""
    blocks: list[Block] = []
    missing = tuple(
        (Cell(engine.name), Cell(engine.missing), Cell(engine.installed_by)) for engine in run.engines if engine.missing
    )
    if missing:
        blocks.append(Table(("engine", "not used, because", "how to get it"), missing))
    troubles = tuple(
        (Cell(one.workload), Cell(one.engine), Cell(one.status, "bad"), Cell(one.note[:400]))
        for one in run.measurements
        if one.status not in (results.OK, results.CANNOT)
    )
    if troubles:
        blocks.append(Table(("workload", "engine", "what happened", "in its words"), troubles))
    reasons: dict[tuple[str, str], list[str]] = {}
    for one in run.measurements:
        if one.status == results.CANNOT:
            reasons.setdefault((one.engine, one.note), []).append(one.workload)
    cannot = tuple((Cell(engine), Cell(", ".join(names)), Cell(reason)) for (engine, reason), names in reasons.items())
    if cannot:
        blocks.append(Table(("engine", "cannot run", "because"), cannot))
    return Section("What did not run, and why", tuple(blocks)) if blocks else None


def _how(run: Run) -> Section | None:
    text = (
        "Each engine runs in a process of its own. It starts, loads or registers the inputs, and runs once; that first "
        "run is reported apart, and its answer (the number of facts, and a checksum that does not depend on their "
        f"order) is compared with the expected one. Then follow {run.repeat} timed runs, one engine after the other in "
        f"turns. A run is given up after {run.timeout:,.0f} s. Every engine may use {run.threads} threads and, where "
        f"it can be told so, {run.memory_gib:g} GiB."
    )
    rows = tuple(
        (
            Cell(engine.name),
            Cell(engine.title),
            Cell(engine.version or "–"),
            Cell(engine.timing),
            Cell(engine.installed_by),
        )
        for engine in run.engines
    )
    return Section(
        "How it was measured",
        (Text(text), Table(("engine", "what it is", "version", "what its time contains", "installed by"), rows)),
    )


def _machine(run: Run) -> Section | None:
    about = run.machine
    spread = [
        max(one.seconds) / min(one.seconds)
        for one in run.measurements
        if len(one.seconds) > 1 and min(one.seconds) > 0.05
    ]
    rows = [
        ("started", run.started),
        ("commit", about.commit or "unknown"),
        ("processor", f"{about.processor}, {about.cores} cores"),
        ("memory", f"{about.memory_gib:g} GiB"),
        ("system", about.system),
        ("Python, Java", f"{about.python}, {about.java or 'none'}"),
    ]
    if spread:
        rows.append(
            (
                "slowest ÷ fastest run of the same thing",
                f"{median(spread):.2f} in the median, {max(spread):.1f} at worst",
            )
        )
    return Section("Machine", (Table(("", ""), tuple((Cell(name), Cell(value)) for name, value in rows)),))
