"""The Database on Spark: what it takes, what it gives, and how programs build on each other."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from pyspark.sql import DataFrame, SparkSession

from emberlog.config import Execution
from emberlog.database import Database
from emberlog.datatypes import INT, STRING
from emberlog.diagnostics import EmberlogError, EmberlogWarning
from emberlog.events import Event, ExecutorChosen
from emberlog.io.local_relation import LocalRelation
from emberlog.source import Source
from emberlog.syntax.parser import parse
from tests.spark.answers import facts_of
from tests.spark.storage import kept_frames

TC = "tc(X, Y) :- arc(X, Y).\ntc(X, Y) :- tc(X, Z), arc(Z, Y).\n"
ARCS = [(1, 2), (2, 3)]
CLOSURE = {(1, 2), (1, 3), (2, 3)}


def csv(folder: Path) -> str:
    (folder / "arc.csv").write_text("1,2\n2,3\n")
    return str(folder / "arc.csv")


def compressed_tsv(folder: Path) -> str:
    with gzip.open(folder / "arc.tsv.gz", "wt") as file:
        file.write("1\t2\n2\t3\n")
    return str(folder / "arc.tsv.gz")


def facts(folder: Path) -> Path:
    (folder / "arc.facts").write_text("1\t2\n2\t3\n")
    return folder / "arc.facts"


def parquet(folder: Path) -> str:
    pa.parquet.write_table(pa.table({"a": [1, 2], "b": [2, 3]}), folder / "arc.parquet")
    return str(folder / "arc.parquet")


def json_lines(folder: Path) -> str:
    (folder / "arc.json").write_text('{"b": 1, "a": 2}\n{"b": 2, "a": 3}\n')
    return str(folder / "arc.json")


def folder_of_parts(folder: Path) -> str:
    (folder / "arc").mkdir()
    for number, text in enumerate(("1,2\n", "2,3\n")):
        (folder / "arc" / f"part-{number}.csv").write_text(text)
    return str(folder / "arc")


FROM_FILES = (csv, compressed_tsv, facts, parquet, json_lines, folder_of_parts)


@pytest.mark.parametrize("made", FROM_FILES, ids=lambda made: made.__name__)
def test_files(database: Database[DataFrame], tmp_path: Path, made: Callable[[Path], object]) -> None:
    database["arc"] = made(tmp_path)
    assert facts_of(database.query("arc(X, Y)?")) == set(ARCS)


@pytest.mark.parametrize("kind", ["frame", "table", "pandas", "arrow", "rows", "generator"])
def test_data_of_this_process(database: Database[DataFrame], spark: SparkSession, kind: str) -> None:
    frame = spark.createDataFrame(ARCS, "a int, b long")
    frame.createOrReplaceTempView("arcs_of_a_test")
    given: dict[str, object] = {
        "frame": frame,
        "table": "arcs_of_a_test",
        "pandas": pa.table({"a": [1, 2], "b": [2, 3]}).to_pandas(),
        "arrow": pa.table({"a": [1, 2], "b": [2, 3]}),
        "rows": ARCS,
        "generator": (arc for arc in ARCS),
    }
    database["arc"] = given[kind]
    assert facts_of(database.query("arc(X, Y)?")) == set(ARCS)
    assert set(database) == {"arc"}
    spark.catalog.dropTempView("arcs_of_a_test")


def test_columns_are_chosen_by_name(database: Database[DataFrame], spark: SparkSession) -> None:
    frame = spark.createDataFrame([(0.5, 1, 2)], "weight double, source long, target long")
    database.register("arc", frame, columns=["target", "source"])
    assert facts_of(database.query("arc(X, Y)?")) == {(2, 1)}


def test_a_header_and_a_format_that_the_name_does_not_tell(database: Database[DataFrame], tmp_path: Path) -> None:
    (tmp_path / "arcs").write_text("source,target\n1,2\n")
    database.register("arc", tmp_path / "arcs", header=True, format="csv")
    with database.datalog(TC) as result:
        assert facts_of(result["tc"]) == {(1, 2)}


def test_columns_have_the_names_of_declarations_or_variables(database: Database[DataFrame]) -> None:
    database["arc"] = ARCS
    with database.datalog(f"declare tc(from: int, to: int).\n{TC}back(B, A) :- tc(A, B).\n") as result:
        assert result["tc"].columns == ["from", "to"]
        assert result["back"].columns == ["B", "A"]
        assert result["tc"].dtypes == [("from", "bigint"), ("to", "bigint")]


@pytest.mark.parametrize("form", ["text", "file", "parsed"])
def test_a_program_is_text_a_file_or_parsed(database: Database[DataFrame], tmp_path: Path, form: str) -> None:
    (tmp_path / "tc.dl").write_text(TC)
    program = {"text": TC, "file": tmp_path / "tc.dl", "parsed": parse(Source("tc.dl", TC))}[form]
    database["arc"] = ARCS
    with database.datalog(program) as result:  # type: ignore[arg-type]
        assert facts_of(result["tc"]) == CLOSURE


def test_programs_chain(database: Database[DataFrame]) -> None:
    database["arc"] = ARCS
    with database.datalog(TC) as first:
        database["tc"] = first["tc"]
        with database.datalog("reached(count<Y>) :- tc(1, Y).\n") as second:
            assert facts_of(second["reached"]) == {(2,)}


def test_queries_over_rules_with_parameters(database: Database[DataFrame]) -> None:
    database["arc"] = ARCS
    database.rules(TC)
    assert facts_of(database.query("tc($from, Y)", params={"from": 2})) == {(2, 3)}
    assert facts_of(database.query("tc(X, X)?")) == set()


def test_a_result_that_is_closed_gives_its_memory_back(database: Database[DataFrame], spark: SparkSession) -> None:
    before = kept_frames(spark)
    database["arc"] = ARCS
    with database.datalog(TC, execution=Execution(executor="dataframe")) as result:
        assert facts_of(result["tc"]) == CLOSURE
        assert kept_frames(spark) > before
    assert kept_frames(spark) <= before


@pytest.mark.parametrize("executor", ["dataframe", "cyclic"])
def test_who_runs_a_recursion_can_be_chosen(database: Database[DataFrame], executor: str) -> None:
    events: list[Event] = []
    database["arc"] = ARCS
    with database.datalog(TC, execution=Execution(executor=executor), listener=events.append) as result:
        assert facts_of(result["tc"]) == CLOSURE
    assert [event.executor for event in events if isinstance(event, ExecutorChosen)] == [executor]


def test_notebooks_show_programs_plans_and_results(database: Database[DataFrame]) -> None:
    database["arc"] = ARCS
    assert "Fixpoint" in database.check(TC)._repr_html_()
    with database.datalog(TC) as result:
        assert "<code>tc</code>" in result._repr_html_()
        assert "on Spark" in database._repr_html_()
        assert repr(result) == "tc(X: bigint, Y: bigint)"
        assert "recursive" in result.explain()


def test_the_session_of_the_caller_is_left_as_it_was(database: Database[DataFrame], spark: SparkSession) -> None:
    with Database(spark) as other:
        other["arc"] = ARCS
        assert facts_of(other.query("arc(X, Y)?")) == set(ARCS)
    assert spark.range(3).count() == 3


MOMENT = datetime(2026, 3, 2, 8, 5, 0, 7, tzinfo=UTC)
TYPED = [(1, 0.5, "a", True, MOMENT, (1, "x")), (2, 3, "ä", False, MOMENT, (2, "y")), (None,) * 6]
COLUMNS = {"i": pa.array([1, None], "i4"), "d": [None, 1.5], "m": pa.array([MOMENT, None], pa.timestamp("ns", "UTC"))}


@pytest.mark.parametrize(
    ("data", "terms"),
    [
        (TYPED, "A, B, C, D, string(E), F"),
        (pa.table(COLUMNS), "A, B, string(C)"),
        (pa.table(COLUMNS).to_pandas(), "A, B, string(C)"),
        (pa.table({"s": pa.array(["x", "y"]).dictionary_encode(), "n": pa.nulls(2)}), "A, B"),
        (pa.table({"l": [[1, 2], None]}), "A"),
        (LocalRelation(["a", "b"], [INT, STRING], [(1, "x")]), "A, B"),
    ],
    ids=["rows", "arrow", "pandas", "dictionaries and nulls", "lists", "relation"],
)
def test_data_of_this_process_means_the_same_on_both_engines(
    database: Database[DataFrame], data: object, terms: str
) -> None:
    local: Database[LocalRelation] = Database(engine="local")
    local["t"] = database["t"] = data
    variables = ", ".join("ABCDEF"[: len(local["t"].types)])
    program = f"p({terms}) :- t({variables}).\n"
    with database.datalog(program) as result:
        assert facts_of(result["p"]) == set(local.datalog(program)["p"].collect())
    assert database["t"].columns == local["t"].columns
    assert database["t"].count() == local["t"].count()


def test_data_of_this_process_is_checked_before_anything_runs(database: Database[DataFrame]) -> None:
    """An int that no float is equal to, and a float that is not finite."""
    for data, code in ((pa.table({"a": [2**53 + 1]}), "DL506"), (pa.table({"a": [float("inf")]}), "DL403")):
        database["t"] = data
        with pytest.raises(EmberlogError, match=code):
            database.datalog("declare t(float a). p(A) :- t(A).")


def test_data_beside_facts_and_declared_without_data(spark: SparkSession) -> None:
    db = Database(spark)
    db["arc"] = spark.createDataFrame([(1, 2), (2, 3)], "a long, b long")
    db["tc"] = [(9, 1)]
    with pytest.warns(EmberlogWarning, match="DL294"):
        result = db.datalog(
            f"declare shut(x: int). declare tc(x: int, y: int). arc(3, 4). {TC} far(Y) :- tc(9, Y), !shut(Y)."
        )
    assert facts_of(result["far"]) == {(1,), (2,), (3,), (4,)}
    assert result["far"].columns == ["Y"]


def test_relations_as_people_write_them(spark: SparkSession) -> None:
    db = Database(spark)
    db["sales.t"] = spark.createDataFrame([("a@x", 1), ("b@x", 2), ("c@x", 3)], "`e.mail` string, `my sum` long")
    result = db.datalog(
        "`next one`(A, B) :- `sales.t`(`e.mail`: A, `my sum`: X), `sales.t`(`my sum`: X + 1, `e.mail`: B).\n"
        '`from a`(Who) :- `next one`("a@x", Who).\n'
        "`from a`(Who) :- `from a`(W), `next one`(W, Who), !(`sales.t`(Who, S), S > 9).\n"
        "few, big(`e.mail`: A) :- `sales.t`(`e.mail`: A, `my sum`: 3).\n"
    )
    assert facts_of(result["from a"]) == {("b@x",), ("c@x",)}
    assert result["few"].columns == ["holds"]
    assert facts_of(result["few"]) == {(True,)}
    assert result["big"].columns == ["e.mail"]
    assert facts_of(result["big"]) == {("c@x",)}
