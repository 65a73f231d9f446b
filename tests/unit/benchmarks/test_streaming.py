"""The benchmark of streams: its cases are those of the paper, what it measures is right, and its report tells it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.machine import this_machine
from benchmarks.streaming.cases import QUERIES, StreamQuery
from benchmarks.streaming.measure import measure
from benchmarks.streaming.on_spark import SparkStreamMeasurement
from benchmarks.streaming.peers import CASES, Case, by_duckdb, by_emberlog, messages, windows_of
from benchmarks.streaming.report import document, write_stream_report
from benchmarks.streaming.run import StreamRunResults
from benchmarks.streaming.soak import soak

from emberlog.semantics.analysis import analyze
from emberlog.source import Source
from emberlog.streams.plan.slides import Schedule, schedule_of
from emberlog.syntax.parser import parse


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)
def test_every_window_and_slide_of_the_paper_is_a_case(query: StreamQuery) -> None:
    assert set(query.throughput) == {(window, slide) for window in query.windows for slide in query.slides}
    for window, slide in query.throughput:
        checked = analyze(parse(Source("p.dl", query.text(window, slide))))
        assert schedule_of(checked, plain_clock=True) == Schedule(slide, window)
    forever = analyze(parse(Source("p.dl", query.text(None, 1))))
    assert schedule_of(forever, plain_clock=True).size is None


def test_both_evaluations_come_to_the_same_answer_and_the_report_compares_them(tmp_path: Path) -> None:
    query = next(one for one in QUERIES if one.name == "Q4")
    incremental = measure(query, 4_000, 1_000, "incremental", tuples=80_000, budget=60.0)
    simple = measure(query, 4_000, 1_000, "simple", tuples=80_000, budget=60.0)
    assert incremental.facts == simple.facts > 0
    assert incremental.tuples == simple.tuples > 50_000
    assert (incremental.late, incremental.is_whole, incremental.slides) == (0, True, simple.slides)
    inside = SparkStreamMeasurement("Q4", 4_000, 1_000, 1, 80_000, 2, 5, 4.0, 0.1, 0.2, 1_000_000)
    results = StreamRunResults(this_machine(), 80_000, (incremental, simple), (inside,))
    assert [section.title for section in document(results).sections][1:] == [
        "Incremental against from scratch",
        "Inside Spark",
        "Q4: cheapest path",
    ]
    for path in write_stream_report(results, tmp_path):
        text = path.read_text(encoding="utf-8")
        assert "cheapest path" in text and "20,000" in text


@pytest.mark.parametrize("deletes", [False, True], ids=["expiring", "deleted"])
def test_a_short_soak_notes_its_memory(deletes: bool, tmp_path: Path) -> None:
    lines: list[str] = []
    found = soak(40_000, tmp_path, lines.append, month=4 * 3_600, deletes=deletes)
    assert found.moments[-1].tuples == 40_000
    assert found.growth > 0
    assert found.restart_seconds > 0
    assert len(lines) == len(found.moments)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.program)
def test_duckdb_has_the_answers_of_each_slide(case: Case) -> None:
    arcs = replace(case, arcs=lambda: messages(600, 40)).arcs()
    windows = windows_of(case, arcs)[:30]
    _, answers = by_emberlog(case, arcs, windows)
    assert any(answers.values())
    assert by_duckdb(case.program, arcs, windows, answers) > 0
