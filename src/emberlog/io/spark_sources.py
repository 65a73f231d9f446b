"""Makes sources for the engine on Spark: files and tables that Spark reads, and folders that it watches."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from emberlog.config import refuse_options
from emberlog.datatypes import TIMESTAMP
from emberlog.diagnostics import EmberlogError, fail
from emberlog.io.intake import Files, Reader, Source
from emberlog.io.local_relation import LocalRelation
from emberlog.io.paths import DELIMITERS, KINDS, kind_given, kind_of, unknown_kind
from emberlog.io.spark_conversions import quoted
from emberlog.io.spark_frames import FrameSource, HeldSource
from emberlog.io.spark_text import SparkTextSource
from emberlog.language.spark_types import spark_type
from emberlog.semantics.model import Relation

_FORMATS = {".parquet": "parquet", ".orc": "orc", ".json": "json", ".jsonl": "json"}
"""What Spark calls the kinds of files; those of text are all `csv`."""


class SparkReader(Reader[DataFrame]):
    """Makes sources for the engine on Spark."""

    takes = "a DataFrame, a table's name, "
    failures = (Exception,)  # Spark has several kinds, and the bridge to its JVM one more

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def files(self, files: Files) -> Source[DataFrame]:
        location = f"file://{os.path.abspath(files.path)}" if files.is_here else files.path
        if files.kind in DELIMITERS:
            return SparkTextSource(self._spark, files, location)
        frame = self._spark.read.format(_FORMATS[files.kind]).load(location)
        return FrameSource(files.name, self._as_written(frame, location) if _FORMATS[files.kind] == "json" else frame)

    def table(self, name: str, table: str, *, header: bool) -> Source[DataFrame]:
        if header:
            refuse_options("a table", ["header"], {"header": "leave it out: it is for text files"})
        try:
            return FrameSource(name, self._spark.table(table))
        except EmberlogError:
            raise
        except PySparkException:
            raise fail("DL405", f"there is neither a file nor a table `{table}` for `{name}`") from None

    def frame(self, name: str, data: Any) -> Source[DataFrame] | None:
        is_frame = hasattr(data, "schema") and type(data).__module__.startswith("pyspark.sql")
        return FrameSource(name, data) if is_frame else None

    def held(self, source: Source[LocalRelation]) -> Source[DataFrame]:
        return HeldSource(self._spark, source)

    def _as_written(self, frame: DataFrame, location: str) -> DataFrame:
        """Returns objects of JSON with columns in the order of the first one, where Spark would sort them."""
        first = self._spark.read.text(location).first()
        try:
            order = [key for key in json.loads(first[0]) if key in frame.columns] if first else []
        except (ValueError, TypeError):
            return frame
        return frame.select(*(F.col(quoted(name)) for name in [*order, *(n for n in frame.columns if n not in order)]))


# --- folders that are watched ---------------------------------------------------------------------------------------


def stream_of_folder(
    spark: SparkSession, relation: Relation, path: str, *, header: bool = False, kind: str | None = None
) -> DataFrame:
    """Returns a streaming frame of what is in the folder and what will come. Files are of one kind: that of the first
    one, if none is named."""
    files = _files(relation.name, path)
    found = kind_given(kind, path) if kind else kind_of(str(files[0])) if files else ""
    if not found:
        hint = "put the first file there, or say --kind csv"
        raise fail(
            "DL407",
            f"the folder `{path}` is empty, so the kind of the files of `{relation.name}` is unknown",
            None,
            hint,
        )
    if found not in KINDS:
        raise unknown_kind(str(files[0]) if files else path)
    name = _FORMATS.get(found, "csv")
    options = {"sep": DELIMITERS[found], "header": str(header)} if found in DELIMITERS else {}
    schema = _schema(relation, plain_times=False)
    if files:
        reader = spark.read.options(**options).option("inferSchema", True)
        given = reader.format(name).load(files[0].as_uri()).schema
        schema = (
            given if found in (".parquet", ".orc") else _schema(relation, plain_times=_has_plain_times(given, schema))
        )
    stream = spark.readStream.options(**options).option("pathGlobFilter", f"*{found}*").schema(schema)
    return stream.format(name).load(f"file://{os.path.abspath(path)}")


def _has_plain_times(given: spark_types.StructType, declared: spark_types.StructType) -> bool:
    """Tells whether the times of the first file are numbers. Columns of text files have no names to find them by."""
    by_name = {field.name: field.dataType for field in given.fields}
    first = by_name.get(declared.fields[0].name) or (given.fields[0].dataType if given.fields else None)
    return isinstance(first, spark_types.IntegerType | spark_types.LongType)


def _files(name: str, path: str) -> list[Path]:
    folder = Path(path).absolute()
    if not folder.is_dir():
        raise fail(
            "DL405",
            f"the stream `{name}` needs a folder, and `{path}` is none",
            None,
            "files are put into it one by one",
        )
    return sorted(one for one in folder.iterdir() if one.is_file() and not one.name.startswith((".", "_")))


def _schema(relation: Relation, *, plain_times: bool) -> spark_types.StructType:
    fields = []
    for column in relation.columns:
        if column.type.parts or not column.type.is_known:
            raise fail("DL403", f"files of a stream cannot hold {column.type}, as the column `{column.name}` is")
        is_moment = column.type == TIMESTAMP and not plain_times
        type_ = spark_types.TimestampType() if is_moment else spark_type(column.type)
        fields.append(spark_types.StructField(column.name, type_))
    return spark_types.StructType(fields)
