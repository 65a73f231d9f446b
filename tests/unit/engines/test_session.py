"""Java is started before there is a session, where there will be one on this machine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark import SparkConf, SparkContext

from emberlog.diagnostics import EmberlogError
from emberlog.engines.spark import session


@pytest.fixture(autouse=True)
def launched(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, str]]]:
    """The settings of each Java that was started; none is."""
    calls: list[dict[str, str]] = []

    def started(*, conf: SparkConf) -> None:
        calls.append(dict(conf.getAll()))

    for name in session._REMOTE:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(SparkContext, "_gateway", None)
    monkeypatch.setattr(SparkContext, "_jvm", None)
    monkeypatch.setattr(SparkContext, "_ensure_initialized", started)
    monkeypatch.setattr(session, "active_session", lambda: None)
    monkeypatch.setattr(session, "_launch", None)
    yield calls
    session._launch = None


def test_java_is_started_once_with_the_settings_of_the_session(launched: list[dict[str, str]]) -> None:
    session.launch_java("local[2]", memory="3g", conf={"spark.ui.enabled": "true"})
    session.launch_java("local[2]", memory="3g")
    session._wait_for_java()
    assert len(launched) == 1
    assert launched[0]["spark.master"] == "local[2]"
    assert launched[0]["spark.driver.memory"] == "3g"
    assert launched[0]["spark.ui.enabled"] == "true"
    assert session._launch is None


@pytest.mark.parametrize("name", session._REMOTE)
def test_none_is_started_for_spark_connect(
    launched: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    session.launch_java(conf={"spark.remote": "sc://here"})
    monkeypatch.setenv(name, "1")
    session.launch_java()
    session._wait_for_java()
    assert launched == []


def test_none_is_started_beside_a_session(launched: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "active_session", object)
    session.launch_java()
    session._wait_for_java()
    assert launched == []


def test_what_goes_wrong_is_told_with_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*, conf: SparkConf) -> None:
        raise RuntimeError("Java gateway process exited before sending its port number")

    monkeypatch.setattr(SparkContext, "_ensure_initialized", fails)
    session.launch_java()
    with pytest.raises(EmberlogError, match="DL421") as caught:
        session.start_session()
    assert "exited before sending its port number" in str(caught.value)
