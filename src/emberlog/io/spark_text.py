"""Reads text files of facts with Spark: comma- or tab-separated, compressed or not, one file or a folder of them.

They mean the same as in `facts.py`: no header unless asked for, spelled as `text_format` says, and an empty cell is
null in a column that is not of strings. Cells are read as text first. What a column holds is found out, or checked
against what the program wants, in one pass over the file.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, DataFrameReader, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types
from pyspark.sql.classic.dataframe import DataFrame as ClassicFrame

from emberlog.datatypes import BOOL, FIRST, FLOAT, INT, SECOND, STRING, TIMESTAMP, UNKNOWN, DataType
from emberlog.diagnostics import EmberlogError, fail
from emberlog.io.chosen_text import ChosenText
from emberlog.io.facts import BLANKS, can_be_header, find_bad_line
from emberlog.io.intake import Files, TextSource
from emberlog.io.local_files import LocalTextSource
from emberlog.io.local_relation import LocalRelation
from emberlog.io.paths import cause_in
from emberlog.io.sampling import statistics_of_text
from emberlog.io.spark_conversions import local_frame, quoted, read_cell
from emberlog.io.text_format import TextFormat
from emberlog.language.spark_types import spark_type
from emberlog.logical.statistics import RelationStatistics
from emberlog.semantics.model import Column as RelationColumn
from emberlog.semantics.model import Relation

ENCODINGS = {"utf-8-sig": "UTF-8", "ascii": "US-ASCII", "iso8859-1": "ISO-8859-1"}
"""Those that Spark reads line by line, by Python's names for them."""

_INT = r"\A[ \t]*[+-]?[0-9]+[ \t]*\z"
_FLOAT = r"\A[ \t]*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?[ \t]*\z"
_CODE = r"\A[ \t]*[+-]?0[0-9]"
_BOOL = r"(?i)\A[ \t]*(true|false)[ \t]*\z"

