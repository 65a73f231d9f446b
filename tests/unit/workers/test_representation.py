"""The choice of a representation, from figures and from data."""

from __future__ import annotations

import random

import numpy as np
import pytest

from emberlog.semantics.model import Fact
from emberlog.workers.fixpoint.closures import grouped, sampled
from emberlog.workers.plan.representation import (
    ClosureSample,
    MatrixSize,
    Representation,
    choose_closure,
    choose_matrix,
)
from emberlog.workers.store.numbering import packed
from tests.unit.workers.factored_runs import DENSE, SG, TC, ran


def test_closures_that_overlap_are_computed_together() -> None:
    choice = choose_closure(ClosureSample(10_000, 64, 640_000, 6_400_000, 370_000), 10_000)
    assert choice.representation is Representation.LANES
    assert choice.why == "bit lanes: 10,000 sources, about 10,000 of 10,000 values each, 6.5 times cheaper together"


def test_small_closures_are_computed_one_by_one() -> None:
    choice = choose_closure(ClosureSample(18_000, 64, 700, 700, 690), 71_000)
    assert choice.representation is Representation.MARKS
    assert choice.why == "marks: 18,000 sources, about 11 of 71,000 values each, 81.6 times cheaper one by one"


def test_few_sources_are_not_worth_a_sample() -> None:
    assert choose_closure(ClosureSample(1, 0, 0, 0, 0), 99).why == "marks: 1 source to close"
    assert choose_closure(ClosureSample(7, 0, 0, 0, 0), 99).representation is Representation.MARKS
    choice = choose_closure(ClosureSample(8, 0, 0, 0, 0), 99)
    assert choice.representation is Representation.LANES
    assert choice.why == "bit lanes: 8 sources to close, too few to try some first"


def test_a_matrix_that_fits() -> None:
    choice = choose_matrix(MatrixSize(10_000, 10_000, 5_000), workers=2, memory=1 << 24)
    assert choice.representation is Representation.ROWS
    assert choice.why == "bit rows: 10,000 x 10,000 values, 12.6 MB on each worker"


def test_a_matrix_that_does_not_fit() -> None:
    choice = choose_matrix(MatrixSize(1_000_000, 1_000_000, 1_000_000), workers=1, memory=1 << 32)
    assert choice.representation is Representation.HASH
    assert choice.why == (
        "hash: a bit matrix of 1,000,000 x 1,000,000 values, 375,000.0 MB on each worker is more than 4,295.0 MB"
    )


def dense_graph() -> list[Fact]:
    chance = random.Random(0)
    return [(chance.randrange(300), chance.randrange(300)) for _ in range(3000)]


def forest() -> list[Fact]:
    return [(i, 10_000 + 10 * i + j) for i in range(5000) for j in range(3)]


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_choices_from_data(workers: int) -> None:
    def chosen(text: str, arcs: list[Fact], **options: int) -> set[Representation]:
        result = ran(text, {"arc": arcs}, workers=workers, **options)  # type: ignore[arg-type]
        return {choice.representation for choice in result.choices}

    assert chosen(TC, dense_graph()) == {Representation.LANES}
    assert chosen(TC, forest()) == {Representation.MARKS}
    assert chosen(SG, dense_graph()) == {Representation.ROWS}
    assert chosen(SG, dense_graph(), memory=1000) == {Representation.HASH}


def test_what_is_asked_for_is_done() -> None:
    for representation in (*DENSE, Representation.HASH):
        (choice,) = ran(TC, {"arc": forest()}, representation).choices
        assert (choice.representation, choice.why) == (representation, f"{representation.value}: asked for")


def test_what_cannot_be_done_is_said() -> None:
    (choice,) = ran(SG, {"arc": [(1, 2), (1, 3)]}, Representation.LANES).choices
    assert choice.representation is Representation.ROWS
    assert choice.why.endswith("; lanes needs a decomposed plan with a free column")


@pytest.mark.parametrize(("degree", "chosen"), [(5, Representation.LANES), (0, Representation.MARKS)])
def test_many_sources_are_sampled(degree: int, chosen: Representation) -> None:
    count = 2500
    chance = random.Random(0)
    ends = np.array([(a, chance.randrange(count)) for a in range(count) for _ in range(degree)], np.int32)
    steps = packed(ends.reshape(-1, 2)[:, 0], ends.reshape(-1, 2)[:, 1], count)
    sources = grouped(np.arange(count), np.arange(count), count)
    sample = sampled(steps, sources)
    assert (sample.sources, sample.sampled) == (count, 128)
    assert sample.facts >= 128
    assert choose_closure(sample, count).representation is chosen


def test_the_reason_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger="emberlog"):
        ran(SG, {"arc": [(1, 2), (1, 3)]}, Representation.ROWS, workers=3)
    assert [record.getMessage() for record in caplog.records] == ["sg: rows: asked for"]
