"""Ablations: plans are compared before anything is measured, answers always, and the report has a row for each pass."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from benchmarks import results
from benchmarks.ablation.measure import Patience, ablations
from benchmarks.ablation.record import GIVEN_UP, IN_PROCESS, MEASURED, ON_SPARK, SAME_PLAN, WRONG, Ablation, Costs
from benchmarks.ablation.subjects import SIZES, subjects
from benchmarks.ablation.trial import Subject
from benchmarks.pass_cases import CASES
from benchmarks.report.write import write_report
from benchmarks.results import Run

from emberlog.database import Database
from emberlog.io.local_relation import LocalRelation
from emberlog.optimize.pipeline import PASS_NAMES
from emberlog.result import Result
from tests.unit.benchmarks.test_report import MACHINE

HOPS = "to(A, C) :- arc(A, B), arc(B, C), few(C)."
ENDLESS = "n(X, min<D>) :- p(X, D). p(X, D) :- start(X), D = 0. p(X, D) :- p(X, C), D = C + 1. n(X, D)?"


def subject(database: Database[LocalRelation], text: str, agree: bool = True) -> Subject[frozenset[tuple[object, ...]]]:
    def facts(result: Result[LocalRelation]) -> frozenset[tuple[object, ...]]:
        return frozenset((name, *fact) for name in result for fact in result[name].facts)

    return Subject(
        "hops", IN_PROCESS, database, text, lambda _result: None, facts, lambda one, other: (one == other) is agree
    )


def filled() -> Database[LocalRelation]:
    database = Database(engine="local")
    database["arc"] = [(one, (one * 7 + step) % 50) for one in range(50) for step in range(5)]
    database["few"] = [(3,)]
    database["start"] = [(1,)]
    return database


def test_a_pass_that_changes_no_plan_costs_no_run_and_others_are_measured() -> None:
    told: list[str] = []
    with filled() as database:
        found = ablations(subject(database, HOPS), ("linearise", "reorder_joins"), Patience(3, 10.0), told.append)
    same, measured = found
    assert (same.part, same.outcome, same.whole, same.gain) == ("linearise", SAME_PLAN, None, None)
    assert (measured.part, measured.outcome) == ("reorder_joins", MEASURED)
    assert measured.whole is not None and measured.without is not None
    assert len(measured.whole.seconds) == len(measured.without.seconds) == 3
    assert len(told) == 1


def test_answers_that_differ_are_told() -> None:
    with filled() as database:
        (found,) = ablations(subject(database, HOPS, agree=False), ("reorder_joins",), Patience(1, 10.0), print)
    assert (found.outcome, found.gain) == (WRONG, None)


def test_a_program_that_has_no_end_without_a_pass_is_given_up() -> None:
    with filled() as database:
        (found,) = ablations(subject(database, ENDLESS), ("push_aggregate_into_recursion",), Patience(2, 0.3), print)
    assert found.outcome == GIVEN_UP
    assert found.whole is not None and found.without is not None
    assert len(found.whole.seconds) == 2 and len(found.without.seconds) == 1


def test_every_pass_has_a_case_of_its_own_and_every_size_the_same_programs() -> None:
    assert {case.without for case in CASES} == set(PASS_NAMES)
    programs = [[workload.program_name for workload in subjects(size)] for size in SIZES]
    assert programs[0] == programs[1]


def test_the_report_has_a_row_for_each_pass_and_folders_are_merged(tmp_path: Path) -> None:
    fast, slow = Costs((0.5, 0.4, 0.6), 100, 2**20, 7), Costs((1.0, 1.1, 0.9), 300, 2**21, 7)
    first = Run("now", "ablation", 2, 4.0, 3, 60.0, MACHINE, (), (), (), (
        Ablation("simplify", "tc/g1k", ON_SPARK, SAME_PLAN),
        Ablation("linearise", "tc/g1k", ON_SPARK, MEASURED, slow, fast),
    ))  # fmt: skip
    second = replace(first, ablations=(
        Ablation("linearise", "tc/g1k", ON_SPARK, MEASURED, fast, slow),
        Ablation("linearise", "a closure", IN_PROCESS, GIVEN_UP, fast, replace(slow, seconds=(60.0,), rows=None)),
    ))  # fmt: skip
    for name, run in (("one", first), ("two", second)):
        run.write(tmp_path / name)
    merged = results.merged([results.read(tmp_path / "one"), results.read(tmp_path / "two")])
    text = write_report(merged, tmp_path)[0].read_text(encoding="utf-8")
    assert "| simplify | **–** | same plan |" in text
    assert "| linearise | **120 ×** | **0.500 → 1.00 (2.00 ×)** |" in text
    assert "| linearise | 100 → 300 |" in text
    assert "| linearise | 1.00 → 2.00 |" in text
    assert "| linearise | 7 |" in text
    assert "| linearise | a closure | **0.500 → over 60.0 (over 120 ×)** | 100 → – | 7 |" in text
    assert "## Time\n" not in text
