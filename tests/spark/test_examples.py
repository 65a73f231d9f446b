"""The examples that are Python programs. Those that are rules are golden cases, and their pages are tested."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

pytestmark = pytest.mark.in_driver

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_pipeline(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "report"
    monkeypatch.setattr(sys, "argv", ["pipeline.py", str(folder)])
    runpy.run_path(str(EXAMPLES / "pipeline.py"), run_name="__main__")
    assert "|Jan Novák  |[shop, support]            |486.0 |" in capsys.readouterr().out
    assert [(row.name, row.amount) for row in spark.read.parquet(str(folder)).orderBy("amount").collect()] == [
        ("Priya Nair", 18.0),
        ("Ann Lee", 168.0),
        ("Omar Haddad", 426.0),
        ("Jan Novák", 486.0),
    ]
