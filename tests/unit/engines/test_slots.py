"""How many workers a session has room for, by what it says and does not say."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from emberlog.engines.spark import slots
from emberlog.engines.spark.slots import Slots, slots_after_a_loss


@dataclass(eq=False)
class FakeSession:
    """A session whose executors come one by one: so many slots at each look."""

    settings: dict[str, str]
    counts: list[int]
    age: float = 0.0
    looks: int = 0
    conf: Any = field(init=False)
    sparkContext: Any = field(init=False)

    def __post_init__(self) -> None:
        self.conf = SimpleNamespace(get=lambda name, default=None: self.settings.get(name, default))
        manager = SimpleNamespace(defaultResourceProfile=lambda: None)
        context = SimpleNamespace(
            maxNumConcurrentTasks=self.look,
            resourceProfileManager=lambda: manager,
            startTime=lambda: int((time.time() - self.age) * 1000),
        )
        self.sparkContext = SimpleNamespace(
            master=self.settings["spark.master"], _jsc=SimpleNamespace(sc=lambda: context)
        )

    def look(self, _: object) -> int:
        self.looks += 1
        return self.counts[min(self.looks, len(self.counts)) - 1]


def of(counts: list[int], **settings: str) -> Slots:
    dotted = {f"spark.{name.replace('_', '.')}": value for name, value in settings.items()}
    session: Any = FakeSession({"spark.master": "spark://host:7077", **dotted}, counts)
    return Slots.of(session)


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "SETTLED_SECONDS", 0.3)


def test_executors_that_were_asked_for_are_waited_for() -> None:
    """The first one is not the whole cluster."""
    found = of([0, 2, 2, 2, 2, 2, 2, 8], executor_instances="4", executor_cores="4", task_cpus="2")
    assert (found.count, found.most, found.unasked) == (8, 8, 8)


def test_without_a_number_until_no_more_come() -> None:
    assert of([0, 1, 2, 3, 4]).count == 4


def test_an_old_session_is_taken_as_it_is() -> None:
    session: Any = FakeSession({"spark.master": "spark://host:7077", "spark.executor.instances": "4"}, [3, 9], 60)
    assert Slots.of(session).count == 3
    assert session.looks == 1


def test_nobody_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "WAIT_SECONDS", 0.5)
    assert of([0]).count == 0


def test_dynamic_allocation() -> None:
    dynamic = {"dynamicAllocation_enabled": "true"}
    limited = of([0], **dynamic, dynamicAllocation_maxExecutors="5", executor_cores="4")
    assert (limited.count, limited.most, limited.unasked) == (0, 20, 20)
    assert limited.barrier_obstacle is not None
    many = of([4], **dynamic, dynamicAllocation_maxExecutors="500", executor_cores="4")
    assert (many.most, many.unasked) == (2000, slots.MOST_UNASKED)
    for name in ({}, {"dynamicAllocation_maxExecutors": str(2**31 - 1)}):
        unlimited = of([6], **dynamic, **name)
        assert (unlimited.most, unlimited.unasked) == (None, 6)


def test_a_local_master_brings_no_executors() -> None:
    found = of([2], master="local[2]", dynamicAllocation_enabled="true")
    assert (found.count, found.most, found.is_one_machine, found.barrier_obstacle) == (2, 2, True, None)


def test_after_a_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    back: Any = FakeSession({"spark.master": "spark://host:7077"}, [2, 2, 4])
    gone: Any = FakeSession({"spark.master": "spark://host:7077"}, [2])
    assert slots_after_a_loss(back, 4, 1_000.0) == 4
    monkeypatch.setattr(slots, "LEAST_WAIT_SECONDS", 0.2)
    assert slots_after_a_loss(gone, 4, 0.0) == 2
    assert gone.looks < 10


def test_with_no_executor_left_one_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "LEAST_WAIT_SECONDS", 0.2)
    late: Any = FakeSession({"spark.master": "spark://host:7077"}, [0] * 8 + [1])
    assert slots_after_a_loss(late, 4, 0.0) == 1


def test_a_long_run_waits_longer_for_executors(monkeypatch: pytest.MonkeyPatch) -> None:
    """A short one goes on with those that are there."""
    waited: list[float] = []
    monkeypatch.setattr(slots, "_tasks_at_once", lambda _spark, _wanted, patience: waited.append(patience))
    for seconds in (1.0, 200.0, 100_000.0):
        slots_after_a_loss(FakeSession({"spark.master": "spark://host:7077"}, [2]), 4, seconds)  # type: ignore[arg-type]
    assert waited == [slots.LEAST_WAIT_SECONDS, 10.0, slots.WAIT_SECONDS]
    slots_after_a_loss(FakeSession({"spark.master": "spark://host:7077"}, [2]), 4, 12.0, is_bound=True)  # type: ignore[arg-type]
    assert waited[-1] == 12.0
