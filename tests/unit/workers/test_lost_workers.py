"""How the driver learns that a worker is lost, and what it makes of what Spark says."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from emberlog.diagnostics import EmberlogError
from emberlog.engines.spark import worker_stage
from emberlog.engines.spark.failures import NotHere, failure_of
from emberlog.engines.spark.job import Status
from emberlog.engines.spark.worker_stage import Watchdog
from emberlog.workers.plan.mode import Mode
from emberlog.workers.store.folders import LocalFolder
from emberlog.workers.wire import rendezvous
from emberlog.workers.wire.draining import Lost, check_files, relation_folder
from emberlog.workers.wire.handshake import Credentials, new_key
from emberlog.workers.wire.merged_progress import MergedProgress
from emberlog.workers.wire.messages import Progress
from emberlog.workers.wire.presence import Heartbeat
from emberlog.workers.wire.rendezvous import Met, meet
from emberlog.workers.wire.tracker import Tracker
from tests.unit.workers.task_runs import Barrier, job_for, run_tasks

OURS = Credentials("run", 0, new_key())
SOON = 0.4


class Hearing:
    """A tracker of one worker, and what it says of it."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.progress: list[Progress] = []
        told = MergedProgress(1, self.progress.append, Mode.BSP)
        self.tracker = Tracker("127.0.0.1", 1, OURS, told, self.problems.append, SOON)
        self.met: Met = meet(0, 1, "127.0.0.1", OURS, self.tracker.address, lambda _: [])


@pytest.fixture
def hearing() -> Iterator[Hearing]:
    hearing = Hearing()
    yield hearing
    hearing.met.close()
    hearing.tracker.close()
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("emberlog")]


def wait_for(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_worker_that_falls_silent_is_lost(hearing: Hearing) -> None:
    hearing.met.beat()
    wait_for(lambda: bool(hearing.problems))
    assert hearing.problems == ["worker 0 gave no sign of life for 0.4 seconds"]


def test_a_worker_with_a_pulse_is_not_lost_however_long_it_computes(hearing: Hearing) -> None:
    heartbeat = Heartbeat(hearing.met, SOON, lambda: pytest.fail("the driver listens"))
    time.sleep(3 * SOON)
    hearing.met.tell(Progress(1, 2, 3))
    wait_for(lambda: bool(hearing.progress))
    heartbeat.stop()
    hearing.met.close()
    hearing.tracker.close()
    assert not hearing.problems


def test_a_worker_sees_that_the_driver_hangs_up(hearing: Hearing) -> None:
    abandoned = threading.Event()
    heartbeat = Heartbeat(hearing.met, SOON, abandoned.set)
    hearing.tracker.close(0.0)
    assert abandoned.wait(20)
    heartbeat.stop()


def test_a_worker_that_is_gone_without_a_word_is_lost(hearing: Hearing) -> None:
    assert hearing.met.tracker is not None
    hearing.met.tracker.close()
    wait_for(lambda: bool(hearing.problems))
    assert hearing.problems == ["the connection to worker 0 was lost"]


def test_a_lookout_stops_the_job_unless_it_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_stage, "NOTICE_SECONDS", 0.01)
    stopped = threading.Event()
    watching = Watchdog(stopped.set)
    watching.lost("first")
    watching.lost("second")
    assert stopped.wait(20)
    assert watching.reason == "first"
    watching.close()
    late = Watchdog(lambda: pytest.fail("the job was over"))
    late.close()
    late.lost("too late")
    assert late.reason is None


def test_a_lookout_lets_the_other_workers_end_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their processes are of use to the next attempt. One that does not notice is stopped all the same."""
    monkeypatch.setattr(worker_stage, "NOTICE_SECONDS", 0.01)
    monkeypatch.setattr(worker_stage, "PARTING_SECONDS", 60.0)
    others, stopped = [1, 2], threading.Event()
    watching = Watchdog(stopped.set)
    watching.others = lambda: len(others)
    watching.lost("one of three")
    assert not stopped.wait(0.2)
    others.clear()
    assert stopped.wait(20)
    watching.close()
    monkeypatch.setattr(worker_stage, "PARTING_SECONDS", 0.05)
    stuck = Watchdog(stopped.set)
    stopped.clear()
    stuck.others = lambda: 1
    stuck.lost("one of two")
    assert stopped.wait(20)
    stuck.close()


def test_what_can_be_tried_again() -> None:
    killed = failure_of(RuntimeError("SparkException: Python worker exited unexpectedly (crashed)"))
    assert isinstance(killed, Lost)
    gone = failure_of(RuntimeError("Could not recover from a failed barrier ResultStage. ExecutorLostFailure (…)"))
    assert isinstance(gone, Lost)


def test_what_cannot() -> None:
    missing = failure_of(RuntimeError("ModuleNotFoundError: No module named 'emberlog'"))
    assert isinstance(missing, NotHere)
    crashed = failure_of(
        RuntimeError("failed barrier\nTraceback (most recent call last):\n  File …\nValueError: what\n\n\tat java")
    )
    assert isinstance(crashed, EmberlogError)
    assert "a worker stopped: ValueError: what" in str(crashed)
    ended = failure_of(ConnectionRefusedError("refused"))
    assert isinstance(ended, EmberlogError)
    assert "Java process ended" in str(ended)
    other = ValueError("something else")
    assert failure_of(other) is other


def test_a_worker_that_cannot_be_reached_is_told_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not as lost, which would be tried again and again; and the text names both ends."""
    monkeypatch.setattr(rendezvous, "HANDSHAKE_SECONDS", 0.0)
    monkeypatch.setattr(rendezvous, "CONNECT_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as once:
        nowhere = once.getsockname()[1]

    class Misled(Barrier):
        def allGather(self, text: str, /) -> list[str]:
            host, _, attempt = json.loads(super().allGather(text)[0])
            return [json.dumps([host, nowhere, attempt]), *self.texts[1:]]

    job = job_for("far(Y) :- arc(1, Y). far(Y) :- far(X), arc(X, Y).\n", {"arc": [(1, 2)]}, tmp_path)
    summaries = run_tasks(replace(job, tracker=None), monkeypatch, Misled(2))
    assert [one.status for one in summaries] == [Status.LOST, Status.UNREACHABLE]
    assert summaries[0].message == f"worker 1 at 127.0.0.1 did not dial worker 0 at 127.0.0.1:{nowhere}"
    said = f"worker 0 at 127.0.0.1:{nowhere} could not be reached from worker 1 at 127.0.0.1: Connection refused"
    assert summaries[1].message == said


def test_files_that_are_not_complete(tmp_path: Path) -> None:
    name = f"{relation_folder(0)}/part-0-0.parquet"
    (tmp_path / name).parent.mkdir()
    (tmp_path / name).write_bytes(b"abcd")
    check_files(LocalFolder(tmp_path), {name: 4})
    with pytest.raises(Lost, match="a worker wrote 5 bytes, and the file has 4"):
        check_files(LocalFolder(tmp_path), {name: 5})
    (tmp_path / name).unlink()
    with pytest.raises(Lost, match="is gone"):
        check_files(LocalFolder(tmp_path), {name: 4})
