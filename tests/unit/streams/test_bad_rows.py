"""Rows that cannot be used are put aside with the reason, and the stream goes on without them."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pytest
from pyspark import cloudpickle

from emberlog.config import StreamOptions
from emberlog.diagnostics import EmberlogError
from emberlog.language import faults
from emberlog.live.slides import LivePlan
from emberlog.semantics.model import Fact
from emberlog.streams.evaluate.methods import plan_evaluation
from emberlog.streams.plan.needed_columns import needed_columns
from emberlog.streams.spark.task import evaluator_of
from emberlog.streams.steps.checkpoint import Checkpoint
from emberlog.streams.steps.culprits import VALUE_FAULTS
from emberlog.streams.steps.quarantine import inspect
from emberlog.streams.steps.spec import Spec
from emberlog.streams.steps.tables import TableWriter
from tests.programs import checked
from tests.streams import stream_case
from tests.unit.streams.stream_runs import Delivered, Source, run

PROGRAM = """
STREAM ride(Ts: timestamp, From: string, To: string, Fare: int).
RELATION hub(City: string, Note: string).
best(Ts, A, max<F>) :- ride(Ts, A, _, F), hub(A, _).
share(Ts, A, V) :- ride(Ts, A, _, F), V = 100 div F.
query best(_, A, F), WINDOW(10, 5).
query share(_, A, V), WINDOW(10, 5).
"""
TYPED = """
type Place = Place(name: string).
STREAM ride(Ts: timestamp, From: Place, To: string, Fare: unsigned).
at(Ts, P, F) :- ride(Ts, P, _, F).
twice(Ts, $Place(T2)) :- ride(Ts, _, T, _), T2 = cat(T, T).
query at(_, P, F), WINDOW(10, 5).
query twice(_, P), WINDOW(10, 5).
"""
OTHER = """
STREAM ride(Ts: timestamp, From: string, To: string, Fare: int).
to(B, count<F>) :- ride(_, _, B, F).
query to(B, N), WINDOW(10, 5).
"""
Evaluation = Literal["incremental", "simple", "live"]
EVALUATIONS: tuple[Evaluation, ...] = ("incremental", "simple", "live")


def spec_of(folder: Path, text: str, evaluation: Evaluation = "incremental", bad: str = "keep") -> Spec:
    case = stream_case(text, {"hub": [("A", None), ("B", "x")]} if "hub" in text else {})
    plan = cloudpickle.dumps(plan_evaluation(case.maintenance, evaluation, live=LivePlan))  # type: ignore[no-untyped-call]
    checkpoint = Checkpoint(str(folder))
    for name, table in case.static_tables().items():
        writer = TableWriter(checkpoint.static(name), "all.parquet", table.schema)
        writer.write(table)
        writer.close()
    return Spec(
        query="bad",
        options=StreamOptions(str(folder), bad=bad, outputMode="complete"),
        schedule=case.schedule,
        streams={name: tuple(case.columns[name]) for name in case.program.streams},
        statics=tuple(case.statics),
        outputs=case.program.outputs,
        plain_times=True,
        make=partial(evaluator_of, plan, case.schedule, False),
        needed=needed_columns(case.checked),
    )


def batch(rows: list[Fact]) -> dict[str, pa.Table]:
    schema = pa.schema([("c0", pa.int64()), ("c1", pa.string()), ("c2", pa.string()), ("c3", pa.int64())])
    columns = zip(*rows, strict=True)
    return {"ride": pa.table([list(column) for column in columns], schema=schema)}


def test_columns_that_a_program_needs() -> None:
    text = "STREAM s(Ts: timestamp, A: int, B: int, C: int).\nRELATION r(X: int, Y: int).\n"
    assert needed_columns(checked(text + "p(A) :- s(_, A, _, B), r(A, Unused)."))["s"] == {0, 1}
    assert needed_columns(checked(text + "p(A) :- s(_, A, 5, B), !r(B, A)."))["s"] == {0, 1, 2, 3}
    assert needed_columns(checked(text + "p(A) :- s(_, A, _, _), r(A, _)."))["r"] == {0}
    assert needed_columns(checked(text + "query s(_, A, _, _)."))["s"] == {0, 1, 2, 3}


def test_the_reason_says_what_is_missing_and_what_was_there() -> None:
    columns = stream_case(PROGRAM).columns["ride"]
    rows = batch([(1, "A", None, 5), (None, "A", "B", 5), (2, None, "C", None), (3, "A", "B", None)])["ride"]
    rows = rows.append_column("malformed", pa.array([None, None, "B;C", "12o"]))
    found = inspect(rows, columns, frozenset({0, 1, 3}))
    assert found.good.to_pylist() == [{"c0": 1, "c1": "A", "c2": None, "c3": 5}]
    reasons = ["Ts has no value", "From has no value: B;C", "Fare has no value: 12o"]
    assert found.bad.column("reason").to_pylist() == reasons


@pytest.mark.parametrize("evaluation", EVALUATIONS)
def test_a_null_that_no_rule_reads_does_nothing_and_any_other_is_put_aside(
    evaluation: Evaluation, tmp_path: Path
) -> None:
    spec = spec_of(tmp_path, PROGRAM, evaluation)
    delivered = Delivered(spec)
    batches = [
        batch([(1, "A", None, 20), (1, "A", "B", 20), (2, "A", "C", None), (None, "A", "C", 7)]),
        batch([(3, None, None, 5), (12, "B", None, 50)]),
    ]
    run(spec, Source(batches), delivered, closes=True)
    assert delivered.rows("best") == [(5, "A", 20), (10, "A", 20), (15, "B", 50)]
    assert [one.bad for one in delivered.measures] == [2, 1, 0]
    assert delivered.records[-1].totals.bad == 3
    assert delivered.quarantined() == [
        (2, "A", "C", None, "Fare has no value", 0),
        (3, None, None, 5, "From has no value", 1),
        (None, "A", "C", 7, "Ts has no value", 0),
    ]


@pytest.mark.parametrize("evaluation", EVALUATIONS)
def test_a_tuple_that_a_rule_has_no_value_for_is_put_aside(evaluation: Evaluation, tmp_path: Path) -> None:
    """Also if it has waited in the log since an earlier batch, and whatever else comes with it."""
    spec = spec_of(tmp_path, PROGRAM, evaluation)
    delivered = Delivered(spec)
    good = [(time, "A", "B", time) for time in range(1, 9)]
    batches = [
        batch([(3, "A", "B", 0), *good]),
        batch([(9, "B", "B", 0), (11, "A", "B", 10)]),
        batch([(30, "A", "B", 10)]),
    ]
    run(spec, Source(batches), delivered, closes=False)
    assert {row[:3] for row in delivered.quarantined()} == {(3, "A", "B"), (9, "B", "B")}
    assert all("DL501" in str(row[4]) for row in delivered.quarantined())
    assert [row for row in delivered.rows("share") if row[0] == 5] == [
        (5, "A", 100 // fare) for fare in (5, 4, 3, 2, 1)
    ]
    # What is made again from the log has none of them, and goes on.
    again = Source([*batches, batch([(45, "A", "B", 20)])], done=len(batches))
    run(spec, again, delivered, closes=True)
    assert (45, "A", 5) in delivered.rows("share")


@pytest.mark.parametrize("evaluation", EVALUATIONS)
def test_what_is_no_value_of_a_declared_type_is_put_aside(evaluation: Evaluation, tmp_path: Path) -> None:
    spec = spec_of(tmp_path, TYPED, evaluation)
    delivered = Delivered(spec)
    rows: list[Fact] = [
        (1, '$Place("A")', "x", 5),
        (2, "A", "x", 6),
        (3, '$Place("B")', "x", -7),
        (4, "$Place( C )", "x", 8),  # written in another way
        (5, '$Place("D")', "x" * 20_000, 9),
    ]
    run(spec, Source([batch(rows)]), delivered, closes=True)
    assert delivered.rows("at") == [(5, '$Place("A")', 5), (5, '$Place("C")', 8)]
    reasons = {row[0]: str(row[4]) for row in delivered.quarantined()}
    assert reasons[2] == "`A` is no value of the type `Place`"
    assert reasons[3] == "-7 is no unsigned"
    assert reasons[5].startswith("DL518: this value has more than")
    assert set(reasons) == {2, 3, 5}


def test_another_program_goes_on_with_the_tuples_that_it_can_use(tmp_path: Path) -> None:
    first, second = spec_of(tmp_path, PROGRAM), spec_of(tmp_path, OTHER)
    before, after = Delivered(first), Delivered(second)
    batches = [batch([(11, "A", None, 20), (12, "A", "B", 30), (14, "C", "B", 10)]), batch([(17, "A", "B", 5)])]
    run(first, Source(batches), before, closes=False)
    assert [one.totals.bad for one in before.records] == [0, 0]
    run(second, Source([*batches, batch([(23, "B", "D", 1)])], done=len(batches)), after, closes=True)
    assert after.rows("to") == [(20, "B", 3), (25, "B", 1), (25, "D", 1)]
    assert after.measures[0].is_rebuilt


def test_every_fault_of_the_language_can_be_that_of_a_tuple() -> None:
    folder = Path(faults.__file__).parent
    codes = {code for file in folder.glob("*.py") for code in re.findall(r'Fault\(\s*"(DL\d+)"', file.read_text())}
    assert {"DL501", "DL507", "DL518"} <= codes <= VALUE_FAULTS


def test_a_fault_without_a_tuple_is_an_error(tmp_path: Path) -> None:
    text = PROGRAM + "query p(V).\np(V) :- hub(_, N), V = int(N).\n"
    with pytest.raises(EmberlogError, match="DL503"):
        spec = spec_of(tmp_path, text)
        run(spec, Source([batch([(1, "A", "B", 1), (20, "A", "B", 1)])]), Delivered(spec), closes=False)


def test_bad_rows_can_end_a_query(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, PROGRAM, bad="fail")
    with pytest.raises(EmberlogError, match=r"DL330.*1 rows? of a batch"):
        run(spec, Source([batch([(1, None, "B", 1)])]), Delivered(spec), closes=False)


def test_an_empty_answer_is_told(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, PROGRAM)
    delivered = Delivered(spec)
    run(spec, Source([batch([(1, "A", "B", 20)]), batch([(40, "C", "B", 20)])]), delivered, closes=False)
    told = [row for row in delivered.rows("slides") if row[1] == "best"]
    assert told == [(5, "best", 1, True), (10, "best", 1, True), (15, "best", 0, True)]
