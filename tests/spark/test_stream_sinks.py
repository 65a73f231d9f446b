"""Every kind of sink gets the same answers: as files of the workers, as files that Spark writes, and as frames."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from emberlog.database import Database
from emberlog.datatypes import FLOAT, STRING
from emberlog.diagnostics import EmberlogError
from emberlog.semantics.model import Column
from emberlog.streams.spark.sinks import Kafka
from emberlog.streams.steps.answers import Layout
from tests.spark.test_streams import facts, put

PROGRAM = """\
STREAM seen(Ts: timestamp, Who: string, WHO: int, Since: timestamp).
last(Ts, Who, WHO, max<Since>) :- seen(Ts, Who, WHO, Since).
query last(_, Who, WHO, Since), WINDOW(10 minutes, 5 minutes).
"""

EXPECTED = {
    (datetime(2026, 1, 1, 10, 5), "added", "ann", 1, datetime(2026, 1, 1, 9, 1)),
    (datetime(2026, 1, 1, 10, 15), "removed", "ann", 1, datetime(2026, 1, 1, 9, 1)),
    (datetime(2026, 1, 1, 10, 20), "added", "bob", 2, datetime(2026, 1, 1, 9, 2)),
}
LATE = {(datetime(2026, 1, 1, 10, 3), "eve", 3, datetime(2026, 1, 1, 9, 3))}


@pytest.fixture
def seen(spark: SparkSession, tmp_path: Path) -> DataFrame:
    ann = ("2026-01-01 10:02:00", "ann", 1, "2026-01-01 09:01:00")
    bob = ("2026-01-01 10:20:00", "bob", 2, "2026-01-01 09:02:00")
    eve = ("2026-01-01 10:03:00", "eve", 3, "2026-01-01 09:03:00")
    put(tmp_path / "seen", 0, [ann, bob])
    put(tmp_path / "seen", 1, [eve])
    reader = spark.readStream.schema("A timestamp, B string, C int, D timestamp")
    reader = reader.option("maxFilesPerTrigger", 1)
    return reader.csv(str(tmp_path / "seen"))


def run(database: Database, seen: DataFrame, checkpoint: Path, *place: Path, **how: Any) -> None:
    database["seen"] = seen
    result = database.datalog(PROGRAM)
    started = result.start(
        *place,
        checkpointLocation=checkpoint,
        outputMode="changes",
        late="keep",
        availableNow=True,
        closes=True,
        **how,
    )
    started.awaitTermination()


@pytest.mark.parametrize("how", [{}, {"options": {"compression": "gzip"}}, {"format": "json"}, {"format": "orc"}])
def test_files(spark: SparkSession, database: Database, seen: DataFrame, tmp_path: Path, how: dict[str, Any]) -> None:
    out = tmp_path / "out"
    run(database, seen, tmp_path / "checkpoint", out, **how)
    reader = spark.read.format(how.get("format", "parquet"))
    answers = reader.schema("slide timestamp, change string, Who string, WHO_3 long, Since timestamp").load(
        str(out / "last")
    )
    late = reader.schema("Ts timestamp, Who string, WHO_ long, Since timestamp").load(str(out / "seen_late"))
    assert facts(answers.drop("batch")) == EXPECTED
    assert facts(late.drop("batch")) == LATE
    assert {file.name for file in (out / "last").iterdir()} == {"batch=0", "batch=2"}


def test_frames(database: Database, seen: DataFrame, tmp_path: Path) -> None:
    got: dict[str, set[tuple[object, ...]]] = {"last": set(), "seen_late": set()}

    def take(frames: dict[str, DataFrame], step: int) -> None:
        for name, frame in frames.items():
            got[name] |= facts(frame)

    run(database, seen, tmp_path / "checkpoint", foreachBatch=take)
    assert got == {"last": EXPECTED, "seen_late": LATE}


def test_a_connector_that_is_missing_is_told_at_the_start(database: Database, seen: DataFrame, tmp_path: Path) -> None:
    for form, said in (("kafka", "spark-sql-kafka"), ("delta", "delta-spark"), ("oracel", "install its connector")):
        with pytest.raises(EmberlogError, match=rf"DL344(?s:.*){said}"):
            run(database, seen, tmp_path / form, format=form)


def test_records_of_kafka_have_a_key_and_a_value(spark: SparkSession) -> None:
    columns = (Column("Who", STRING), Column("Fare", FLOAT, "min"))
    layout = Layout(True, {"best": columns}, {}, plain_times=True)
    frame = spark.createDataFrame([(10, "added", "ann", 2.5)], "slide long, change string, Who string, Fare double")
    (record,) = Kafka({}, layout).records("best", frame).collect()
    assert (record.key, record.topic) == ('{"Who":"ann"}', "best")
    assert record.value == '{"slide":10,"change":"added","Who":"ann","Fare":2.5}'
    assert Kafka({"topic": "all"}, layout).records("best", frame).columns == ["key", "value"]


def test_the_key_of_a_record_of_kafka_has_columns_that_are_called_as_those_of_answers(spark: SparkSession) -> None:
    columns = (Column("slide", STRING), Column("change", STRING), Column("Fare", FLOAT, "min"))
    layout = Layout(True, {"best": columns}, {}, plain_times=True)
    time, change, *own = layout.schema("best").names
    assert own == ["slide", "change", "Fare"]
    assert not {time, change} & set(own)
    types = f"{time} long, {change} string, slide string, change string, Fare double"
    frame = spark.createDataFrame([(10, "added", "left", "small", 2.5)], types)
    (record,) = Kafka({}, layout).records("best", frame).collect()
    assert record.key == '{"slide":"left","change":"small"}'