MOST_READ_HERE = 1 << 20
"""Bytes of text that this process reads in less time than Spark takes to begin."""

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
        own = first.columns
        self._own = own if self._text.header else [f"c{index + 1}" for index in range(len(own))]
        self._checked: dict[tuple[DataType, ...], tuple[DataType, ...]] = {}
        self._here: LocalTextSource | None = None
        if self._files and isinstance(first, ClassicFrame):
            self._here = LocalTextSource(files)
            self._here.keep_quiet()  # all that there is to say is said here

    def names(self) -> Sequence[str]:
        return self._own

    def relation(self, relation: Relation) -> DataFrame:
        if not self._own:
            names, types = [f"c{index}" for index in range(relation.arity)], [one.type for one in relation.columns]
            return local_frame(self._spark, names, types, ())
        if not relation.is_declared or relation.arity != len(self._own):
            return self._frame(self.types(relation.columns))
        order = self._order(relation.columns)
        frame = self._frame(self.types(self._as_in_file(relation.columns)))
        return frame.select(*(F.col(f"c{place}").alias(f"c{index}") for index, place in enumerate(order)))

    def at_hand(self, relation: Relation, most: int | None) -> LocalRelation | None:
        if self._here is None:
            return None
        try:
            size = sum(file.stat().st_size for file in self._files)
        except OSError:
            return None  # Spark says what is wrong
        return self._here.relation(relation) if most is None or size <= min(most, MOST_READ_HERE) else None

    def original(self) -> DataFrame:
        columns = self.columns(None) or ()
        return self._frame([column.type for column in columns]).toDF(*(column.name for column in columns))

    def chosen(self, columns: Sequence[str]) -> ChosenText[DataFrame]:
        return ChosenText(self, columns)

    def selected(
        self, relation: Relation, known: Sequence[RelationColumn], places: Sequence[int], *, plain_times: bool
    ) -> DataFrame:
        frame = self._frame(self.types(known))
        return frame.select(*(F.col(f"c{place}").alias(f"c{index}") for index, place in enumerate(places)))

    def original_columns(self, places: Sequence[int]) -> DataFrame:
        frame = self.original()
        return frame.select(*(F.col(quoted(frame.columns[place])) for place in places))

    def statistics(self, relation: Relation) -> RelationStatistics | None:
        if not self._files or not self._own:
            return None
        return statistics_of_text(self._files, self._text, len(self._own))

    def types(self, known: Sequence[RelationColumn]) -> tuple[DataType, ...]:
        wanted = tuple(column.type for column in known)
        if wanted not in self._checked:
            found = self._look(known)
            self._checked[wanted] = self._checked[found] = found
        return self._checked[wanted]

    def _frame(self, types: Sequence[DataType]) -> DataFrame:
        """Returns the cells as values, in columns named `c0`, `c1`, …; timestamps are microseconds already."""
        return self._cells().select(
            *(value_of(F.col(f"c{index}"), type_, self._text).alias(f"c{index}") for index, type_ in enumerate(types))
        )

    def _reader(self) -> DataFrameReader:
        return self._spark.read.options(
            mode="PERMISSIVE", columnNameOfCorruptRecord=_BAD_LINE, enforceSchema=True, **csv_options(self._text)
        )

    def _cells(self) -> DataFrame:
        fields = [spark_types.StructField(f"c{index}", spark_types.StringType()) for index in range(len(self._own))]
        fields.append(spark_types.StructField(_BAD_LINE, spark_types.StringType()))
        return self._reader().schema(spark_types.StructType(fields)).csv(self._path)

    # --- looking at every cell --------------------------------------------------------------------------------------

    def _look(self, known: Sequence[RelationColumn]) -> tuple[DataType, ...]:
        counts = [F.count_if(F.col(_BAD_LINE).isNotNull()).alias("lines"), F.count(F.lit(1)).alias("rows")]
        first = self._possible_header()
        for index, column in enumerate(known):
            cell, type_ = F.col(f"c{index}"), column.type
            has_value = is_there(cell, self._text)
            counts.append(F.count_if(F.contains(cell, F.lit(_NOT_A_VALUE))).alias(f"unreadable {index}"))
            counts.append(F.count_if(has_value).alias(f"there {index}"))
            counts.append(F.count_if(cell == self._text.null).alias(f"nulls {index}"))
            if type_.is_known:
                counts.append(F.count_if(is_bad(cell, type_, self._text)).alias(f"bad {index}"))
            else:
                counts.append(F.count_if(has_value & F.rlike(cell, F.lit(_INT))).alias(f"ints {index}"))
                counts.append(F.count_if(has_value & F.rlike(cell, F.lit(_FLOAT))).alias(f"floats {index}"))
                counts.append(F.count_if(has_value & F.rlike(cell, F.lit(_CODE))).alias(f"codes {index}"))
            if first:
                is_below = cell.isNotNull() & (cell != first[index])
                counts.append(F.count_if(is_below).alias(f"below {index}"))
                counts.append(F.count_if(is_below & F.rlike(cell, F.lit(_FLOAT))).alias(f"numbers {index}"))
        found = self._collected(self._cells().agg(*counts))[0]
        types = tuple(
            column.type if column.type.is_known else _inferred(found, index) for index, column in enumerate(known)
        )
        has_bad = found["lines"] or any(
            found[f"unreadable {index}"] or (column.type.is_known and found[f"bad {index}"])
            for index, column in enumerate(known)
        )
        if has_bad:
            columns = [RelationColumn(column.name, type_) for column, type_ in zip(known, types, strict=True)]
            raise self._bad(found, columns)
        if any(found[f"nulls {index}"] for index in range(len(known))):
            self._refuse_quoted_nulls()
        if first:
            places = range(len(first))
            are_numbers = [0 < found[f"below {place}"] == found[f"numbers {place}"] for place in places]
            self._notice_header(first, are_numbers, known)
        return types

    def _refuse_quoted_nulls(self) -> None:
        """Raises DL429 if a cell is the text of null in quotes, which Spark does not tell from null."""
        quote, null = self._text.quote, self._text.null
        if not quote or not null:
            return
        lines = self._spark.read.option("encoding", ENCODINGS[self._text.encoding]).text(self._path)
        if self._collected(lines.where(F.contains("value", F.lit(f"{quote}{null}{quote}"))).limit(1)):
            hint = "say another text for null: null=…, --null"
            raise fail("DL429", f"`{self._path}` has `{null}` in quotes, which Spark takes for null", None, hint)

    def _possible_header(self) -> Sequence[str]:
        """Returns the cells of the first line if they may be names, else none."""
        if not self._text.may_have_header:
            return ()
        rows = self._collected(self._cells().drop(_BAD_LINE).limit(1))
        cells = list(rows[0]) if rows else []
        return cells if cells and can_be_header(cells) else ()

    def _collected(self, frame: DataFrame) -> list[Row]:
        try:
            return frame.collect()
        except Exception as error:  # Spark has several kinds, and the bridge to its JVM one more
            raise fail("DL405", f"cannot read `{self._path}`", None, cause_in(str(error))) from None

    def _bad(self, found: Row, columns: Sequence[RelationColumn]) -> EmberlogError:
        error = find_bad_line(self._files, columns, self._text)
        if error is not None:
            return error
        if found["lines"]:
            lines = f"{found['lines']:,} line{'' if found['lines'] == 1 else 's'}"
            return fail("DL402", f"{lines} of `{self._path}` without the {len(self._own)} cells that the first has")
        for index, column in enumerate(columns):
            if found[f"unreadable {index}"]:
                encoding = self._text.encoding_shown
                return fail("DL406", f"`{self._path}` is not text in {encoding}: column {index + 1}, `{column.name}`")
            bad = self._cells().where(is_bad(F.col(f"c{index}"), column.type, self._text)).select(f"c{index}").first()
            if bad is not None:
                where = f"column {index + 1}, `{column.name}`, of `{self._path}`"
                return fail("DL404", f"`{bad[0]}` is not {column.type.described}: {where}")
        return fail("DL404", f"`{self._path}` changed while it was read")


