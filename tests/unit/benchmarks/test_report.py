"""A report shows everything that was measured, and what was not."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks import results
from benchmarks.machine import Machine
from benchmarks.report import page, svg
from benchmarks.report.comparison import compare
from benchmarks.report.document import Cell, Document, Figure, Section, Table, Text
from benchmarks.report.sections import document
from benchmarks.report.write import write_report
from benchmarks.results import EngineRecord, Measurement, Run, WorkloadRecord
from benchmarks.workloads.answer import Answer

MACHINE = Machine("a processor", 2, 24.0, "Linux", "3.11", "openjdk 17", "abc1234")


def engine(name: str, missing: str | None = None) -> EngineRecord:
    return EngineRecord(name, name.title(), "1.0", "pip", "the query", missing)


def workload(program: str, dataset: str, rows: int, origin: str = "generated") -> WorkloadRecord:
    return WorkloadRecord(
        f"{program}/{dataset}", program, program.upper(), "Cog", dataset, "a graph", origin, rows, 10, None
    )


def ran(name: str, engine_name: str, *seconds: float, rows: int = 805_001, **metrics: float) -> Measurement:
    return Measurement(name, engine_name, results.OK, "", 1.0, 2.0, 3.0, seconds, 2**28, Answer(rows), metrics)


@pytest.fixture
def run() -> Run:
    return Run(
        started="2026-01-01T00:00:00+00:00",
        set_name="smoke",
        threads=2,
        memory_gib=4.0,
        repeat=3,
        timeout=60.0,
        machine=MACHINE,
        engines=(
            engine("emberlog-dataframe"),
            engine("duckdb"),
            engine("flink"),
            engine("souffle", "souffle is not on the path"),
            engine("emberlog-dataframe-without-prune_columns"),
        ),
        workloads=(
            workload("tc", "tree11", 71_390, "paper"),
            workload("cc", "rmat1-1m", 10_000_000),
            workload("cc", "rmat1-2m", 20_000_000),
        ),
        measurements=(
            ran("tc/tree11", "emberlog-dataframe", 1.0, 2.0, 3.0, iterations=11, bytes_exchanged=2**21),
            ran("tc/tree11", "duckdb", 4.0, 4.0, 4.0),
            Measurement("tc/tree11", "flink", results.TIMEOUT, "no answer after 60 s"),
            ran("tc/tree11", "emberlog-dataframe-without-prune_columns", 3.0, 3.0, 3.0),
            ran("cc/rmat1-1m", "duckdb", 10.0, rows=1),
            ran("cc/rmat1-2m", "duckdb", 25.0, rows=1),
            Measurement("cc/rmat1-1m", "flink", results.CANNOT, "has no <min>"),
            replace(ran("cc/rmat1-1m", "emberlog-dataframe", 5.0), status=results.WRONG, note="7 facts instead of 1"),
            Measurement("cc/rmat1-2m", "emberlog-dataframe", results.CRASHED, "killed by signal 9"),
        ),
    )


def test_time_with_loading_is_that_of_a_run_for_which_nothing_was_kept(run: Run, tmp_path: Path) -> None:
    anew = replace(
        run,
        engines=(engine("emberlog-local"), engine("emberlog-local-anew"), engine("scipy"), engine("duckdb")),
        measurements=(
            ran("tc/tree11", "emberlog-local", 0.5),
            ran("tc/tree11", "emberlog-local-anew", 1.5),
            ran("tc/tree11", "scipy", 0.25),
            ran("tc/tree11", "duckdb", 1.0),
        ),
    )
    text = write_report(anew, tmp_path)[0].read_text(encoding="utf-8")
    assert "| tc/tree11 | **0.500** | 1.50 | 1.00 |" in text
    assert "| tc/tree11 | 3.50 | 3.50 | **3.00** |" in text  # loading takes 2 s each
    assert "| tc/tree11 | 0.500 | 3.50 | 0.250 | 2.25 |" in text  # the floor
    assert "| Duckdb | 1 | 1 | 2.0 × |" in text and "| Duckdb | 1 | 0 | 0.67 × |" in text


def test_it_tells_what_threads_gain(run: Run, tmp_path: Path) -> None:
    both = replace(
        run,
        engines=(engine("emberlog-local"), engine("emberlog-local-1-thread")),
        measurements=(ran("tc/tree11", "emberlog-local", 0.5), ran("tc/tree11", "emberlog-local-1-thread", 0.9)),
    )
    text = write_report(both, tmp_path)[0].read_text(encoding="utf-8")
    assert "| tc/tree11 | 0.900 | 0.500 | 1.80 × |" in text


def test_the_markdown_says_it_all(run: Run, tmp_path: Path) -> None:
    text = write_report(run, tmp_path)[0].read_text(encoding="utf-8")
    assert "| tc/tree11 | **2.00** | 4.00 | **timeout** |" in text
    assert "| cc/rmat1-1m | **WRONG** | **10.0** | – |" in text
    assert "| TC Tree11 | 71,390 | 805,001 (11) | 805,001 (11) | same | emberlog-dataframe, duckdb" in text
    assert "| Duckdb | 1 | 1 | 2.0 × | 2.0 × | 2.0 × |" in text
    assert "souffle is not on the path" in text
    assert "| flink | cc/rmat1-1m | has no <min> |" in text
    assert "| prune_columns | tc/tree11 | 2.00 | 3.00 | 1.50 × |" in text
    assert "time for 2 × the rows in: duckdb 2.5 ×" in text
    assert "abc1234" in text and "a processor, 2 cores" in text


def test_with_and_without_spark_are_compared_apart(run: Run, tmp_path: Path) -> None:
    both = replace(
        run,
        engines=(*run.engines, engine("emberlog"), engine("emberlog-local")),
        measurements=(
            *run.measurements,
            ran("tc/tree11", "emberlog", 8.0),
            ran("tc/tree11", "emberlog-local", 0.5),
            ran("cc/rmat1-1m", "emberlog-local", 20.0, rows=1),
        ),
    )
    text = write_report(both, tmp_path)[0].read_text(encoding="utf-8")
    assert "| Duckdb | 1 | 0 | 0.50 × | 0.50 × | 0.50 × |" in text
    assert "| Duckdb | 2 | 1 | 2.0 × | 0.50 × | 8.0 × |" in text


def test_the_page_is_whole_and_needs_nothing_else(run: Run, tmp_path: Path) -> None:
    text = write_report(run, tmp_path)[1].read_text(encoding="utf-8")
    assert "has no &lt;min&gt;" in text
    assert "http" not in text.replace("http-equiv", "") and "<script" not in text
    assert text.count("<svg") == len(
        [block for section in document(run).sections for block in section.blocks if isinstance(block, Figure)]
    )


def test_the_page_has_code_and_stress_as_such() -> None:
    table = Table(("a",), ((Cell("2.0 ×"),),), "`f(x)` < 1")
    text = page.render(Document("t", (Section("s", (Text("*all* of `a*b*c`"), table)),)))
    assert "<em>all</em> of <code>a*b*c</code>" in text and "<code>f(x)</code> &lt; 1" in text and "2.0&nbsp;×" in text


def test_plots_are_well_formed(run: Run) -> None:
    figures = [block for section in document(run).sections for block in section.blocks if isinstance(block, Figure)]
    assert len(figures) == 4
    for figure in figures:
        ElementTree.fromstring(figure.svg)


def test_sections_without_data_are_left_out(run: Run) -> None:
    bare = replace(run, measurements=run.measurements[1:2], engines=run.engines[1:2])
    titles = [section.title for section in document(bare).sections]
    assert "Ablations" not in titles and "Time against size" not in titles and "Bytes exchanged" not in titles
    assert "Time" in titles


def test_nothing_measured_still_gives_a_report(run: Run, tmp_path: Path) -> None:
    write_report(replace(run, measurements=(), workloads=()), tmp_path)
    assert all(path.stat().st_size for path in tmp_path.iterdir())
    assert {path.suffix for path in tmp_path.iterdir()} >= {".md", ".html"}


def test_comparing_two_runs(run: Run) -> None:
    later = replace(
        run, measurements=(ran("tc/tree11", "duckdb", 2.0), replace(run.measurements[2], status=results.OK))
    )
    text = compare(run, later)
    assert "4.00 s →      2.00 s   2.00 × faster" in text
    assert "timeout → ok" in text
    assert text.endswith("1 faster, 0 slower, 0 the same (within 10%)")


def test_merging_runs_keeps_the_later_measurement(run: Run) -> None:
    later = replace(run, set_name="full", measurements=(ran("tc/tree11", "duckdb", 2.0),))
    later = replace(later, machine=replace(run.machine, commit="fedcba9"))
    merged = results.merged([run, later, run])
    assert merged.machine.commit == f"{run.machine.commit}, fedcba9"
    merged = results.merged([run, later])
    found = merged.measurement("tc/tree11", "duckdb")
    assert found is not None and found.median == 2.0
    assert merged.set_name == "smoke + full" and len(merged.measurements) == len(run.measurements)


def test_numbers_on_axes() -> None:
    assert [svg.number(value) for value in (0.001, 0.5, 20, 1_500, 10_000_000, 2e9)] == [
        "0.001",
        "0.5",
        "20",
        "1.5 k",
        "10 M",
        "2 G",
    ]


def test_chains_are_drawn_against_iterations_and_workers_against_their_number(run: Run, tmp_path: Path) -> None:
    chains = [workload("reach", f"chain{length}", length) for length in (100, 1_000)]
    measurements = (
        ran("reach/chain100", "emberlog", 0.5, rows=1, iterations=99, facts_in_recursions=100),
        ran("reach/chain1000", "emberlog", 1.0, rows=1, iterations=999, facts_in_recursions=1_000),
        ran("reach/chain1000", "emberlog-1-worker", 0.8, rows=1, iterations=999),
        ran("reach/chain1000", "emberlog-without-fold", 2.0, rows=1, iterations=999, facts_in_recursions=9_000),
    )
    engines = tuple(engine(name) for name in ("emberlog", "emberlog-1-worker", "emberlog-without-fold"))
    chained = replace(run, engines=engines, workloads=tuple(chains), measurements=measurements)
    text = write_report(chained, tmp_path)[0].read_text(encoding="utf-8")
    assert "## Time against size" not in text
    assert "time for 10.1 × the iterations: emberlog 2 ×" in text
    assert "reach/chain1000 0.80 s with 1, 1.00 s with 2" in text
    assert "| fold | reach/chain1000 | 1.00 | 2.00 | 2.00 × | 1,000 → 9,000 | – | 999 |" in text


def test_what_recording_provenance_costs_is_told(run: Run) -> None:
    plain = ran("tc/tree11", "emberlog-local", 1.0, 2.0, 3.0)
    recording = replace(ran("tc/tree11", "emberlog-local-provenance", 2.5, 2.5, 2.5), peak_bytes=3 * 2**27)
    engines = (*run.engines, engine("emberlog-local"), engine("emberlog-local-provenance"))
    measured = replace(run, engines=engines, measurements=(*run.measurements, plain, recording))
    (section,) = (one for one in document(measured).sections if one.title == "Recording provenance")
    table = section.blocks[1]
    assert isinstance(table, Table)
    (row,) = table.rows
    assert [cell.text for cell in row][2:] == ["2.00", "2.50", "1.25 ×", "268", "403", "1.50 ×"]
    assert "Recording provenance" not in [one.title for one in document(run).sections]


def test_libraries_of_algorithms_are_a_limit_and_no_peers(run: Run, tmp_path: Path) -> None:
    engines = (*run.engines, engine("emberlog-local"), engine("scipy"))
    more = (ran("cc/rmat1-1m", "emberlog-local", 1.5), ran("cc/rmat1-1m", "scipy", 0.5))
    both = replace(run, engines=engines, measurements=(*run.measurements, *more))
    sections = {section.title: section for section in document(both).sections}
    (table,) = [block for block in sections["The floor: a limit, not peers"].blocks if isinstance(block, Table)]
    assert table.header == ("", "emberlog-local", "emberlog-local, from Parquet", "scipy", "scipy, from Parquet")
    assert [[cell.text for cell in row] for row in table.rows] == [["cc/rmat1-1m", "1.50", "3.50", "0.500", "2.50"]]
    others = [block for title, one in sections.items() if "floor" not in title for block in one.blocks]
    assert not any("scipy" in block.header for block in others if isinstance(block, Table))
    assert "The floor: a limit, not peers" not in {section.title for section in document(run).sections}
