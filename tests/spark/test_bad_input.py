"""Bad data and bad requests: each gives an error with its code, and leaves nothing behind, in files or in Spark."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from emberlog.config import Execution, Limits
from emberlog.database import Database
from emberlog.diagnostics import Diagnostic, EmberlogError
from tests.spark.answers import facts_of
from tests.spark.storage import jobs_end, kept_frames

TC = "declare arc(a: int, b: int).\ntc(X, Y) :- arc(X, Y).\ntc(X, Y) :- tc(X, Z), arc(Z, Y).\n"
ENDLESS = "n(0).\nn(X + 1) :- n(X).\n"
EXECUTORS = ("dataframe", "auto")


@pytest.fixture
def folder(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder to work in. Whatever a test does, Spark keeps nothing of it."""
    monkeypatch.chdir(tmp_path)
    before = kept_frames(spark)
    yield tmp_path
    assert jobs_end(spark)
    assert kept_frames(spark) <= before


def error_of(action: Callable[[], object]) -> Diagnostic:
    with pytest.raises(EmberlogError) as caught:
        action()
    (diagnostic,) = caught.value.diagnostics
    return diagnostic


def run(database: Database, data: object, program: str = TC) -> Callable[[], object]:
    """Fills `arc`, runs the program and reads everything."""

    def action() -> None:
        database["arc"] = data
        with database.datalog(program) as result:
            for frame in result.values():
                frame.collect()

    return action


# --- what is given --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["arc.csv", "arc.parquet", "arc.json", "arc*.csv", "missing/arc.csv"])
def test_a_file_that_is_not_there(database: Database, folder: Path, name: str) -> None:
    diagnostic = error_of(run(database, name))
    assert diagnostic.code == "DL405"
    assert f"`{name}`" in diagnostic.message


def test_neither_a_file_nor_a_table(database: Database, folder: Path) -> None:
    assert error_of(run(database, "nowhere")).code == "DL405"


def test_a_folder_that_holds_nothing(database: Database, folder: Path) -> None:
    Path("arc.csv").mkdir()
    assert error_of(run(database, "arc.csv")).code == "DL405"


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_a_folder_that_may_not_be_read(database: Database, folder: Path) -> None:
    Path("arc.csv").mkdir(mode=0o000)
    try:
        assert error_of(run(database, "arc.csv")).code == "DL405"
    finally:
        Path("arc.csv").chmod(0o700)


