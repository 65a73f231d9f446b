"""Reads text files of facts with Spark: comma- or tab-separated, compressed or not, one file or a folder of them.

They mean the same as in `facts.py`: no header unless asked for, quoting as in RFC 4180, `\\N` is null, and so is an
empty cell in a column that is not of strings. Cells are read as text first. What a column holds is found out, or
checked against what the program wants, in one pass over the file.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, DataFrameReader, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from emberlog.datatypes import BOOL, FIRST, FLOAT, INT, SECOND, STRING, TIMESTAMP, UNKNOWN, DataType
from emberlog.diagnostics import EmberlogError, fail
from emberlog.io.facts import NULL, find_bad_line
from emberlog.io.intake import Files, TextSource
from emberlog.io.sampling import statistics_of_text
from emberlog.io.spark_conversions import local_frame
from emberlog.io.spark_frames import FrameSource
from emberlog.language.spark_types import spark_type
from emberlog.logical.statistics import RelationStatistics
from emberlog.semantics.model import Column as RelationColumn
from emberlog.semantics.model import Relation

_INT = r"(?U)\A\s*[+-]?[0-9]+\s*\z"
_FLOAT = r"(?U)\A\s*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\s*\z"
_BOOL = r"(?iU)\A\s*(true|false)\s*\z"
_ZONED = r"([zZ]|[+-][0-9]{2}:?[0-9]{2})\s*\z"

_BAD_LINE = "bad line"
_NOT_A_VALUE = "\ufffd"
"""What Spark puts in the place of bytes that are not UTF-8."""


class SparkTextSource(TextSource[DataFrame]):
    """Has Spark read its files. What a column holds is found out, or checked, in one pass over them."""

    def __init__(self, spark: SparkSession, files: Files, location: str) -> None:
        super().__init__(files)
        self._spark = spark
        self._path = location
        first = self._reader().csv(location)
        self._own = first.columns if files.header else [f"c{index + 1}" for index in range(len(first.columns))]
        self._checked: dict[tuple[DataType, ...], tuple[DataType, ...]] = {}

    def _names(self) -> Sequence[str]:
        return self._own

    def relation(self, relation: Relation) -> DataFrame:
        if not self._own:
            names, types = [f"c{index}" for index in range(relation.arity)], [one.type for one in relation.columns]
            return local_frame(self._spark, names, types, ())
        return self._frame(self._types(relation.columns))

    def original(self) -> DataFrame:
        columns = self.columns(None) or ()
        return self._frame([column.type for column in columns]).toDF(*(column.name for column in columns))

    def chosen(self, columns: Sequence[str]) -> FrameSource:
        return FrameSource(self._name, self.original()).chosen(columns)

    def statistics(self, relation: Relation) -> RelationStatistics | None:
        if not self._files or not self._own:
            return None
        return statistics_of_text(self._files, self._delimiter, len(self._own), header=self._header)

    def _types(self, known: Sequence[RelationColumn]) -> tuple[DataType, ...]:
        wanted = tuple(column.type for column in known)
        if wanted not in self._checked:
            found = self._look(known)
            self._checked[wanted] = self._checked[found] = found
        return self._checked[wanted]

    def _frame(self, types: Sequence[DataType]) -> DataFrame:
        """Returns the cells as values, in columns named `c0`, `c1`, …; timestamps are microseconds already."""
        return self._cells().select(
            *(_value(F.col(f"c{index}"), type_).alias(f"c{index}") for index, type_ in enumerate(types))
        )

    def _reader(self) -> DataFrameReader:
        return self._spark.read.options(
            sep=self._delimiter,
            header=self._header,
            quote='"',
            escape='"',
            nullValue="\0",  # only what is between two delimiters without any quotes
            emptyValue="",
            mode="PERMISSIVE",
            columnNameOfCorruptRecord=_BAD_LINE,
            enforceSchema=True,
            encoding="UTF-8",
        )

    def _cells(self) -> DataFrame:
        fields = [spark_types.StructField(f"c{index}", spark_types.StringType()) for index in range(len(self._own))]
        fields.append(spark_types.StructField(_BAD_LINE, spark_types.StringType()))
        return self._reader().schema(spark_types.StructType(fields)).csv(self._path)

    # --- looking at every cell --------------------------------------------------------------------------------------

    def _look(self, known: Sequence[RelationColumn]) -> tuple[DataType, ...]:
        counts = [F.count_if(F.col(_BAD_LINE).isNotNull()).alias("lines"), F.count(F.lit(1)).alias("rows")]
        for index, column in enumerate(known):
            cell, type_ = F.col(f"c{index}"), column.type
            counts.append(F.count_if(F.contains(cell, F.lit(_NOT_A_VALUE))).alias(f"unreadable {index}"))
            counts.append(F.count_if(_is_there(cell)).alias(f"there {index}"))
            if type_.is_known:
                counts.append(F.count_if(_is_bad(cell, type_)).alias(f"bad {index}"))
            else:
                counts.append(F.count_if(_is_there(cell) & F.rlike(cell, F.lit(_INT))).alias(f"ints {index}"))
                counts.append(F.count_if(_is_there(cell) & F.rlike(cell, F.lit(_FLOAT))).alias(f"floats {index}"))
        found = self._cells().agg(*counts).collect()[0]
        types = tuple(
            column.type if column.type.is_known else _inferred(found, index) for index, column in enumerate(known)
        )
        is_bad = found["lines"] or any(
            found[f"unreadable {index}"] or (column.type.is_known and found[f"bad {index}"])
            for index, column in enumerate(known)
        )
        if is_bad:
            columns = [RelationColumn(column.name, type_) for column, type_ in zip(known, types, strict=True)]
            raise self._bad(found, columns)
        return types

    def _bad(self, found: Row, columns: Sequence[RelationColumn]) -> EmberlogError:
        error = find_bad_line(self._files, columns, self._delimiter, header=self._header)
        if error is not None:
            return error
        if found["lines"]:
            lines = f"{found['lines']:,} line{'' if found['lines'] == 1 else 's'}"
            return fail("DL402", f"{lines} of `{self._path}` without the {len(self._own)} cells that the first has")
        for index, column in enumerate(columns):
            if found[f"unreadable {index}"]:
                return fail("DL406", f"`{self._path}` is not text in UTF-8: column {index + 1}, `{column.name}`")
            bad = self._cells().where(_is_bad(F.col(f"c{index}"), column.type)).select(f"c{index}").first()
            if bad is not None:
                where = f"column {index + 1}, `{column.name}`, of `{self._path}`"
                return fail("DL404", f"`{bad[0]}` is not {column.type.described}: {where}")
        return fail("DL404", f"`{self._path}` changed while it was read")


def _inferred(found: Row, index: int) -> DataType:
    there = found[f"there {index}"]
    if not there:
        return STRING if found["rows"] else UNKNOWN
    if found[f"ints {index}"] == there:
        return INT
    return FLOAT if found[f"floats {index}"] == there else STRING


def _is_there(cell: Column) -> Column:
    """Tells whether a cell of a column that is not of text holds something."""
    return cell.isNotNull() & (cell != NULL) & (F.trim(cell) != "")


def _is_bad(cell: Column, type_: DataType) -> Column:
    return F.lit(False) if type_ in (STRING, UNKNOWN) else _is_there(cell) & _value(cell, type_).isNull()


def _value(cell: Column, type_: DataType) -> Column:
    """Returns the value of a cell; null for a null, and for text that is no value of the type."""
    if type_ in (STRING, UNKNOWN):
        return F.when(cell.isNull(), "").when(cell != NULL, cell)
    return F.when(_is_there(cell), _parsed(cell, type_))


def _parsed(cell: Column, type_: DataType) -> Column:
    if type_ == INT:
        return F.when(F.rlike(cell, F.lit(_INT)), F.trim(cell).try_cast("long"))
    if type_ == FLOAT:
        number = F.trim(cell).try_cast("double")
        return F.when(F.rlike(cell, F.lit(_FLOAT)) & (F.abs(number) != float("inf")), number + F.lit(0.0))
    if type_ == BOOL:
        return F.when(F.rlike(cell, F.lit(_BOOL)), F.lower(F.trim(cell)) == "true")
    if type_ == TIMESTAMP:
        # Without a time zone it is in UTC, whatever the session's time zone is.
        zoned = F.when(F.rlike(cell, F.lit(_ZONED)), F.trim(cell)).otherwise(F.concat(F.trim(cell), F.lit("Z")))
        moment = F.unix_micros(zoned.try_cast("timestamp"))
        return F.when(F.rlike(cell, F.lit(_INT)), F.trim(cell).try_cast("long")).otherwise(moment)
    if type_.name == "list":
        return F.from_json(cell, spark_types.ArrayType(spark_type(type_.parts[0])))
    parts = F.from_json(cell, spark_types.ArrayType(spark_types.StringType()))
    first, second = (
        F.get(parts, F.lit(index)).try_cast(spark_type(part)).alias(name)
        for index, (part, name) in enumerate(zip(type_.parts, (FIRST, SECOND), strict=True))
    )
    return F.when(F.size(parts) == 2, F.struct(first, second))