# --- one cell -------------------------------------------------------------------------------------------------------


def csv_options(text: TextFormat) -> dict[str, str]:
    """Returns what Spark has to know to read files line by line."""
    return {
        "sep": text.delimiter,
        "header": str(text.header),
        "quote": text.quote,
        "escape": text.quote or "\0",
        "nullValue": "\0",  # only what is between two delimiters without any quotes
        "emptyValue": "",
        "encoding": ENCODINGS[text.encoding],
    }


def is_there(cell: Column, text: TextFormat) -> Column:
    """Tells whether a cell of a column that is not of text holds something."""
    return cell.isNotNull() & (cell != text.null) & (_trimmed(cell) != "")


def is_bad(cell: Column, type_: DataType, text: TextFormat) -> Column:
    is_text = type_ in (STRING, UNKNOWN)
    return F.lit(False) if is_text else is_there(cell, text) & value_of(cell, type_, text).isNull()


def value_of(cell: Column, type_: DataType, text: TextFormat) -> Column:
    """Returns the value of a cell; null for a null, and for text that is no value of the type."""
    if type_ in (STRING, UNKNOWN):
        shown = cell if text.null == "" else F.when(cell.isNull(), "").otherwise(cell)
        return F.when(shown != text.null, shown)
    return F.when(is_there(cell, text), _parsed(cell, type_))


def _inferred(found: Row, index: int) -> DataType:
    there = found[f"there {index}"]
    if not there:
        return STRING if found["rows"] else UNKNOWN
    if found[f"codes {index}"]:
        return STRING
    if found[f"ints {index}"] == there:
        return INT
    return FLOAT if found[f"floats {index}"] == there else STRING


def _trimmed(cell: Column) -> Column:
    return F.btrim(cell, F.lit(BLANKS))


def _parsed(cell: Column, type_: DataType) -> Column:
    if type_ == INT:
        return F.when(F.rlike(cell, F.lit(_INT)), _trimmed(cell).try_cast("long"))
    if type_ == FLOAT:
        number = _trimmed(cell).try_cast("double")
        return F.when(F.rlike(cell, F.lit(_FLOAT)) & (F.abs(number) != float("inf")), number + F.lit(0.0))
    if type_ == BOOL:
        return F.when(F.rlike(cell, F.lit(_BOOL)), F.lower(_trimmed(cell)) == "true")
    if type_ == TIMESTAMP:
        count = _trimmed(cell).try_cast("long")
        return F.when(F.rlike(cell, F.lit(_INT)), count).otherwise(read_cell(_trimmed(cell), type_))
    if type_.is_told_by_type and not type_.parts:
        return read_cell(_trimmed(cell), type_)
    if type_.name == "list":
        return F.from_json(cell, spark_types.ArrayType(spark_type(type_.parts[0])))
    parts = F.from_json(cell, spark_types.ArrayType(spark_types.StringType()))
    first, second = (
        F.get(parts, F.lit(index)).try_cast(spark_type(part)).alias(name)
        for index, (part, name) in enumerate(zip(type_.parts, (FIRST, SECOND), strict=True))
    )
    return F.when(F.size(parts) == 2, F.struct(first, second))
