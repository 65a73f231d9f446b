"""`emberlog run` on Spark: what it shows, what it writes, and what it says when something is wrong."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from pyspark.sql import SparkSession

from emberlog.__main__ import main
from tests.spark.storage import kept_frames

pytestmark = pytest.mark.in_driver

SOURCES = Path(__file__).parents[2] / "src"

TC = "tc(X, Y) :- arc(X, Y).\ntc(X, Y) :- tc(X, Z), arc(Z, Y).\n"


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def run(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Runs the command in a folder with a small program and its facts, and checks that it leaves nothing in Spark."""
    monkeypatch.chdir(tmp_path)
    Path("tc.dl").write_text(TC)
    Path("arc.csv").write_text("1,2\n2,3\n3,4\n")

    def run(*arguments: str) -> Outcome:
        before = kept_frames(spark)
        code = main(["run", *arguments])
        assert kept_frames(spark) <= before
        return Outcome(code, *capsys.readouterr())

    return run


def test_answers_and_what_is_told_about_them(run: Run, spark: SparkSession) -> None:
    outcome = run("tc.dl", "--input", "arc=arc.csv", "--show", "2")
    assert outcome.code == 0
    assert outcome.out == (
        "tc(X, Y): 6 facts\n  1  2\n  1  3\n  …  (2 of 6 shown; --show 0 for none, --output DIR to keep them all)\n"
    )
    heading, progress, summary = outcome.err.splitlines()
    assert heading == f"tc.dl · Spark {spark.version} local[2] · 2 relations (1 input, 1 derived), 2 rules, " + (
        "1 stratum (1 recursive)"
    )
    assert re.fullmatch(r"  tc   3 iterations   6 facts   [\d.]+ s", progress)
    assert re.fullmatch(
        r"done in [\d.]+ s: [\d.]+ s to start Spark, [\d.]+ s to compute, [\d.]+ s to read the answers", summary
    )


def test_a_folder_beside_the_program_is_used_and_said(run: Run) -> None:
    Path("facts").mkdir()
    Path("facts/arc.tsv").write_text("7\t8\n")
    Path("facts/unused.csv").write_text("1\n")
    outcome = run("tc.dl")
    assert outcome.out == "tc(X, Y): 1 fact\n  7  8\n"
    assert outcome.err.splitlines()[1] == "  facts from facts"


def test_a_named_file_goes_before_the_folder(run: Run) -> None:
    Path("facts").mkdir()
    Path("facts/arc.csv").write_text("7,8\n")
    outcome = run("tc.dl", "--input", "arc=arc.csv", "--show", "0")
    assert outcome.out == "tc(X, Y): 6 facts\n"
    assert "facts from" not in outcome.err


def test_queries_of_the_caller_replace_those_of_the_program(run: Run) -> None:
    Path("tc.dl").write_text(f"{TC}tc(X, Y)?\n")
    outcome = run("tc.dl", "--input", "arc=arc.csv", "--query", "tc(3, Y)?", "--query", "arc(1, Y)")
    assert outcome.out == "tc(3, Y): 1 fact\n  3  4\narc(1, Y): 1 fact\n  1  2\n"


def test_parameters_iterations_and_passes(run: Run) -> None:
    Path("p.dl").write_text("r(X, sum<V>) :- arc(X, V).\nr(Y, sum<V>) :- r(X, V), arc(X, Y), Y < $top.\n")
    outcome = run("p.dl", "--input", "arc=arc.csv", "--param", "top=4", "--iterations", "2", "--off", "fold_constants")
    assert outcome.out == "r(X, V): 3 facts\n  1  2\n  2  5\n  3  7\n"


def test_files_with_a_header(run: Run) -> None:
    Path("arc.csv").write_text("source,target\n1,2\n")
    assert run("tc.dl", "--input", "arc=arc.csv", "--header").out == "tc(X, Y): 1 fact\n  1  2\n"


