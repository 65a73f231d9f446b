"""The measurement of scale: simulated workers on the real code, few of them."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import numpy.typing as npt
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


def rounds_of_components(arcs: npt.NDArray[np.int64]) -> list[tuple[int, int]]:
    """For each round, the contributions and the keys that they are for."""
    labels = np.arange(arcs.max() + 1)
    changed = np.isin(labels, arcs[0])
    found = []
    while changed.any():
        live = arcs[:, changed[arcs[0]]]
        found.append((live.shape[1], len(np.unique(live[1]))))
        better = labels.copy()
        np.minimum.at(better, live[1], labels[live[0]])
        labels, changed = better, better < labels
    return found


def test_what_components_send_has_its_law() -> None:
    """In a round a key leaves each worker that has something for it once, if it is better than what left before."""
    ends = np.random.default_rng(3).integers(0, 3000, (2, 12_000))
    arcs = np.unique(np.hstack([ends, ends[::-1]]), axis=1)
    tables = {"arc": pa.table({"c0": arcs[0], "c1": arcs[1]})}
    for workers in (2, 4, 8, 16):
        found = measure(CASES["cc"].text, tables, workers, CASES["cc"].execution)
        abroad = (workers - 1) / workers
        rows = sum(found.bytes_sent) / workers / 16 - abroad * arcs.shape[1] / workers
        law = abroad * sum(keys * (1 - math.exp(-given / keys / workers)) for given, keys in rounds_of_components(arcs))
        assert 0.75 * law < rows < 1.03 * law


@pytest.mark.parametrize("workers", [40, 64])
def test_no_worker_has_much_more_than_its_share_of_a_star(workers: int) -> None:
    leaves = np.arange(1, 20_000)
    centre = np.zeros_like(leaves)
    star = pa.table({"c0": np.hstack([centre, leaves]), "c1": np.hstack([leaves, centre])})
    found = measure(CASES["cc"].text, {"arc": star}, workers, CASES["cc"].execution)
    assert max(found.held) < 1.5 * star.num_rows / workers
    assert max(found.facts) < 1.5 * 20_000 / workers


def test_few_values_are_even() -> None:
    tree = np.arange(1, 364)
    found = measure(CASES["sg"].text, {"arc": pa.table({"c0": (tree - 1) // 3, "c1": tree})}, 24, CASES["sg"].execution)
    assert max(found.facts) < 1.2 * sum(found.facts) / 24


def test_a_failure_of_one_ends_all() -> None:
    text = "declare arc(int a, int b).\np(X, Y) :- arc(X, Y).\np(X, Z) :- p(X, Y), arc(Y, W), Z = W / (W - 30).\n"
    with pytest.raises(Exception, match="zero"):
        measure(text, CHAIN, 3, Execution(mode="bsp", representation="hash"))


def test_the_report(tmp_path: Path) -> None:
    lines = list(run(["points-to"], [2], tmp_path))
    assert lines[0].startswith("| case | workers | rounds |")
    assert lines[2].startswith("| points-to | 2 |")
    assert (tmp_path / "scale.json").exists()
