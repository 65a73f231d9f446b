"""The measurement of scale: simulated workers on the real code, few of them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from benchmarks.scale.cases import CASES
from benchmarks.scale.run import run
from benchmarks.scale.team import measure

from emberlog.config import Execution

CHAIN = {"arc": pa.table({"c0": range(60), "c1": range(1, 61)})}


@pytest.mark.parametrize("name", ["tc", "cc"])
def test_the_answer_does_not_depend_on_the_number_of_workers(name: str) -> None:
    found = [sum(measure(CASES[name].text, CHAIN, workers, CASES[name].execution).facts) for workers in (1, 2, 5)]
    assert found == ([60 * 61 // 2] * 3 if name == "tc" else [61] * 3)


def test_what_a_worker_sends_falls_with_their_number() -> None:
    arcs = {"arc": pa.table({"c0": [number // 2 for number in range(1, 4000)], "c1": range(1, 4000)})}
    sent = [max(measure(CASES["tc"].text, arcs, workers, CASES["tc"].execution).bytes_sent) for workers in (2, 4, 8)]
    assert sent == sorted(sent, reverse=True)


def test_a_failure_of_one_ends_all() -> None:
    text = "declare arc(int a, int b).\np(X, Y) :- arc(X, Y).\np(X, Z) :- p(X, Y), arc(Y, W), Z = W / (W - 30).\n"
    with pytest.raises(Exception, match="zero"):
        measure(text, CHAIN, 3, Execution(mode="bsp", representation="hash"))


def test_the_report(tmp_path: Path) -> None:
    lines = list(run(["points-to"], [2], tmp_path))
    assert lines[0].startswith("| case | workers | rounds |")
    assert lines[2].startswith("| points-to | 2 |")
    assert (tmp_path / "scale.json").exists()
