"""`Database(engine="local")`: the same interface without Spark."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import emberlog
from emberlog.engines.local.engine import LocalEngine
from emberlog.events import Event, IterationFinished
from emberlog.logical.statistics import RelationStatistics
from emberlog.semantics.model import Relation

REACH = "reach(X, Y) :- arc(X, Y). reach(X, Z) :- reach(X, Y), arc(Y, Z)."
SOURCES = Path(__file__).parents[2] / "src"


@pytest.fixture
def db() -> emberlog.Database[emberlog.LocalRelation]:
    return emberlog.Database(engine="local")


Local = emberlog.Database["emberlog.LocalRelation"]


def code_of(error: pytest.ExceptionInfo[emberlog.EmberlogError]) -> str:
    return error.value.diagnostics[0].code


def test_a_program(db: Local) -> None:
    db["arc"] = [(1, 2), (2, 3), (3, 4), (1, 2)]
    result = db.datalog(REACH)
    assert list(result) == ["reach"]
    reach = result["reach"]
    assert (reach.columns, reach.count(), len(reach)) == (["X", "Y"], 6, 6)
    assert sorted(reach.collect()) == sorted(reach) == [(1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)]
    assert reach.to_arrow().schema == pa.schema([("X", pa.int64()), ("Y", pa.int64())])
    assert sorted(reach.to_pandas()["Y"]) == [2, 3, 3, 4, 4, 4]
    assert repr(result) == "reach(X: int, Y: int)"
    assert repr(reach) == "LocalRelation(X: int, Y: int; 6 rows)"
    assert '<td class="em-number">1</td>' in reach._repr_html_()


def test_it_is_a_mapping(db: Local) -> None:
    db["arc"] = [(1, 2), (1, 2)]
    assert ("arc" in db, list(db), len(db), repr(db)) == (True, ["arc"], 1, "Database(arc)")
    assert db["arc"].collect() == [(1, 2), (1, 2)]  # as it was given
    del db["arc"]
    with pytest.raises(emberlog.EmberlogError, match="no data is registered for `arc`"):
        db["arc"]


@pytest.mark.parametrize(
    "data",
    [
        [("x", 1.5, True), ("y", None, False)],
        pa.table({"a": ["x", "y"], "b": [1.5, None], "c": [True, False]}),
        pa.table({"a": pa.array(["x", "y"]).dictionary_encode(), "b": pa.array([1.5, None], "f4"), "c": [True, False]}),
        pa.table({"a": ["x", "y"], "b": [1.5, float("nan")], "c": [True, False]}).to_pandas(),
    ],
    ids=["rows", "arrow", "other types of arrow", "pandas"],
)
def test_data_of_every_kind(db: Local, data: object) -> None:
    db["t"] = data
    found = db.datalog("p(A, B, C) :- t(A, B, C).")["p"]
    assert set(found.collect()) == {("x", 1.5, True), ("y", None, False)}
    assert [str(type_) for type_ in found.types] == ["string", "float", "bool"]


@pytest.mark.parametrize("format", ["csv", "tsv", "parquet"])
def test_what_is_written_can_be_registered(db: Local, tmp_path: Path, format: str) -> None:
    moment = datetime(2024, 5, 1, 12, 30, tzinfo=UTC)
    db["t"] = [(1, "a,b", 0.5, moment), (2, 'say "x"', 1.5, moment)]
    text = "declare t(int n, string s, float f, timestamp m). p(N, S, F, M) :- t(N, S, F, M)."
    first = db.datalog(text)
    first.write(tmp_path / "out", format, header=False)
    again: Local = emberlog.Database(engine="local")
    again["t"] = tmp_path / "out" / "p"
    assert set(again.datalog(text)["p"].collect()) == set(first["p"].collect())
    with pytest.raises(emberlog.EmberlogError, match="DL408"):
        first.write(tmp_path / "out", format)


def test_lines_of_json_are_written(db: Local, tmp_path: Path) -> None:
    db["t"] = [(1, "ä", None)]
    db.datalog("p(N, S, F) :- t(N, S, F).").write(tmp_path / "out", "json")
    assert (tmp_path / "out" / "p" / "facts.json").read_text(encoding="utf-8") == '{"N": 1, "S": "ä", "F": null}\n'
    with pytest.raises(emberlog.EmberlogError, match="DL407"):
        db.datalog("p(N) :- t(N, _, _).").write(tmp_path / "other", "xml")


def test_moments_are_timestamps_unless_they_came_as_numbers(db: Local) -> None:
    db["e"] = [(datetime(2024, 1, 1), 1)]
    assert db.datalog("p(T) :- e(T, _).")["p"].collect() == [(datetime(2024, 1, 1, tzinfo=UTC),)]
    assert db.datalog("p(T) :- e(T, _).")["p"].to_arrow().schema.field("T").type == pa.timestamp("us", "UTC")
    db["e"] = [(5, 1)]
    assert db.datalog("declare e(timestamp t, int n). p(T) :- e(T, _).")["p"].collect() == [(5,)]


def test_data_beside_facts_and_rules(db: Local) -> None:
    db["arc"] = [(1, 2)]
    db["reach"] = [(7,)]
    text = "arc(2, 3). reach(1). reach(Y) :- reach(X), arc(X, Y)."
    with pytest.warns(emberlog.EmberlogWarning, match="DL296"):
        db.datalog(text)
    text = f"declare reach(x: int). {text}"
    assert sorted(db.datalog(text)["reach"].collect()) == [(1,), (2,), (3,), (7,)]
    assert sorted(db.datalog("arc(2, 3.5). arc(X, Y)?")["arc"].collect()) == [(1, 2.0), (2, 3.5)]
    proof = str(db.datalog("arc(2, 3). p(X) :- arc(X, _).", provenance=True).why("p", (1,)))
    assert "arc(1, 2)   input arc" in proof
    db["total"] = [("a", 3)]
    with pytest.warns(emberlog.EmberlogWarning, match=r"DL292.*adds contributions to `sum`"):
        result = db.datalog('declare total(x: string, y: int). total("a", sum<Y>) :- arc(_, Y).')
    assert result["total"].collect() == [("a", 5)]
    with pytest.raises(emberlog.EmberlogError, match="DL402"):
        db.datalog("arc(1). p(X) :- arc(X).")


def test_arguments_by_the_names_of_columns(db: Local) -> None:
    db["emp"] = pa.table({"id": [1, 2, 3], "first name": ["ada", "bob", "cid"], "boss": [None, 1, 1]})
    assert sorted(db.datalog("p(N) :- emp(boss: 1, `first name`: N).")["p"].collect()) == [("bob",), ("cid",)]
    result = db.datalog("pay(who: N, boss: B) :- emp(id: E, boss: B, `first name`: N), E > 1. pay(boss: 1)?")
    assert result["pay"].columns == ["who", "boss"]
    assert sorted(result["pay"].collect()) == [("bob", 1), ("cid", 1)]
    with pytest.raises(emberlog.EmberlogError, match="no column `bos`"):
        db.datalog("p(N) :- emp(bos: N).")
    with pytest.raises(emberlog.EmberlogError, match="DL401"):
        db.datalog("p(N) :- staff(boss: N).")
    assert db.check("p(X) :- staff(boss: X, id: 3).").checked.relations["staff"].arity == 2


def test_quoted_names(db: Local, tmp_path: Path) -> None:
    db["sales.t"] = pa.table({"e.mail": ["a@x", "b@x"], "my sum": [1, 2]})
    result = db.datalog("declare `sales.t`(`e.mail`: string, `my sum`: int). `to do`(M), few :- `sales.t`(M, 1).")
    assert result["to do"].collect() == [("a@x",)]
    assert result["few"].columns == ["holds"]
    assert result["few"].collect() == [(True,)]
    result.write(tmp_path / "out", "csv")
    assert (tmp_path / "out" / "to do" / "facts.csv").read_text() == "a@x\n"


def test_a_declared_relation_without_data_is_empty(db: Local) -> None:
    db["arc"] = [(1, 2)]
    text = "declare closed(x: int). open(X, Y) :- arc(X, Y), !closed(Y). p(X) :- closed(X)."
    with pytest.warns(emberlog.EmberlogWarning, match="DL294.*`closed` is declared"):
        result = db.datalog(text)
    assert (result["open"].collect(), result["p"].collect()) == ([(1, 2)], [])
    with pytest.raises(emberlog.EmberlogError, match="did you mean `arc`"):
        db.datalog("p(X) :- arx(X, _).")


def test_columns_and_headers(db: Local, tmp_path: Path) -> None:
    path = tmp_path / "roads.csv"
    path.write_text("km,to,from\n5,2,1\n7,3,2\n")
    db.register("arc", path, columns=["from", "to"], header=True)
    assert db.datalog(REACH)["reach"].count() == 3
    with pytest.raises(emberlog.EmberlogError, match="did you mean `from`"):
        db.register("arc", path, columns=["fro"], header=True)
    db["road"] = pa.table({"b": [2], "a": [1]})
    assert db.datalog("declare road(int a, int b). p(A, B) :- road(A, B).")["p"].collect() == [(1, 2)]


def test_pairs_and_lists(db: Local) -> None:
    db["t"] = [(1, "x"), (1, "y")]
    result = db.datalog("p(N, collect<S>) :- t(N, S). q(P) :- t(N, S), encd(N, S, P).")
    assert result["p"].collect() == [(1, ("x", "y"))]
    assert set(result["q"].collect()) == {((1, "x"),), ((1, "y"),)}
    assert result["q"].to_arrow().column(0).to_pylist()[0].keys() == {"first", "second"}


def test_functions_and_aggregates_of_your_own(db: Local) -> None:
    db.function("twice", lambda number: 2 * number, ["int"], "int")
    db.aggregate("middle", lambda values: values[len(values) // 2], "int")
    db["t"] = [(1, 3), (1, 5), (1, 10), (2, None)]
    result = db.datalog("d(twice(X)) :- t(X, _). m(X, middle<Y>) :- t(X, Y).")
    assert set(result["d"].collect()) == {(2,), (4,)}
    assert set(result["m"].collect()) == {(1, 5), (2, None)}


@pytest.mark.parametrize(
    ("implementation", "message"),
    [
        (lambda _: 1 / 0, "the function `f` failed with ZeroDivisionError"),
        (lambda _: "text", "the function `f` gave a str, not an int"),
        (lambda _: 2**63, "does not fit in a 64-bit int"),
    ],
)
def test_a_function_that_fails(db: Local, implementation: Any, message: str) -> None:
    db.function("f", implementation, ["int"], "int")
    db["t"] = [(1,)]
    with pytest.raises(emberlog.EmberlogError, match=message):
        db.datalog("p(f(X)) :- t(X).")


def test_rules_and_queries(db: Local) -> None:
    db["arc"] = [(1, 2), (2, 3)]
    db.rules(REACH)
    assert set(db.query("reach(1, Y)").collect()) == {(1, 2), (1, 3)}


def test_explain_says_who_evaluates_what(db: Local) -> None:
    text = REACH + 'n(count<_>) :- reach(_, _). s("a"). s(cat(S, "b")) :- s(S), len(S) < 3. '
    text += "m(X, min<X>) :- next(X, _). m(Y, min<T>) :- m(X, T), next(X, Y)."
    db["arc"] = [(1, 2)]
    db["next"] = [("a", "b")]
    told = str(db.check(text))
    assert "reach: 1 worker in this process; every recursive rule keeps reach[1]" in told
    many = "it reads more than 20,000 facts, or makes more than 200,000 rows of them"
    assert f"n: the plan interpreter, or workers where {many}" in told
    assert "s: 1 worker in this process; no column is handed through" in told
    assert "m: the plan interpreter; m.min aggregates text" in told
    assert "stays with the plan interpreter" in told


def test_iterations_are_told(db: Local) -> None:
    events: list[Event] = []
    db["arc"] = [(i, i + 1) for i in range(2_000)]
    text = "far(X, Y) :- arc(X, Y), X < 2. far(X, Z) :- far(X, Y), arc(Y, Z)."
    db.datalog(text, listener=events.append, execution=emberlog.Execution(workers=2))
    deltas = [event.delta_rows for event in events if isinstance(event, IterationFinished)]
    assert sum(deltas) == 2_000 + 1_999
    assert deltas[:3] == [2, 2, 2]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        ([(1, 2), (1, 2, 3)], "DL402"),
        ([(1, 2), (1, "x")], "DL403"),
        ([(1, 2**63)], "DL403"),
        ([(1, object())], "DL403"),
        ({"a": 1}, "DL407"),
        (7, "DL407"),
        ("nowhere.csv", "DL405"),
        ("a_table", "DL405"),
        ("hdfs://somewhere/arc.csv", "DL405"),
        (pa.table({"a": [b"x"]}), "DL403"),
        (pa.table({"a": [1]}).to_pandas().astype(object).replace(1, object()), "DL403"),
    ],
)
def test_data_that_cannot_be_registered(db: Local, data: object, code: str) -> None:
    with pytest.raises(emberlog.EmberlogError) as caught:
        db["arc"] = data
    assert code_of(caught) == code


@pytest.mark.parametrize(
    ("data", "program", "code"),
    [
        (pa.table({"a": [float("inf")]}), "p(X) :- t(X).", "DL403"),
        (pa.table({"a": ["x"]}), "declare t(int a). p(X) :- t(X).", "DL403"),
        (pa.table({"a": [1], "b": [2]}), "p(X) :- t(X).", "DL205"),
        ([(1,)], "p(X) :- tt(X).", "DL401"),
        ([(0,)], "p(Y) :- t(X), Y = 1 div X.", "DL501"),
        ([(1, 2)], "STREAM t(T: timestamp, X: int). p(X) :- t(_, X).", "DL320"),
    ],
)
def test_programs_that_do_not_fit_the_data(db: Local, data: object, program: str, code: str) -> None:
    db["t"] = data
    with pytest.raises(emberlog.EmberlogError) as caught:
        db.datalog(program)
    assert code_of(caught) == code


def test_a_bad_line_of_a_file_is_shown(db: Local, tmp_path: Path) -> None:
    path = tmp_path / "arc.csv"
    path.write_text("1,2\n3,x\n")
    db["arc"] = path
    with pytest.raises(emberlog.EmberlogError) as caught:
        db.datalog("declare arc(int a, int b). p(A) :- arc(A, _).")
    assert code_of(caught) == "DL404"
    assert f"{path}:2:3" in str(caught.value)


@pytest.mark.parametrize("representation", ["hash", "auto"])
@pytest.mark.parametrize("workers", [1, 2])
def test_facts_that_do_not_fit_into_memory(db: Local, workers: int, representation: str) -> None:
    """A million facts of 16 bytes; the database goes on afterwards."""
    db["arc"] = [(number, 1_000) for number in range(1_000)] + [(1_000, number) for number in range(1_001, 2_001)]
    execution = emberlog.Execution(workers=workers, representation=representation, memory=1_000_000)
    with pytest.raises(emberlog.EmberlogError, match="need more than the") as caught:
        db.datalog(REACH, execution=execution)["reach"].collect()  # where they are bits, they fit until they are listed
    assert code_of(caught) == "DL514"
    assert "Execution(memory=…), or use Spark" in str(caught.value)
    assert db.datalog(REACH)["reach"].count() == 1_002_000


def test_statistics_are_taken_once_and_again_for_other_data(db: Local, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[str] = []
    statistics = LocalEngine.statistics

    def counted(engine: LocalEngine, name: str, relation: Relation) -> RelationStatistics:
        taken.append(name)
        return statistics(engine, name, relation)

    monkeypatch.setattr(LocalEngine, "statistics", counted)
    db["arc"] = [(1, 2)]
    for _ in range(3):
        assert db.check(REACH).optimized.plan.statistics["arc"].rows == 1
    assert taken == ["arc"]
    db["arc"] = [(1, 2), (2, 3)]
    assert db.check(REACH).optimized.plan.statistics["arc"].rows == 2
    del db["arc"]
    assert "arc" not in db.check(REACH).optimized.plan.statistics


@pytest.mark.parametrize("options", [{"engine": "flink"}, {"engine": "local", "workers": 0}])
def test_options_that_do_not_exist(options: dict[str, Any]) -> None:
    with pytest.raises(emberlog.EmberlogError, match="DL508"):
        emberlog.Database(**options)


def test_it_needs_no_spark() -> None:
    script = (
        "import sys, emberlog\n"
        "db = emberlog.Database(engine='local')\n"
        "db['arc'] = [(i, i + 1) for i in range(12_000)]\n"
        "assert db.datalog('p(X) :- arc(0, X). p(Y) :- p(X), arc(X, Y).')['p'].count() == 12_000\n"
        "assert 'numba' in sys.modules\n"
        "assert not {'pyspark', 'py4j'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, env={"PYTHONPATH": str(SOURCES)})


def test_data_with_facts_beside_it_is_at_hand_like_any_input(db: Local) -> None:
    db["arc"] = [(1, 2), (2, 3), (7, 8)]
    told = str(db.check("arc(3, 4). tc(X, Y) :- arc(X, Y). tc(X, Z) :- tc(X, Y), arc(Y, Z). tc(1, Y)?"))
    assert "restricted to what is demanded: tc[bf]" in told
    assert "demand for arc" not in told
