"""The sinks of stream queries: where answers go.

A step may be delivered again after a restart, with the same number and the same rows. Files are replaced then, so they
hold each step once; a function that gets frames knows it by the number.

The answers are Parquet files of the checkpoint. A sink for such files copies them; any other reads them with Spark.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import starmap
from pathlib import Path
from typing import Any, Protocol, TextIO

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from emberlog.config import FILE_FORMATS, StreamOptions, refuse_options
from emberlog.diagnostics import fail
from emberlog.io.matching import free_name
from emberlog.io.spark_conversions import quoted
from emberlog.places import new_folder
from emberlog.streams.spark.jdbc import JdbcTables
from emberlog.streams.steps.answers import CHANGE, SLIDE, Layout

_SHOWN_ROWS = 20
_COPIES_AT_ONCE = 8

Frames = Mapping[str, DataFrame]
"""What the slides of a step gave, by relation; late tuples are under the name of their stream and `_late`."""


ForEach = Callable[[Frames, int], None]


@dataclass(frozen=True, slots=True)
class Answer:
    """Holds what the slides of a step gave of a relation."""

    spark: SparkSession
    schema: pa.Schema
    files: tuple[str, ...]
    """Parquet files of the checkpoint; they stay there."""

    @property
    def frame(self) -> DataFrame:
        return self.spark.read.schema(from_arrow_schema(self.schema)).parquet(*self.files)


Answers = Mapping[str, Answer]
"""The same as files, by relation."""


class Sink(Protocol):
    def deliver(self, step: int, answers: Answers) -> None: ...


def sink_of(spark: SparkSession, options: StreamOptions, layout: Layout, function: ForEach | None) -> Sink:
    """Makes the sink that the options describe, or that of the function."""
    form = options.format
    if function is not None:
        if form is not None or options.path is not None:
            raise fail("DL508", "answers go to the function or to a format, not to both", None, "choose one of them")
        _refuse("foreachBatch", options=options.options)
        return ForeachBatch(function)
    if form == "console":
        _refuse("the console", path=options.path, options=options.options.keys() - {"numRows"})
        return Console(sys.stdout, int(options.options.get("numRows", _SHOWN_ROWS)), layout.slides)
    if form == "memory":
        if options.queryName is None:
            raise fail("DL508", "the table in memory needs a name", None, 'write queryName="prices"')
        _refuse("the table in memory", path=options.path, options=options.options)
        return MemoryTable(spark, options.queryName, options.tells_changes, tuple(layout.outputs), layout.slides)
    if form in (None, *FILE_FORMATS):
        if options.path is None:
            hint = 'write start("answers/"), or choose format="console", "memory", or foreachBatch'
            raise fail("DL508", "answers need a place to go to", None, hint)
        return Files(spark, options.path, form or "parquet", options.options)
    if form == "kafka":
        _connector(spark, form)
        _refuse("Kafka", path=options.path)
        return Kafka(options.options, layout)
    _connector(spark, str(form))
    if form == "jdbc" and options.tells_changes:
        return _jdbc(spark, options, layout)
    return Appended(options.path, str(form), options.options, options.checkpointLocation)


def _jdbc(spark: SparkSession, options: StreamOptions, layout: Layout) -> Jdbc:
    """Makes tables that follow the changes by their keys."""
    _refuse("a table that follows the answer", path=options.path)
    if "url" not in options.options:
        raise fail("DL508", "the database has no address", None, 'write options={"url": "jdbc:…"}')
    if layout.late:
        raise fail("DL508", "late tuples have no key by which a table could follow them", None, 'leave late at "drop"')
    if "dbtable" in options.options and len(layout.outputs) > 1:
        names = ", ".join(layout.outputs)
        raise fail("DL508", f"`dbtable` names one table, and the answers are {names}", None, "leave `dbtable` out")
    return Jdbc(JdbcTables(spark, options.options, layout))


_PACKAGES = {
    "kafka": "org.apache.spark:spark-sql-kafka-0-10_2.13",
    "delta": "io.delta:delta-spark_2.13",
    "iceberg": "org.apache.iceberg:iceberg-spark-runtime",
    "avro": "org.apache.spark:spark-avro_2.13",
}
"""Where Spark gets a connector from that it does not come with."""


def _connector(spark: SparkSession, form: str) -> None:
    """Raises DL344 if the session has no connector of this name: better now than with the first answer."""
    jvm: Any = spark._jvm
    state = spark._jsparkSession.sessionState()
    if state.dataSourceManager().dataSourceExists(form):  # one that is written in Python
        return
    try:
        jvm.org.apache.spark.sql.execution.datasources.DataSource.lookupDataSource(form, state.conf())
    except Exception as error:  # PySpark has several kinds
        package = _PACKAGES.get(form)
        hint = (
            f'start the session with spark.jars.packages="{package}:<version>"' if package else "install its connector"
        )
        raise fail("DL344", f"Spark has no connector for the format `{form}`", None, hint) from error


def _refuse(sink: str, **given: object) -> None:
    asked = [name for name, value in given.items() if value]
    refuse_options(sink, asked, dict.fromkeys(given, "leave it out: it is for files and other formats"))


@dataclass(frozen=True, slots=True)
class ForeachBatch:
    function: ForEach

    def deliver(self, step: int, answers: Answers) -> None:
        self.function({relation: answer.frame for relation, answer in answers.items()}, step)


@dataclass(frozen=True, slots=True)
class Files:
    """Writes a folder per relation, in it a folder per step, which appears when it is complete."""

    spark: SparkSession
    path: str
    format: str
    options: Mapping[str, str]

    def deliver(self, step: int, answers: Answers) -> None:
        for relation, answer in answers.items():
            folder = f"{self.path.rstrip('/')}/{relation}"
            unfinished = f"{folder}/_unfinished"
            if self.format == "parquet" and not self.options:
                self._copy(answer.files, unfinished)
            else:
                writer = answer.frame.write.format(self.format).options(**self.options)
                writer.mode("overwrite").save(unfinished)
            self._replace(unfinished, f"{folder}/{free_name('batch', answer.schema.names)}={step}")

    def _copy(self, files: Sequence[str], folder: str) -> None:
        """Copies files as bytes: they are what Spark would read and write again."""
        target, system = self._place(folder)
        system.delete(target, True)
        system.mkdirs(target)
        copy: Any = self._java.org.apache.hadoop.fs.FileUtil.copy

        def copy_one(place: int) -> None:
            source, source_system = self._place(files[place])
            to, _ = self._place(f"{folder}/part-{place:05}.parquet")
            copy(source_system, source, system, to, False, True, self._configuration)

        with ThreadPoolExecutor(_COPIES_AT_ONCE) as threads:
            list(threads.map(copy_one, range(len(files))))

    def _replace(self, unfinished: str, finished: str) -> None:
        (source, system), (target, _) = self._place(unfinished), self._place(finished)
        system.delete(target, True)
        if not system.rename(source, target):
            raise OSError(f"cannot rename `{unfinished}` to `{finished}`")

    def _place(self, location: str) -> tuple[Any, Any]:
        """Returns a path and its file system, as Hadoop has them."""
        path = self._java.org.apache.hadoop.fs.Path(location)
        return path, path.getFileSystem(self._configuration)

    @property
    def _java(self) -> Any:
        return self.spark._jvm

    @property
    def _configuration(self) -> Any:
        return self.spark.sparkContext._jsc.hadoopConfiguration()


@dataclass(frozen=True, slots=True)
class Appended:
    """Writes any other format of Spark. What that does with a step that comes again is its own affair."""

    path: str | None
    format: str
    options: Mapping[str, str]
    query: str
    """Names the query, for a format that knows which of its steps it has."""

    def deliver(self, step: int, answers: Answers) -> None:
        for relation, answer in answers.items():
            place = None if self.path is None else f"{self.path.rstrip('/')}/{relation}"
            writer = answer.frame.write.format(self.format).options(**self.options)
            if self.format == "delta":  # which leaves out a transaction that it has already
                writer = writer.option("txnAppId", f"{self.query}/{relation}").option("txnVersion", step)
            writer.mode("append").save(place)


@dataclass(frozen=True, slots=True)
class Kafka:
    """Writes records with a key and a value, both JSON: the columns that tell facts apart, and the whole row. The topic
    is that of the options, or the name of the relation."""

    options: Mapping[str, str]
    layout: Layout

    def deliver(self, step: int, answers: Answers) -> None:
        for relation, answer in answers.items():
            self.records(relation, answer.frame).write.format("kafka").options(**self.options).save()

    def records(self, relation: str, frame: DataFrame) -> DataFrame:
        key = F.to_json(F.struct(*(F.col(quoted(name)) for name in self.layout.key(relation))))
        value = F.to_json(F.struct(*(F.col(quoted(name)) for name in frame.columns)))
        topic = () if "topic" in self.options else (F.lit(relation).alias("topic"),)
        return frame.select(key.alias("key"), value.alias("value"), *topic)


@dataclass(frozen=True, slots=True)
class Jdbc:
    """Keeps a table for each relation as its answer is."""

    tables: JdbcTables

    def deliver(self, step: int, answers: Answers) -> None:
        self.tables.deliver(step, {relation: answer.frame for relation, answer in answers.items()})


@dataclass(slots=True)
class MemoryTable:
    """Makes views by name: the answer of the last slide, or all changes so far. They live as long as this process."""

    spark: SparkSession
    name: str
    tells_changes: bool
    outputs: tuple[str, ...]
    slides: str
    """The name of the slides that were told."""
    folder: Path = field(default_factory=new_folder)

    def deliver(self, step: int, answers: Answers) -> None:
        told = answers.get(self.slides)
        last = None if told is None or self.tells_changes else told.frame.select(F.max(SLIDE)).collect()[0][0]
        for relation, answer in answers.items():
            frame = answer.frame
            place = self.folder / relation
            replaces = last is not None and (relation in self.outputs or relation == self.slides)
            if replaces:
                frame = frame.where(frame[frame.columns[0]] == F.lit(last))
            frame.write.mode("overwrite").parquet((place / f"step-{step:012}").as_uri())
            if replaces:
                for older in sorted(place.iterdir())[:-1]:
                    shutil.rmtree(older)
            view = self.name if (relation,) == self.outputs else f"{self.name}_{relation}"
            self.spark.read.schema(frame.schema).parquet(f"{place.as_uri()}/step-*").createOrReplaceTempView(view)


@dataclass(frozen=True, slots=True)
class Console:
    stream: TextIO
    rows: int
    slides: str = ""
    """The name of the slides that were told; empty if they are not to be told of."""

    def deliver(self, step: int, answers: Answers) -> None:
        self.show(step, {relation: answer.frame for relation, answer in answers.items()})

    def show(self, step: int, frames: Frames) -> None:
        told = frames.get(self.slides)
        for relation, frame in frames.items():
            if relation == self.slides:
                continue
            shown = frame.orderBy(*frame.columns).limit(self.rows + 1).collect()
            more = f"  … (the first {self.rows:,} rows of step {step:,})\n" if len(shown) > self.rows else ""
            lines = "".join(f"  {'  '.join(starmap(_shown, row.asDict().items()))}\n" for row in shown[: self.rows])
            self.stream.write(f"{relation}({', '.join(frame.columns)})\n{lines}{more}")
            if told is not None:
                empty = told.where((F.col("relation") == relation) & (F.col("facts") == 0)).orderBy(SLIDE)
                for row in empty.limit(self.rows).collect():
                    self.stream.write(f"  {row[SLIDE]}  no facts\n")
        self.stream.flush()


def _shown(name: str, value: object) -> str:
    return {"added": "+", "removed": "−"}.get(str(value), str(value)) if name == CHANGE else str(value)
