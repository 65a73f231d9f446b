"""Whatever an engine does, the runner says what happened, goes on, and leaves no process behind."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks import results
from benchmarks.engines import process_tree
from benchmarks.engines.catalogue import Entry, find
from benchmarks.engines.process import EngineProcess, EngineTrouble
from benchmarks.engines.protocol import Settings, Unavailable
from benchmarks.recording import record_agreed_answers
from benchmarks.results import Measurement, Run
from benchmarks.runner import Options, Runner
from benchmarks.workloads import expected
from benchmarks.workloads.answer import Answer
from benchmarks.workloads.catalogue import choose

FAKES = "tests.unit.benchmarks.fake_engines"


def fake(class_name: str) -> Entry:
    return Entry(class_name.lower(), FAKES, class_name, is_peer=False)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("EMBERLOG_BENCH_CACHE", str(tmp_path / "cache"))
    yield


def run_fakes(output: Path, *names: str, only: str = "tc/grid8", repeat: int = 3) -> Run:
    options = Options("smoke", Settings(threads=1, memory_gib=0.1), repeat, timeout=1.5, fresh=True)
    return Runner([fake(name) for name in names], options, tell=lambda line: None).run(choose("smoke", [only]), output)


def test_a_right_engine_is_measured(tmp_path: Path) -> None:
    run = run_fakes(tmp_path, "Good")
    (one,) = run.measurements
    assert (one.status, one.note) == (results.OK, "")
    assert len(one.seconds) == 3 and one.first_seconds is not None and one.prepare_seconds is not None
    assert one.answer == expected.expected("tc/grid8", "generated")
    assert one.peak_bytes is not None and one.peak_bytes > 5_000_000
    assert one.metrics == {"iterations": 15, "bytes_exchanged": 2048}
    assert run.engines[0].version == "1.0"
    assert results.read(tmp_path) == run, "what is written can be read again"


def test_wrong_answers_are_shown_as_wrong(tmp_path: Path) -> None:
    run = run_fakes(tmp_path, "Good", "Wrong", "Fickle")
    statuses = {one.engine: one.status for one in run.measurements}
    assert statuses == {"good": results.OK, "wrong": results.WRONG, "fickle": results.WRONG}
    notes = {one.engine: one.note for one in run.measurements}
    assert notes["wrong"] == "1,944 facts, as many as expected, but not the same ones"
    assert notes["fickle"] == "one run gave 1,944 facts, another 1,945"


def test_a_slow_engine_is_given_up_and_its_larger_sizes_are_skipped(tmp_path: Path) -> None:
    run = run_fakes(tmp_path, "Slow", only="*c/rmat1-*", repeat=1)
    (first, second) = run.measurements
    assert (first.status, first.note) == (results.TIMEOUT, "no answer after 2 s")
    assert second.status == results.TIMEOUT, "another program is tried all the same"
    runner = Runner([fake("Slow")], Options("smoke", Settings(1, 0.1), 1, 1.5, True), tell=lambda line: None)
    both = [*choose("smoke", ["reach/rmat1-1k"]), *choose("small", ["reach/rmat1-100k"])]
    skipped = runner.run(both, tmp_path).measurements[1]
    assert (skipped.status, skipped.note) == (results.SKIPPED, "reach/rmat1-1k already took more than 2 s")


def test_crashes_and_errors_do_not_stop_the_others(tmp_path: Path) -> None:
    run = run_fakes(tmp_path, "Crashing", "Failing", "Absent", "Unable", "Good", repeat=1)
    found = {one.engine: one for one in run.measurements}
    assert found["crashing"].status == results.CRASHED
    assert found["crashing"].note == "the process ended with code 3; its last words: about to die"
    assert (found["failing"].status, found["failing"].note) == (results.FAILED, "ValueError: no such table")
    assert (found["unable"].status, found["unable"].note) == (results.CANNOT, "has no recursion")
    assert found["good"].status == results.OK
    assert "absent" not in found
    assert {engine.name: engine.missing for engine in run.engines}["absent"] == "absent is not on the path"


def test_an_engine_can_be_asked_for_without_a_part_of_itself() -> None:
    engine = find("emberlog-dataframe-without-prune_columns").create()
    assert (engine.name, engine.title) == (
        "emberlog-dataframe-without-prune_columns",
        "Emberlog, dataframe executor, without prune_columns",
    )
    with pytest.raises(Unavailable, match="duckdb has no part called joins"):
        find("duckdb-without-joins").create()
    with pytest.raises(KeyError):
        find("mysql")


def test_no_process_is_left(tmp_path: Path) -> None:
    process = EngineProcess(fake("Slow"), tmp_path / "log")
    session = process.session
    assert process_tree.members(session) and process_tree.resident_bytes(session) > 0
    process.ask("start", 60, settings={"threads": 1, "memory_gib": 1})
    with pytest.raises(EngineTrouble, match="no answer"):
        process.ask("run", 0.3)
    assert not process.alive and process_tree.members(session) == []
    process.close()


def test_without_a_known_answer_engines_must_agree() -> None:
    def answered(engine: str, rows: int) -> Measurement:
        return Measurement("new", engine, results.OK, answer=Answer(rows, 1))

    agreed = (answered("a", 5), answered("b", 5))
    assert results.judged(None, agreed) == agreed
    assert {one.status for one in results.judged(None, (*agreed, answered("c", 6)))} == {results.DISAGREES}
    judged = results.judged(Answer(5, 1), (*agreed, answered("c", 6)))
    assert [one.status for one in judged] == [results.OK, results.OK, results.WRONG]
    assert judged[2].note == "6 facts instead of 5"


def test_answers_are_recorded_when_independent_engines_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_fakes(tmp_path, "Good", repeat=1)
    monkeypatch.setattr(expected, "FILE", tmp_path / "expected.json")
    good = run.measurements[0]
    run = replace(run, workloads=tuple(replace(workload, expected=None) for workload in run.workloads))
    alone = replace(run, measurements=(replace(good, engine="spark-loop"), replace(good, engine="spark-recursive")))
    assert record_agreed_answers(alone) == ["tc/grid8: only spark-loop answered, which is not enough"]
    agreed = replace(run, measurements=(replace(good, engine="spark-loop"), replace(good, engine="duckdb")))
    assert record_agreed_answers(agreed) == ["tc/grid8: 1,944 facts, by duckdb, spark-loop"]
    assert json.loads((tmp_path / "expected.json").read_text())["tc/grid8"]["rows"] == 1_944
    expected._recorded.cache_clear()
