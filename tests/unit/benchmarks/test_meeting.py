"""The measurement of meetings: real ones, of few workers."""

from __future__ import annotations

import pytest
from benchmarks.meeting import RoundCost, measured_meeting, measured_rounds

from emberlog.workers.wire import routes


def test_all_connected() -> None:
    found: list[RoundCost] = []
    cost = measured_meeting(6, 3, lambda teams: found.append(measured_rounds(teams, 2)))
    assert cost.connections == 6 and cost.cpu_seconds >= cost.mean_cpu_seconds > 0
    assert found[0].frames == 5


def test_host_by_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more connections than hosts and workers of one; a frame over each in a round."""
    monkeypatch.setattr(routes, "MOST_DIRECT", 1)
    found: list[RoundCost] = []
    cost = measured_meeting(12, 3, lambda teams: found.append(measured_rounds(teams, 2)))
    assert cost.connections == 3 - 1 + 4 - 1 + 1
    assert found[0].frames == 3 - 1 + 4 - 1