@pytest.mark.parametrize("form", ["csv", "parquet", "json"])
def test_what_is_written_can_be_read_again(run: Run, form: str) -> None:
    outcome = run("tc.dl", "--input", "arc=arc.csv", "--output", "result", "--format", form, "--show", "0")
    assert outcome.err.splitlines()[-2] == f"written: result (1 relation, {form})"
    Path("next.dl").write_text("far(Y) :- tc(1, Y).\n")
    assert run("next.dl", "--facts", "result").out == "far(Y): 3 facts\n  2\n  3\n  4\n"


def test_an_output_that_exists_is_left_alone(run: Run) -> None:
    Path("result").mkdir()
    Path("result/mine.txt").write_text("mine")
    outcome = run("tc.dl", "--input", "arc=arc.csv", "--output", "result")
    assert outcome.code == 1
    assert outcome.err == "error[DL408]: `result` is there already\n  = choose another folder, or take it away\n"
    assert [path.name for path in Path("result").iterdir()] == ["mine.txt"]


def test_a_fault_while_computing_leaves_nothing_behind(run: Run) -> None:
    Path("share.dl").write_text("fine(X) :- arc(X, _).\nshare(X, Y) :- arc(X, N), Y = X / (N - 3).\n")
    outcome = run("share.dl", "--input", "arc=arc.csv", "--output", "result")
    assert outcome.code == 1
    assert outcome.out == ""
    assert "error[DL501]: division by zero in rule r2\n  ┌ share.dl:2:31\n" in outcome.err
    assert sorted(path.name for path in Path().iterdir()) == ["arc.csv", "share.dl", "tc.dl"]


def test_bad_data_is_shown_with_its_place(run: Run) -> None:
    Path("tc.dl").write_text(f"declare arc(a: int, b: int).\n{TC}")
    Path("arc.csv").write_text("1,2\n2,x\n")
    outcome = run("tc.dl", "--input", "arc=arc.csv")
    assert outcome.code == 1
    assert outcome.err.endswith("error[DL404]: `x` is not an int: column 2, `b`\n  ┌ arc.csv:2:3\n2 │ 2,x\n  │   ^\n")


def test_limits(run: Run) -> None:
    Path("n.dl").write_text("n(0).\nn(X + 1) :- n(X).\n")
    outcome = run("n.dl", "--max-iterations", "2")
    assert outcome.code == 1
    assert "error[DL510]: the limit of 2 iterations was passed in stratum 1: n" in outcome.err


def test_values_of_every_type_are_shown(run: Run) -> None:
    Path("e.csv").write_text('2026-01-01T10:00:00,true,1.5,"a, b"\n2026-01-01T10:00:00,,,\\N\n')
    Path("t.dl").write_text(
        "declare e(t: timestamp, b: bool, f: float, s: string).\n"
        "p(T, B, F, S) :- e(T, B, F, S).\nl(T, collect<S>) :- e(T, _, _, S).\nq(encd(F, S)) :- e(_, true, F, S).\n"
    )
    assert run("t.dl", "--input", "e=e.csv").out.splitlines() == [
        "p(T, B, F, S): 2 facts",
        "  2026-01-01 10:00:00  null  null  null",
        "  2026-01-01 10:00:00  true   1.5  a, b",
        "l(T, collect): 1 fact",
        "  2026-01-01 10:00:00  [a, b]",
        "q(encd): 1 fact",
        "  (1.5, a, b)",
    ]


def test_an_interrupt_stops_the_run_cleanly(tmp_path: Path) -> None:
    """In a process of its own, whose Spark is started and ended by the command."""
    (tmp_path / "n.dl").write_text("n(0).\nn(X + 1) :- n(X).\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "emberlog", "run", "n.dl", "--output", "result", "--conf", "spark.driver.memory=1g"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    heading = process.stderr.readline()
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert heading.startswith("n.dl · Spark ")
    assert (process.returncode, out, err) == (130, "", "interrupted\n")
    assert [path.name for path in tmp_path.iterdir()] == ["n.dl"]
