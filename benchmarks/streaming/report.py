"""What was measured with streams, as tables beside the paper's and as plots."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.report import markdown, page
from benchmarks.report.colours import PALETTE
from benchmarks.report.document import Block, Cell, Document, Figure, Section, Table, Text
from benchmarks.report.svg import Line, lines
from benchmarks.streaming.cases import QUERIES, StreamQuery
from benchmarks.streaming.measure import StreamMeasurement
from benchmarks.streaming.on_spark import BATCH, CORES, why_one_worker
from benchmarks.streaming.run import FOR_EVER, FOR_EVER_TUPLES, StreamRunResults

Value = Callable[[StreamMeasurement], float]

_PLOTTED: tuple[tuple[str, Value], ...] = (
    ("p99 latency of a slide, ms", lambda one: 1000 * one.p99),
    ("state, MB", lambda one: one.state_bytes / 1e6),
    ("tuples/s", lambda one: one.throughput),
)


def write_stream_report(results: StreamRunResults, folder: Path) -> tuple[Path, ...]:
    report = document(results)
    texts = {"streams.md": markdown.render(report), "streams.html": page.render(report)}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return tuple(folder / name for name in texts)


def document(results: StreamRunResults) -> Document:
    sections = [_how(results), _against_simple(results)]
    if results.on_spark:
        sections.append(_on_spark(results))
    sections += [_of_query(results, query) for query in QUERIES if _of(results, query.name, "incremental")]
    if _of(results, FOR_EVER, "incremental"):
        sections.append(_without_window(results))
    return Document("Emberlog on streams", tuple(sections))


def _of(results: StreamRunResults, query: str, evaluation: str) -> list[StreamMeasurement]:
    return [one for one in results.measurements if one.query == query and one.evaluation == evaluation]


def _how(results: StreamRunResults) -> Section:
    machine = results.machine
    texts = (
        "The queries of the Streamlog paper with its windows and slides, on generated streams of "
        f"{results.tuples:,} tuples that are as dense as the paper's data, one tuple in a hundred out of order.",
        "Throughput is the number of tuples in closed slides by the seconds of their evaluation; a latency is that of "
        "one slide, from its tuples to what it added and removed. Seconds are those of the processor, because the "
        "machine was shared. Memory is what is kept from slide to slide, averaged over the second half of the run. One "
        "process, one worker. A case that used up its time before the stream ended says so.",
        f"{machine.processor}, {machine.cores} cores, {machine.memory_gib} GiB; Python {machine.python}; "
        f"commit {machine.commit}. The paper's prototype ran on four AMD Opteron 6376.",
    )
    return Section("How it was measured", tuple(map(Text, texts)))


def _against_simple(results: StreamRunResults) -> Section:
    """The paper's largest windows, incrementally and from scratch, and query 3 without a window."""
    rows = []
    for one in results.measurements:
        if one.evaluation != "incremental":
            continue
        others = [
            other
            for other in _of(results, one.query, "simple")
            if (other.window, other.slide) == (one.window, one.slide)
        ]
        for other in others:
            ratio = one.throughput / other.throughput if other.throughput else 0.0
            alone = one.answer_throughput / other.answer_throughput if other.answer_throughput else 0.0
            rows.append(
                (
                    Cell(one.query),
                    Cell("none" if one.window is None else f"{one.window:,}"),
                    Cell(f"{one.slide:,}"),
                    Cell("" if one.window is None else f"{one.window / one.slide:,.1f}"),
                    Cell(_rate(one), hint=_extent(one)),
                    Cell(_rate(other), hint=_extent(other)),
                    Cell(f"{ratio:,.1f} ×", "best" if ratio >= 5 else "bad"),
                    Cell(f"{alone:,.1f} ×" if alone else ""),
                    Cell(f"{1000 * one.p99:,.1f}"),
                    Cell(f"{1000 * other.p99:,.1f}"),
                )
            )
    header = (
        "query",
        "window",
        "slide",
        "slides in a window",
        "incremental, tuples/s",
        "Simple, tuples/s",
        "ratio",
        "without changes",
        "p99, ms",
        "Simple p99, ms",
    )
    text = (
        "Simple evaluates every slide from scratch, so it reads every tuple as often as the window has slides. To tell "
        "what a slide changed, it compares whole answers, as sets of Python tuples; *without changes* is the ratio of "
        "the seconds in which the answers themselves were made. "
        f"{FOR_EVER} is Q3 without a window, on its smaller stream."
    )
    return Section("Incremental against from scratch", (Text(text), Table(header, tuple(rows))))


