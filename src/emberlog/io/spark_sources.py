"""Makes sources for the engine on Spark: files and tables that Spark reads, and folders that it watches."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types
from pyspark.sql.classic.dataframe import DataFrame as ClassicFrame
from pyspark.sql.streaming.readwriter import DataStreamReader

from emberlog.datatypes import TIMESTAMP
from emberlog.diagnostics import EmberlogError, fail
from emberlog.io.delimited_text import read_rows
from emberlog.io.facts import is_number, lines_of, type_of_texts
from emberlog.io.intake import Files, Reader, Source, TableSource, refuse_text_options
from emberlog.io.local_files import LocalTextSource, json_objects
from emberlog.io.local_relation import LocalRelation
from emberlog.io.matching import check_arity, declared_order, half_character, no_equal_float
from emberlog.io.paths import DELIMITERS, JSON_KINDS, KINDS, kind_given, kind_of, partition_values, unknown_kind
from emberlog.io.spark_conversions import CORRUPT, quoted
from emberlog.io.spark_frames import FrameSource, HeldSource, ParquetHere
from emberlog.io.spark_text import ENCODINGS, SparkTextSource, csv_options, is_bad, value_of
from emberlog.io.table_formats import TABLE_KINDS, read_table, table_kind, unreadable_table
from emberlog.io.text_format import USUAL, TextFormat, TextOptions
from emberlog.language.spark_types import spark_type
from emberlog.semantics.model import Relation
from emberlog.source import Source as Text

_log = logging.getLogger("emberlog")

_FORMATS = {".parquet": "parquet", ".orc": "orc", **dict.fromkeys(JSON_KINDS, "json")}
"""What Spark calls the kinds of files; those of text are all `csv`."""


_HALF = (
    r"(?<!\\)(\\\\)*(\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|"
    r"(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2})"
)
"""A surrogate in JSON without its other half."""
_SHOWN = 60


class SparkReader(Reader[DataFrame]):
    """Makes sources for the engine on Spark."""

    takes = "a DataFrame, a table's name, "
    failures = (Exception,)  # Spark has several kinds, and the bridge to its JVM one more

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def files(self, files: Files) -> Source[DataFrame]:
        location = f"file://{os.path.abspath(files.path)}" if files.is_here else files.path
        if files.kind in DELIMITERS:
            if files.text.of_kind(files.kind).encoding not in ENCODINGS:
                return self._decoded_here(files)
            return SparkTextSource(self._spark, files, location)
        if files.kind in JSON_KINDS:
            return FrameSource(files.name, self._objects(files, location))
        frame = self._partitioned(files, location)
        is_plain = files.kind == ".parquet" and files.found and isinstance(frame, ClassicFrame)
        return FrameSource(
            files.name, frame, here=ParquetHere(files.name, files.found, frame.schema) if is_plain else None
        )

    def logged_table(self, files: Files) -> Source[DataFrame]:
        """Has Spark read the table, or this process where the session lacks the package of the format."""
        location = f"file://{os.path.abspath(files.path)}" if files.is_here else files.path
        try:
            return FrameSource(files.name, self._spark.read.format(files.kind[1:]).load(location))
        except EmberlogError:
            raise
        except Exception as error:  # PySpark's own or that of the bridge to its JVM
            if "DATA_SOURCE_NOT_FOUND" not in str(error) and f"{files.kind[1:]}.DefaultSource" not in str(error):
                raise
        if not files.is_here:
            hint = "start the session with the package of that format, as in --conf spark.jars.packages=…"
            raise unreadable_table(files.kind, files.path, hint)
        _log.info("this process reads `%s`: the session of Spark has no %s", files.path, TABLE_KINDS[files.kind])
        return self.held(TableSource(files.name, read_table(files.kind, files.path)))

    def table(self, name: str, table: str) -> Source[DataFrame]:
        try:
            return FrameSource(name, self._spark.table(table))
        except EmberlogError:
            raise
        except PySparkException:
            raise fail("DL405", f"there is neither a file nor a table `{table}` for `{name}`") from None

    def frame(self, name: str, data: Any) -> Source[DataFrame] | None:
        return FrameSource(name, data) if isinstance(data, DataFrame) else None

    def held(self, source: Source[LocalRelation]) -> Source[DataFrame]:
        return HeldSource(self._spark, source)

    def _decoded_here(self, files: Files) -> Source[DataFrame]:
        """Has this process read files in an encoding that Spark does not know."""
        if not files.found:
            hint = "files of other encodings are read where they are on this machine"
            raise fail("DL425", f"Spark reads no text in the encoding `{files.text.encoding}`", None, hint)
        return HeldSource(self._spark, LocalTextSource(files))

    def _check_widened(self, frame: DataFrame, name: str, location: str, *, is_array: bool) -> None:
        """Raises DL506 for an int of JSON that stands among floats and has no equal float: Spark would round it."""

        def rounded(text: Column) -> Column:
            exact = text.cast("decimal(38,0)")
            is_other = F.rlike(text, F.lit(r"\A-?[0-9]{16,38}\z")) & (
                exact != text.cast("double").cast("decimal(38,0)")
            )
            return F.when(is_other, text)

        read = partial(self._spark.read.option("multiLine", is_array).json, location)
        found = _odd_value(frame, spark_types.DoubleType, read, spark_types.StringType(), rounded)
        if found is not None:
            raise no_equal_float(int(found[1]), f"the column `{found[0]}` of `{name}`")

    def _check_texts(self, frame: DataFrame, name: str, location: str, *, is_array: bool) -> None:
        """Raises DL403 for a column of JSON that has texts and other values: Spark would make texts of all, and one
        fact of 1 and `"1"`."""

        def no_text(value: Column) -> Column:
            return F.when(~F.schema_of_variant(value).isin("STRING", "VOID"), F.to_json(value))

        read = partial(self._spark.read.option("multiLine", is_array).json, location)
        found = _odd_value(frame, spark_types.StringType, read, spark_types.VariantType(), no_text)
        if found is not None:
            where = f"the column `{found[0]}` of `{name}`"
            raise fail("DL403", f"{where} has texts, and also {found[1]}", None, "give all values as one type")

    def _partitioned(self, files: Files, location: str) -> DataFrame:
        """Returns the rows of files. Partition columns have the type that all their values spell, as in text files;
        Spark by itself would make 1234 of `zip=01234`."""
        read = self._spark.read.format(_FORMATS[files.kind])
        frame = read.load(location)
        names = list(partition_values(files.path, files.found[0])) if files.found else []
        if not names:
            return frame
        given = {field.name: field.dataType for field in frame.schema.fields}
        texts = {**given, **dict.fromkeys(names, spark_types.StringType())}
        schema = spark_types.StructType([spark_types.StructField(name, type_) for name, type_ in texts.items()])
        values = [partition_values(files.path, file) for file in files.found]
        types = {name: type_of_texts([text for one in values if (text := one[name]) is not None]) for name in names}
        columns = {name: F.col(quoted(name)).cast(spark_type(type_)) for name, type_ in types.items()}
        return read.schema(schema).load(location).withColumns(columns)

    def _objects(self, files: Files, location: str) -> DataFrame:
        """Returns objects of JSON with columns in the order of the first one, where Spark would sort them. Raises DL424
        for half of a character, which Spark would read as `?`, and DL404 for what is no object."""
        lines = self._spark.read.text(location)
        start = lines.first()
        is_array = start is not None and str(start[0]).lstrip()[:1] == "["
        frame = self._spark.read.option("multiLine", is_array).json(location)
        if "_corrupt_record" in frame.columns:
            for file in files.found:
                json_objects(file)  # says where
            raise fail("DL404", f"`{files.path}` has lines that are not objects of JSON")
        half = lines.where(F.rlike("value", F.lit(_HALF))).first()
        if half is not None:
            raise half_character(f"`{half[0][:_SHOWN]}` in the data of `{files.name}`")
        self._check_widened(frame, files.name, location, is_array=is_array)
        self._check_texts(frame, files.name, location, is_array=is_array)
        try:
            of_first = (json_objects(files.found[0])[0] if is_array else json.loads(start[0])) if start else ()
        except (ValueError, TypeError, IndexError):
            return frame
        order = [key for key in of_first if key in frame.columns]
        return frame.select(*(F.col(quoted(name)) for name in [*order, *(n for n in frame.columns if n not in order)]))


def _odd_value(
    frame: DataFrame,
    kind: type[spark_types.DataType],
    read: Callable[..., DataFrame],
    read_as: spark_types.DataType,
    odd: Callable[[Column], Column],
) -> tuple[str, str] | None:
    """Returns a column of a kind, and a value of it that is odd when the same files are read as another type."""
    names = [one.name for one in frame.schema.fields if isinstance(one.dataType, kind)]
    if not names:
        return None
    values = read(schema=spark_types.StructType([spark_types.StructField(one, read_as) for one in names]))
    found = values.agg(*(F.max(odd(F.col(quoted(one)))) for one in names)).first() or ()
    return next(((name, value) for name, value in zip(names, found, strict=False) if value is not None), None)


# --- folders that are watched ---------------------------------------------------------------------------------------


def stream_of_folder(
    spark: SparkSession, relation: Relation, path: str, *, text: TextOptions = USUAL, kind: str | None = None
) -> DataFrame:
    """Returns a streaming frame of what is in the folder and what will come. Files are of one kind: that of the first
    one, if none is named."""
    if table := table_kind(path):
        raise unreadable_table(table, path, "give the stream as a frame: spark.readStream.format(…).load(…)")
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
    schema = _schema(relation, plain_times=False)
    stream = spark.readStream.option("pathGlobFilter", f"*{found}*")
    location = f"file://{os.path.abspath(path)}"
    if found in DELIMITERS:
        return _stream_of_text(stream, relation, location, files, text.of_kind(found))
    refuse_text_options(f"a {found} file", text)
    name = _FORMATS[found]
    if files:
        given = spark.read.format(name).load(files[0].as_uri()).schema
        schema = (
            given if found in (".parquet", ".orc") else _schema(relation, plain_times=_has_plain_times(given, schema))
        )
    return stream.schema(schema).format(name).load(location)


def _stream_of_text(
    stream: DataStreamReader, relation: Relation, location: str, files: Sequence[Path], text: TextFormat
) -> DataFrame:
    """Returns a streaming frame of text files. A cell that is no value of its column is a null, and told in the column
    of corrupt rows, as is a line with another number of cells."""
    if text.encoding not in ENCODINGS:
        raise fail("DL425", f"Spark reads no text in the encoding `{text.encoding}`", None, "save the files as UTF-8")
    own = [column.name for column in relation.columns]
    if text.header and files:  # later files have to have the same names
        first = next((line for _, line in lines_of(files[0], text) if line), "")
        rows = read_rows(Text(str(files[0]), first), text.delimiter, text.quote)
        own = [cell.text for cell in rows[0]] if rows else own
        check_arity(own, relation)
    order = declared_order(relation.name, own, relation.columns)
    fields = [spark_types.StructField(name, spark_types.StringType()) for name in (*own, CORRUPT)]
    cells = stream.schema(spark_types.StructType(fields)).options(enforceSchema=not text.header, **csv_options(text))
    frame = cells.options(mode="PERMISSIVE", columnNameOfCorruptRecord=CORRUPT).csv(location)
    plain_times = bool(files) and _has_numbers_first(files[0], order[0], text)
    columns = []
    malformed = [F.col(CORRUPT)]
    for column, place in zip(_schema(relation, plain_times=plain_times).fields, order, strict=True):
        type_ = next(one.type for one in relation.columns if one.name == column.name)
        cell = F.col(quoted(own[place]))
        value = value_of(cell, type_, text)
        if isinstance(column.dataType, spark_types.TimestampType):
            value = F.timestamp_micros(value)
        what = F.concat(F.lit("`"), cell, F.lit(f"` is not {type_.described}: column `{column.name}`"))
        malformed.append(F.when(is_bad(cell, type_, text), what))
        columns.append(value.alias(column.name))
    return frame.select(*columns, F.coalesce(*malformed).alias(CORRUPT))


def _has_numbers_first(file: Path, place: int, text: TextFormat) -> bool:
    """Tells whether the times of the first file are numbers, which text does not tell from moments."""
    lines = (line for number, line in lines_of(file, text) if line and not (text.header and number == 1))
    rows = read_rows(Text(str(file), next(lines, "")), text.delimiter, text.quote)
    return bool(rows) and is_number(rows[0][place].text)


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
