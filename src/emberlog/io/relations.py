"""What people register under a name, as the facts of a relation: files, tables, frames and rows of every kind."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from emberlog.config import refuse_options
from emberlog.datatypes import UNKNOWN
from emberlog.diagnostics import EmberlogError, fail, nearest
from emberlog.io.conversions import as_relation, columns_of_frame, has_plain_times, quoted
from emberlog.io.local_data import frame_of_arrow, frame_of_pandas, frame_of_rows
from emberlog.io.local_rows import local_frame
from emberlog.io.paths import DELIMITERS, KINDS, kind_given, kind_of, local_files, looks_like_a_path, unknown_kind
from emberlog.io.python_rows import rows_of
from emberlog.io.text_files import TextFile, TextFormat
from emberlog.semantics.model import Column, Relation


class Registered(Protocol):
    """Data under a name. What it is exactly can depend on the program that reads it."""

    def columns(self, declared: Sequence[Column] | None) -> Sequence[Column] | None:
        """The columns that a program sees, given those that it declares; None if the data says nothing about them."""
        ...

    def frame(self, relation: Relation) -> DataFrame:
        """The facts, in the types of the relation, as executors want them."""
        ...

    def original(self) -> DataFrame:
        """The data as a person would look at it."""
        ...

    def has_plain_times(self, relation: Relation) -> bool:
        """Whether a column that the relation takes as a timestamp holds plain numbers."""
        ...


@dataclass(frozen=True, slots=True)
class RegisteredFrame:
    name: str
    given: DataFrame

    def columns(self, declared: Sequence[Column] | None) -> Sequence[Column]:
        return columns_of_frame(self.name, self._in_order(declared))

    def frame(self, relation: Relation) -> DataFrame:
        return as_relation(self._in_order(relation.columns if relation.is_declared else None), relation)

    def original(self) -> DataFrame:
        return self.given

    def has_plain_times(self, relation: Relation) -> bool:
        return has_plain_times([(self._in_order(relation.columns if relation.is_declared else None), relation)])

    def _in_order(self, declared: Sequence[Column] | None) -> DataFrame:
        """The columns in their own order, or in that of a declaration which has just the same names."""
        own = [name.lower() for name in self.given.columns]
        wanted = [column.name.lower() for column in declared or ()]
        if own != wanted and sorted(own) == sorted(wanted) and len(set(own)) == len(own):
            return self.given.select(*(F.col(quoted(self.given.columns[own.index(name)])) for name in wanted))
        return self.given


@dataclass(frozen=True, slots=True)
class RegisteredText:
    spark: SparkSession
    name: str
    file: TextFile

    def columns(self, declared: Sequence[Column] | None) -> Sequence[Column] | None:
        if not self.file.arity:
            return None
        if declared is None:
            return self._typed(self._unknown())
        if len(declared) != self.file.arity:
            return self._unknown()  # the program will be told
        return self._typed(declared)

    def frame(self, relation: Relation) -> DataFrame:
        if not self.file.arity:
            return _no_facts(self.spark, relation)
        return self.file.frame(self.file.types(relation.columns))

    def original(self) -> DataFrame:
        columns = self._typed(self._unknown())
        return self.file.frame([column.type for column in columns]).toDF(*(column.name for column in columns))

    def _unknown(self) -> list[Column]:
        names = self.file.names or [f"c{index + 1}" for index in range(self.file.arity)]
        return [Column(name, UNKNOWN) for name in names]

    def _typed(self, columns: Sequence[Column]) -> list[Column]:
        types = self.file.types(columns)
        return [Column(column.name, type_) for column, type_ in zip(columns, types, strict=True)]

    def has_plain_times(self, relation: Relation) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class RegisteredNothing:
    """No rows, of which nobody knows the columns."""

    spark: SparkSession

    def columns(self, declared: Sequence[Column] | None) -> None:
        return None

    def frame(self, relation: Relation) -> DataFrame:
        return _no_facts(self.spark, relation)

    def original(self) -> DataFrame:
        return self.spark.range(0).drop("id")

    def has_plain_times(self, relation: Relation) -> bool:
        return False


def _no_facts(spark: SparkSession, relation: Relation) -> DataFrame:
    names = [f"c{index}" for index in range(relation.arity)]
    return local_frame(spark, names, [column.type for column in relation.columns], ())


def register(
    spark: SparkSession,
    name: str,
    data: object,
    *,
    columns: Sequence[str] | None = None,
    header: bool = False,
    format: str | None = None,
) -> Registered:
    """Data of any kind that is known, under a name. `columns` choose some of its columns, by name and in order;
    `header` says that a text file begins with its columns' names; `format` what a path holds if its name does not."""
    registered = _registered(spark, name, data, header=header, kind=format)
    if columns is None:
        return registered
    return RegisteredFrame(name, _chosen(name, registered.original(), columns))