def _on_spark(results: StreamRunResults) -> Section:
    """From files to files, beside the paper."""
    papers = {query.name: query.throughput for query in QUERIES}
    alone = {(one.query, one.window, one.slide): one for one in results.on_spark if one.workers == 1}
    rows = []
    for one in results.on_spark:
        paper = papers[one.query][one.window, one.slide]
        single = alone.get((one.query, one.window, one.slide), one)
        rows.append(
            (
                Cell(one.query),
                Cell(f"{one.window:,}"),
                Cell(f"{one.slide:,}"),
                Cell(f"{one.workers}"),
                Cell(f"{one.throughput:,.0f}"),
                Cell("" if one is single else f"{one.throughput / single.throughput:,.2f} ×"),
                Cell(f"{paper:,.0f}"),
                Cell(f"{one.throughput / paper:,.0f} ×", "best" if one.throughput >= 100 * paper else "bad"),
                Cell(f"{1000 * one.p50:,.1f}"),
                Cell(f"{1000 * one.p99:,.1f}"),
                Cell(f"{one.seconds:,.1f}", hint=f"{one.batches:,} steps, {one.slides:,} slides"),
                Cell(f"{one.state_bytes / 1e6:,.1f}"),
            )
        )
    header = (
        "query",
        "window",
        "slide",
        "workers",
        "tuples/s",
        "against one worker",
        "paper, tuples/s",
        "ratio",
        "p50, ms",
        "p99, ms",
        "seconds",
        "state, MB",
    )
    measured = {one.query for one in results.on_spark}
    alone_because = "".join(
        f" {query.name} runs with one worker only: {reason}."
        for query in QUERIES
        if query.name in measured and (reason := why_one_worker(query))
    )
    text = (
        f"The same streams as Parquet files of {BATCH:,} tuples, each a micro-batch: `readStream`, "
        "`start(availableNow=True)`, the changes of each slide into Parquet files, with the checkpoint on disk. "
        f"Seconds are those of the clock, from `start` to the end; `local[{CORES}]`. Other work on the machine counts "
        "in them, and so do Spark's own dealings with each micro-batch. A stream of 200,000 tuples was run before with "
        "each query and number of workers, because Java and the kernels compile what they meet first. The paper's "
        f"slowest case of each query, and its fastest one of all.{alone_because}"
    )
    return Section("Inside Spark", (Text(text), Table(header, tuple(rows))))


def _of_query(results: StreamRunResults, query: StreamQuery) -> Section:
    measured = _of(results, query.name, "incremental")
    blocks: list[Block] = [_table(query, measured)]
    for title, value in _PLOTTED:
        blocks.append(Figure(_plot(measured, "window", title, value), f"{title}, by window; a line per slide"))
        blocks.append(Figure(_plot(measured, "slide", title, value), f"{title}, by slide; a line per window"))
    return Section(f"{query.name}: {query.title}", tuple(blocks))


def _without_window(results: StreamRunResults) -> Section:
    """Query 3 with all that ever came, by the distance of its slides."""
    by_evaluation = {name: _of(results, FOR_EVER, name) for name in ("incremental", "simple")}
    rows = [
        (
            Cell(f"{one.slide:,}"),
            Cell(name if name == "incremental" else "Simple"),
            Cell(_rate(one), hint=_extent(one)),
            Cell(f"{1000 * one.p50:,.1f}"),
            Cell(f"{1000 * one.p99:,.1f}"),
            Cell(f"{one.slides:,}"),
            Cell(f"{one.facts:,}"),
            Cell(f"{one.state_bytes / 1e6:,.1f}"),
            Cell(_evaluated(one)),
        )
        for name, measured in by_evaluation.items()
        for one in measured
    ]
    header = (
        "slide",
        "evaluation",
        "tuples/s",
        "p50, ms",
        "p99, ms",
        "slides",
        "facts at the end",
        "state, MB",
        "evaluated",
    )
    text = (
        "Nothing ever leaves, so the answer and the state grow with the stream, and Simple reads everything at each "
        f"slide. The stream has {FOR_EVER_TUPLES:,} tuples."
    )
    blocks: list[Block] = [Text(text), Table(header, tuple(rows))]
    for title, value in _PLOTTED:
        drawn = [
            Line(
                "Simple" if name == "simple" else name,
                sorted((float(one.slide), max(value(one), 1e-6)) for one in measured),
                PALETTE[place],
            )
            for place, (name, measured) in enumerate(by_evaluation.items())
            if measured
        ]
        blocks.append(Figure(lines(drawn, "slide", title), f"{title}, by slide"))
    return Section(f"{FOR_EVER}: Q3 without a window", tuple(blocks))


def _table(query: StreamQuery, measured: Sequence[StreamMeasurement]) -> Table:
    rows = []
    for one in measured:
        paper = query.throughput[one.window or 0, one.slide]
        rows.append(
            (
                Cell(f"{one.window:,}"),
                Cell(f"{one.slide:,}"),
                Cell(_rate(one), hint=_extent(one)),
                Cell(f"{paper:,.0f}"),
                Cell(f"{one.throughput / paper:,.0f} ×", "best" if one.throughput >= 100 * paper else "bad"),
                Cell(f"{1000 * one.p50:,.1f}"),
                Cell(f"{1000 * one.p99:,.1f}"),
                Cell(f"{one.window_tuples:,}"),
                Cell(f"{one.state_bytes / 1e6:,.1f}"),
                Cell(_evaluated(one)),
            )
        )
    header = (
        "window",
        "slide",
        "tuples/s",
        "paper, tuples/s",
        "ratio",
        "p50, ms",
        "p99, ms",
        "tuples in a window",
        "state, MB",
        "evaluated",
    )
    return Table(header, tuple(rows))


def _rate(one: StreamMeasurement) -> str:
    return f"{one.throughput:,.0f}"


def _evaluated(one: StreamMeasurement) -> str:
    return f"{one.tuples:,}{'' if one.is_whole else ' (time was up)'}"


def _extent(one: StreamMeasurement) -> str:
    return f"{one.tuples:,} tuples in {one.slides:,} slides, {one.seconds:,.1f} s; {one.late:,} late"


def _plot(measured: Sequence[StreamMeasurement], axis: str, title: str, value: Value) -> str:
    other = "slide" if axis == "window" else "window"
    series: dict[int, list[tuple[float, float]]] = {}
    for one in measured:
        series.setdefault(getattr(one, other), []).append((float(getattr(one, axis)), max(value(one), 1e-6)))
    drawn = [
        Line(f"{other} {key:,}", sorted(points), PALETTE[place % len(PALETTE)])
        for place, (key, points) in enumerate(sorted(series.items()))
    ]
    return lines(drawn, axis, title)
