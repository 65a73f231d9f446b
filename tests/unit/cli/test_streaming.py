"""The line that tells how a stream goes on, and what `emberlog stream` says before Spark starts."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from pathlib import Path

import pytest

from emberlog.__main__ import main
from emberlog.cli.streaming import View, progress_text
from emberlog.progress.live_line import LiveLine
from emberlog.streams.steps.progress import StreamProgress, percentile

PROGRESS = StreamProgress(
    batchId=7,
    numInputRows=18_240,
    processedRowsPerSecond=41_300.4,
    slides=1,
    lastSlide=datetime(2026, 3, 2, 12, 0, tzinfo=UTC),
    watermark=datetime(2026, 3, 2, 12, 1, tzinfo=UTC),
    late=3,
    bad=0,
    expired=17_902,
    facts={"bestPrice": 4_411},
    added={"bestPrice": 210},
    removed={"bestPrice": 188},
    windowTuples=1,
    stateBytes=1,
    latencies={"p50": 0.1, "p95": 0.2, "p99": 0.31},
    seconds=0.4,
    isRebuilt=False,
    totalRows=20_000,
    totalLate=5,
    totalBad=0,
    totalExpired=17_903,
    totalSlides=2,
)

LINE = (
    "slide 2026-03-02 12:00:00  window 60 minutes   in 18,240 tuples (41,300/s)   late 3   expired 17,902   "
    "bestPrice 4,411 facts (+210 −188)   p99 0.310 s"
)


def test_the_line_of_a_batch() -> None:
    assert progress_text(PROGRESS, "window 60 minutes") == LINE


def test_without_a_terminal_every_batch_has_its_line() -> None:
    stream = io.StringIO()
    with LiveLine(stream) as line:
        view = View(line, "window 60 minutes")
        view(PROGRESS)
        view.finish()
    assert stream.getvalue() == f"{LINE}\nended after 2 slides: 20,000 tuples, 5 late, 17,903 expired\n"


def test_percentiles_are_values_that_occurred() -> None:
    values = [float(value) for value in range(1, 201)]
    assert (percentile(values, 50), percentile(values, 99), percentile([4.0], 99)) == (100.0, 198.0, 4.0)


def test_a_program_without_streams_is_sent_to_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.dl").write_text("p(1).\nq(X) :- p(X).\n")
    assert main(["stream", "p.dl"]) == 1
    assert "error[DL342]: this program reads no stream" in capsys.readouterr().err


def test_a_stream_needs_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.dl").write_text("STREAM s(T: timestamp, X: int).\nq(T, X) :- s(T, X).\n")
    assert main(["stream", "p.dl"]) == 1
    assert "error[DL401]: there are no facts for the relation `s`" in capsys.readouterr().err