def _registered(spark: SparkSession, name: str, data: Any, *, header: bool, kind: str | None) -> Registered:
    module = type(data).__module__
    if isinstance(data, os.PathLike):
        return _from_path(spark, name, os.fspath(data), header=header, kind=kind)
    if isinstance(data, str):
        return _from_text(spark, name, data, header=header, kind=kind)
    if hasattr(data, "schema") and module.startswith("pyspark.sql"):
        return _checked(name, data)
    if module.startswith("pandas"):
        return _checked(name, frame_of_pandas(spark, name, data))
    if module.startswith("pyarrow") and hasattr(data, "column_names"):
        return _checked(name, frame_of_arrow(spark, name, data))
    if isinstance(data, Iterable) and not isinstance(data, bytes | dict):
        rows = rows_of(name, data)
        if rows is None:
            return RegisteredNothing(spark)
        facts, types = rows
        names = [f"c{index + 1}" for index in range(len(types))]
        return RegisteredFrame(name, frame_of_rows(spark, facts, types, names))
    raise fail(
        "DL407",
        f"`{name}` cannot be filled from a value of type {type(data).__name__}",
        None,
        "a DataFrame, a table's name, a path, pandas or Arrow data, and a list of tuples can be used",
    )


def _checked(name: str, frame: DataFrame) -> RegisteredFrame:
    columns_of_frame(name, frame)  # better said now than when a program reads it
    return RegisteredFrame(name, frame)


def _chosen(name: str, frame: DataFrame, columns: Sequence[str]) -> DataFrame:
    for wanted in columns:
        if wanted not in frame.columns:
            guess = nearest(wanted, frame.columns)
            hints = [f"did you mean `{guess}`?"] if guess else []
            hints.append(f"it has {', '.join(frame.columns)}")
            raise fail("DL409", f"the data of `{name}` has no column `{wanted}`", None, *hints)
    chosen = frame.select(*(F.col(quoted(wanted)) for wanted in columns))
    columns_of_frame(name, chosen)
    return chosen


# --- files and tables -----------------------------------------------------------------------------------------------


def _from_text(spark: SparkSession, name: str, text: str, *, header: bool, kind: str | None) -> Registered:
    """A string is a path if it looks like one or is one, and a table's name otherwise."""
    if kind is not None or looks_like_a_path(text):
        return _from_path(spark, name, text, header=header, kind=kind)
    if header:
        refuse_options("a table", ["header"], {"header": "leave it out: it is for text files"})
    try:
        return _checked(name, spark.table(text))
    except EmberlogError:
        raise
    except PySparkException:
        raise fail("DL405", f"there is neither a file nor a table `{text}` for `{name}`") from None


def _from_path(spark: SparkSession, name: str, path: str, *, header: bool, kind: str | None) -> Registered:
    kind = kind_given(kind, path)
    is_local = "://" not in path
    files = local_files(path) if is_local else []
    if is_local and not kind and files:
        kind = kind_of(str(files[0]))
    if kind not in KINDS:
        raise unknown_kind(path)
    location = path if not is_local else f"file://{os.path.abspath(path)}"
    try:
        if kind in DELIMITERS:
            return RegisteredText(
                spark, name, TextFile(spark, name, location, TextFormat(DELIMITERS[kind], header), files)
            )
        if kind == ".parquet":
            return _checked(name, spark.read.parquet(location))
        if kind == ".orc":
            return _checked(name, spark.read.orc(location))
        return _checked(name, _json(spark, location))
    except EmberlogError:
        raise
    except Exception as error:  # Spark has several kinds, and the bridge to its JVM one more
        raise fail("DL405", f"cannot read `{path}`", None, _reason(str(error))) from None


def _reason(text: str) -> str:
    """The line of a long report that says the most: the last cause, or the first line."""
    causes = re.findall(r"^Caused by: (?:[\w.$]+: )?(.+)$", text, re.MULTILINE)
    return causes[-1] if causes else text.strip().partition("\n")[0]


def _json(spark: SparkSession, location: str) -> DataFrame:
    """One object per line; columns in the order of the first one, where Spark would sort them."""
    import json

    frame = spark.read.json(location)
    first = spark.read.text(location).first()
    try:
        order = [key for key in json.loads(first[0]) if key in frame.columns] if first else []
    except (ValueError, TypeError):
        return frame
    return frame.select(*(F.col(quoted(name)) for name in [*order, *(n for n in frame.columns if n not in order)]))
