"""`emberlog repl --spark`: the same conversation, answered by Spark."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from emberlog.__main__ import main
from tests.spark.storage import kept_frames

pytestmark = pytest.mark.in_driver


def test_a_conversation(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("arc.csv").write_text("1,2\n2,3\n")
    lines = (
        "tc(X, Y) :- arc(X, Y).\ntc(X, Y) :- tc(X, Z), arc(Z, Y).\ntc(1, Y)?\nbad(X) :- arc(Y, Y).\n"
        "half(Y) :- arc(X, _), Y = 1 / (X - 1).\nhalf(Y)?\n.undo\n.undo\n.facts\narc(X, Y)?\n"
    )
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    before = kept_frames(spark)
    code = main(["repl", "--spark", "arc.csv"])
    out = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("  (")]
    assert code == 1
    assert out[:6] == ["arc: facts from arc.csv", "tc: 1 rule", "tc: 2 rules", "tc(1, Y): 2 facts", "  1  2", "  1  3"]
    assert any("error[DL203]" in line for line in out)
    assert any("error[DL501]" in line for line in out)
    assert out[-5:] == ["arc: facts from arc.csv", "tc: 1 rule", "arc(X, Y): 2 facts", "  1  2", "  2  3"]
    assert kept_frames(spark) <= before
