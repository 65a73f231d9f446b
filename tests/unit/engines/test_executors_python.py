"""Which Python the executors of a session run that Emberlog starts on a cluster."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from emberlog.engines.spark import probe, session

MASTER = "spark://host:7077"


def chosen(
    monkeypatch: pytest.MonkeyPatch, problem: str | None = None, master: str = MASTER, **settings: str
) -> tuple[str, int]:
    """Returns what executors run, and how often they were asked."""
    asked: list[Any] = []

    def why_no_python(spark: Any) -> str | None:
        asked.append(spark.sparkContext.pythonExec)
        return problem

    monkeypatch.setattr(probe, "why_no_python", why_no_python)
    fake: Any = SimpleNamespace(sparkContext=SimpleNamespace(pythonExec="python3"))
    session._choose_python(fake, master, settings)
    return fake.sparkContext.pythonExec, len(asked)


def test_this_one_where_they_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    assert chosen(monkeypatch) == (sys.executable, 1)


def test_their_own_where_they_have_it_not(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    assert chosen(monkeypatch, "No such file or directory") == ("python3", 1)
    assert f"executors run `python3`, because they cannot run `{sys.executable}`" in caplog.text
    assert "PYSPARK_PYTHON" in caplog.text


def test_the_one_that_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "python3")  # which Spark has taken already
    assert chosen(monkeypatch) == ("python3", 0)
    assert chosen(monkeypatch, **{"spark.pyspark.python": "./job/bin/python"}) == ("./job/bin/python", 0)


def test_other_clusters_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    assert chosen(monkeypatch, master="yarn") == ("python3", 0)
