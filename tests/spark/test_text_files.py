"""Text files of every spelling, read by Spark: the same as in this process."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from emberlog.database import Database
from emberlog.datatypes import INT, STRING, TIMESTAMP
from emberlog.diagnostics import EmberlogError
from emberlog.io.spark_sources import stream_of_folder
from emberlog.io.text_format import TextOptions
from emberlog.semantics.model import Column, Relation
from tests.text_files import CASES, check

DEFAULT = (
    "raw facts may have one quote",
    "another quote",
    "a null text",
    "null in quotes is text",
    "latin-1",
    "utf-16",
    "not utf-8",
    "a header obeyed",
    "a header with one declared name",
    "a header noticed above numbers",
    "a header that is wrong in its column",
    "a postal code",
    "truncated",
    "a next line in the only row",
)


REFUSED = {"null in quotes is text": "DL429"}
"""What Spark cannot read as this process does, and says so."""


@pytest.mark.usefixtures("simple_queries")
def test_files(database: Database, tmp_path: Path, subtests: pytest.Subtests) -> None:
    for name in DEFAULT:
        with subtests.test(name):
            case = CASES[name]
            check(database, replace(case, expected=REFUSED.get(name, case.expected)), tmp_path)


@pytest.mark.slow
@pytest.mark.usefixtures("simple_queries")
def test_all_files(database: Database, tmp_path: Path, subtests: pytest.Subtests) -> None:
    for name, case in CASES.items():
        with subtests.test(name):
            check(database, replace(case, expected=REFUSED.get(name, case.expected)), tmp_path)


@pytest.mark.usefixtures("simple_queries")
def test_a_declaration_says_what_chosen_columns_are(database: Database, tmp_path: Path) -> None:
    path = tmp_path / "part.csv"
    path.write_text("n,size\n1,1.50\n2,2.00\n")
    database.register("part", str(path), columns=["size", "n"], header=True)
    found = database.datalog("declare part(n: string, size: float). found(X, Y) :- part(X, Y).")["found"]
    assert {tuple(row) for row in found.collect()} == {("1", 1.5), ("2", 2.0)}
    found = database.datalog("declare part(a: string, b: string). found(X, Y) :- part(X, Y).")["found"]
    assert {tuple(row) for row in found.collect()} == {("1.50", "1"), ("2.00", "2")}
    assert database["part"].dtypes == [("size", "double"), ("n", "bigint")]


def test_half_a_character_of_json_is_refused(database: Database, tmp_path: Path) -> None:
    path = tmp_path / "e.json"
    for bad in (r"\ud83d", r"\ude00", r"\ud83d\ud83d\ude00", r"\\\ude00"):
        path.write_text(f'{{"a": "x{bad}"}}\n')
        with pytest.raises(EmberlogError, match="DL424"):
            database["e"] = path
    path.write_text(r'{"a": "\ud83d\ude00"}' + "\n" + r'{"a": "\\ud83d"}' + "\n")
    database["e"] = path
    assert {row[0] for row in database.datalog("q(X) :- e(X).")["q"].collect()} == {"😀", r"\ud83d"}


def test_a_folder_that_is_watched_is_read_by_the_same_rules(spark: SparkSession, tmp_path: Path) -> None:
    columns = (Column("at", TIMESTAMP), Column("town", STRING), Column("people", INT))
    relation = Relation("e", columns, is_derived=False, is_declared=True)
    (tmp_path / "1.csv").write_text("people;town;at\n3;Rome;1970-01-01T00:00:01Z\nNA;;1970-01-01T00:00:02Z\n")
    text = TextOptions(header=True, delimiter=";", null="NA")

    def rows() -> set[tuple[object, ...]]:
        frame = stream_of_folder(spark, relation, str(tmp_path), text=text)
        assert frame.columns == ["at", "town", "people", "_corrupt_record"]
        plain = frame.selectExpr("unix_micros(at)", "town", "people")
        query = plain.writeStream.format("memory").queryName("seen").trigger(availableNow=True).start()
        query.awaitTermination()
        return {tuple(row) for row in spark.table("seen").collect()}

    assert rows() == {(1_000_000, "Rome", 3), (2_000_000, "", None)}
    (tmp_path / "2.csv").write_text("people;town;at\nmany;Rome;1970-01-01T00:00:01Z\n")
    # A cell that is malformed is told by the query, which puts the row aside; here it is a null.
    assert rows() == {(1_000_000, "Rome", 3), (2_000_000, "", None), (1_000_000, "Rome", None)}
    (tmp_path / "2.csv").write_text("town;people;at\nRome;3;1970-01-01T00:00:01Z\n")
    with pytest.raises(StreamingQueryException):
        rows()