def test_a_folder_that_the_system_does_not_let_one_read(
    database: Database, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same for everybody, also for the superuser."""
    Path("arc.csv").mkdir()

    def refused(self: Path) -> Iterator[Path]:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "iterdir", refused)
    diagnostic = error_of(run(database, "arc.csv"))
    assert (diagnostic.code, diagnostic.message) == ("DL405", "cannot read `arc.csv`: permission denied")


def test_a_file_that_is_not_what_its_name_says(database: Database, folder: Path) -> None:
    Path("arc.parquet").write_text("1,2\n")
    diagnostic = error_of(run(database, "arc.parquet"))
    assert diagnostic.code == "DL405"
    assert "is not a Parquet file" in diagnostic.notes[0].text


def test_a_kind_of_file_that_is_not_known(database: Database, folder: Path) -> None:
    Path("arc.xlsx").write_text("1,2\n")
    assert error_of(run(database, "arc.xlsx")).code == "DL407"


@pytest.mark.parametrize(
    ("data", "columns"),
    [
        ([(1, 2, 3)], "3"),
        ([(1,)], "1"),
        (pa.table({"a": [1]}).to_pandas(), "1"),
        (pa.table({"a": [1], "b": [2], "c": [3]}), "3"),
    ],
)
def test_another_number_of_columns(database: Database, folder: Path, data: object, columns: str) -> None:
    diagnostic = error_of(run(database, data))
    assert diagnostic.code == "DL402"
    assert columns in diagnostic.message


@pytest.mark.parametrize("text", ["1,2,3\n", "1\n"])
def test_a_file_with_another_number_of_columns(database: Database, folder: Path, text: str) -> None:
    Path("arc.csv").write_text(text)
    assert error_of(run(database, "arc.csv")).code == "DL402"


@pytest.mark.parametrize(
    "data",
    [
        [(1, "two")],
        [("1", "2")],
        [(1, 2.5)],
        pa.table({"a": [1], "b": ["x"]}).to_pandas(),
        pa.table({"a": [1], "b": [datetime.date(2026, 1, 1)]}),
    ],
    ids=["text", "texts", "float", "pandas", "arrow"],
)
def test_a_value_of_the_wrong_type(database: Database, folder: Path, data: object) -> None:
    assert error_of(run(database, data)).code in ("DL402", "DL403", "DL404")


def test_rows_of_different_types(database: Database, folder: Path) -> None:
    assert error_of(run(database, [(1, 2), (1, "x")], "p(X) :- arc(X, _).\n")).code == "DL403"


def test_an_int_that_does_not_fit(database: Database, folder: Path) -> None:
    assert error_of(run(database, [(1, 2**63)])).code == "DL403"


def test_a_value_that_no_relation_can_hold(database: Database, folder: Path) -> None:
    assert error_of(run(database, [(1, object())])).code in ("DL403", "DL407")
    assert error_of(run(database, 5)).code == "DL407"


@pytest.mark.parametrize("cell", ["x", "1.5", "99999999999999999999", "0x10"])
def test_a_number_that_cannot_be_read_is_told_with_its_line(database: Database, folder: Path, cell: str) -> None:
    Path("arc.csv").write_text(f"1,2\n2,3\n3,{cell}\n4,5\n")
    diagnostic = error_of(run(database, "arc.csv"))
    assert diagnostic.code == "DL404"
    assert cell in diagnostic.message
    assert diagnostic.span is not None
    assert (diagnostic.span.begin.line, diagnostic.span.begin.column) == (3, 3)
    assert diagnostic.span.source.name.endswith("arc.csv")


def test_a_column_that_does_not_exist(database: Database, spark: SparkSession, folder: Path) -> None:
    frame = spark.createDataFrame([(1, 2, 0.5)], "source long, target long, weight double")
    diagnostic = error_of(lambda: database.register("arc", frame, columns=["source", "targte"]))
    assert diagnostic.code == "DL409"
    assert any("did you mean `target`?" in note.text for note in diagnostic.notes)
    assert "arc" not in database


# --- what is no mistake ---------------------------------------------------------------------------------------------


def test_nulls_are_values_that_join_with_nothing(database: Database, folder: Path) -> None:
    Path("arc.csv").write_text("1,2\n2,\\N\n\\N,3\n")
    database["arc"] = "arc.csv"
    with database.datalog(TC) as result:
        assert facts_of(result["tc"]) == {(1, 2), (2, None), (None, 3), (1, None)}


def test_repeated_rows_are_one_fact(database: Database, folder: Path) -> None:
    database["arc"] = [(1, 2), (1, 2), (2, 3), (1, 2)]
    program = f"{TC}size(count<X>) :- arc(X, Y).\narc(X, Y)?\nsize(N)?\ntc(X, Y)?\n"
    with database.datalog(program) as result:
        assert sorted(result["arc"].collect()) == [(1, 2), (2, 3)]
        assert facts_of(result["size"]) == {(2,)}
        assert sorted(result["tc"].collect()) == [(1, 2), (1, 3), (2, 3)]


@pytest.mark.parametrize("kind", ["list", "file", "pandas", "frame"])
def test_an_empty_relation_has_no_facts(database: Database, spark: SparkSession, folder: Path, kind: str) -> None:
    Path("arc.csv").write_text("")
    given: dict[str, object] = {
        "list": [],
        "file": "arc.csv",
        "pandas": pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.int64())}).to_pandas(),
        "frame": spark.createDataFrame([], "a long, b long"),
    }
    database["arc"] = given[kind]
    with database.datalog(TC) as result:
        assert facts_of(result["tc"]) == set()


# --- what is asked --------------------------------------------------------------------------------------------------


def test_a_relation_that_is_not_registered(database: Database, folder: Path) -> None:
    database["arcs"] = [(1, 2)]
    undeclared = TC.partition("\n")[2]
    diagnostic = error_of(lambda: database.datalog(undeclared))
    assert (diagnostic.code, diagnostic.message) == ("DL401", "there are no facts for the relation `arc`")
    assert any("did you mean `arcs`?" in note.text for note in diagnostic.notes)
    assert error_of(lambda: database["arx"]).code == "DL401"
    assert error_of(lambda: database.__delitem__("arx")).code == "DL401"


def test_an_output_that_the_program_does_not_have(database: Database, folder: Path) -> None:
    database["arc"] = [(1, 2)]
    with database.datalog(TC) as result:
        assert error_of(lambda: result["td"]).code == "DL401"


def test_parameters_that_do_not_fit(database: Database, folder: Path) -> None:
    database["arc"] = [(1, 2)]
    program = f"{TC}tc($from, Y)?\n"
    assert error_of(lambda: database.datalog(program)).code == "DL211"
    assert error_of(lambda: database.datalog(program, params={"from": 1, "form": 1})).code == "DL212"
    assert error_of(lambda: database.datalog(Path("missing.dl"))).code == "DL405"
    assert error_of(lambda: database.query("tc(1, Y)? tc(2, Y)?")).code == "DL410"


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize(
    ("limits", "code"),
    [(Limits(max_iterations=5), "DL510"), (Limits(max_rows=5), "DL511"), (Limits(timeout=3), "DL512")],
)
def test_a_recursion_that_never_ends(
    database: Database, folder: Path, limits: Limits, code: str, executor: str
) -> None:
    diagnostic = error_of(lambda: database.datalog(ENDLESS, limits=limits, execution=Execution(executor=executor)))
    assert diagnostic.code == code


# --- what is written ------------------------------------------------------------------------------------------------


def test_a_folder_that_is_there_already(database: Database, folder: Path) -> None:
    database["arc"] = [(1, 2)]
    Path("out").mkdir()
    with database.datalog(TC) as result:
        assert error_of(lambda: result.write("out")).code == "DL408"
        assert error_of(lambda: result.write(f"file://{folder}/out")).code == "DL408"
    assert list(Path("out").iterdir()) == []
    assert os.listdir() == ["out"]


def test_a_format_that_is_not_known(database: Database, folder: Path) -> None:
    database["arc"] = [(1, 2)]
    with database.datalog(TC) as result:
        assert error_of(lambda: result.write("out", "xlsx")).code == "DL407"
    assert os.listdir() == []


@pytest.mark.parametrize("target", ["out", "deep/down/out", "file://{folder}/out"])
def test_a_fault_while_writing_leaves_nothing(database: Database, folder: Path, target: str) -> None:
    """One relation is fine and written before the other one fails."""
    database["arc"] = [(1, 2), (2, 3)]
    program = "fine(X) :- arc(X, _).\nshare(Y) :- arc(X, _), Y = 1 div (X - 2).\n"
    with database.datalog(program) as result:
        diagnostic = error_of(lambda: result.write(target.format(folder=folder)))
    assert diagnostic.code == "DL501"
    assert [path for path in folder.rglob("*") if path.is_file()] == []
    assert not Path("out").exists() and not Path("deep/down/out").exists()


def test_a_folder_that_cannot_be_made(database: Database, folder: Path) -> None:
    database["arc"] = [(1, 2)]
    Path("file").write_text("mine")
    with database.datalog(TC) as result:
        assert error_of(lambda: result.write("file/out")).code == "DL408"
    assert os.listdir() == ["file"]


def test_what_is_written_is_whole(database: Database, folder: Path) -> None:
    database["arc"] = [(1, 2), (2, 3)]
    with database.datalog(TC) as result:
        result.write("out", header=True)
    assert os.listdir() == ["out"]
    lines = [line for part in Path("out/tc").glob("*.csv") for line in part.read_text().splitlines()]
    assert sorted(set(lines)) == ["1,2", "1,3", "2,3", "X,Y"]
