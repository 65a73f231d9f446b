"""Keeps tables of a database as the answers are: each step deletes and inserts the rows whose keys its slides changed.

A step is one transaction over all relations. Delivered again it does the same, because a row is deleted by its key
before it is inserted. The connection is the driver's: what goes over it is what has changed, and not the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import TimestampType

from emberlog.diagnostics import fail
from emberlog.io.spark_conversions import quoted
from emberlog.streams.steps.answers import ADDED, Layout

ROWS_AT_ONCE = 1_000
_MILLION = 1_000_000

Row = tuple[Any, ...]


def last_changes(frame: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Returns of each key what its last slide did to it: a row that was removed and added is another one now. The first
    two columns of the changes are the slide and what happened."""
    slide, change, *_ = (F.col(quoted(name)) for name in frame.columns)
    ranked = Window.partitionBy(*(quoted(name) for name in keys)).orderBy(slide.desc(), (change == ADDED).desc())
    place = "place in its key"
    return frame.withColumn(place, F.row_number().over(ranked)).where(F.col(quoted(place)) == 1).drop(place)


@dataclass(frozen=True, slots=True)
class _Table:
    name: str
    columns: Mapping[str, tuple[str, int]]
    """The columns of the answer that the table has, each as SQL writes it, and the number of its type."""
    keys: tuple[str, ...]

    def deleting(self, key: Row) -> str:
        """Returns the statement that deletes the row of a key; a null is looked for by another one than a value."""
        tests = (
            f"{self.columns[name][0]} {'IS NULL' if value is None else '= ?'}"
            for name, value in zip(self.keys, key, strict=True)
        )
        return f"DELETE FROM {self.name}" + (f" WHERE {' AND '.join(tests)}" if self.keys else "")

    @property
    def inserting(self) -> str:
        names = ", ".join(name for name, _ in self.columns.values())
        return f"INSERT INTO {self.name} ({names}) VALUES ({', '.join('?' * len(self.columns))})"


class JdbcTables:
    """Is the sink of the changes of a query; a table has the name of its relation."""

    def __init__(self, spark: SparkSession, options: Mapping[str, str], layout: Layout) -> None:
        """Makes the tables that are not there. The connection is that of Spark's own source, with its options."""
        self._spark = spark
        self._layout = layout
        java: Any = spark._jvm
        self._java = java
        try:
            given = java.PythonUtils.toScalaMap({**options, "dbtable": options.get("dbtable", "answers")})
            own = java.org.apache.spark.sql.execution.datasources.jdbc.JDBCOptions(given)
            self._dialect = java.org.apache.spark.sql.jdbc.JdbcDialects.get(own.url())
            self._connections = self._dialect.createConnectionFactory(own)
            self._tables = {name: self._prepared(name, options) for name in layout.outputs}
        except (Py4JJavaError, PySparkException) as error:
            raise fail("DL345", f"the database cannot take the answers: {_reason(error)}") from error

    def _prepared(self, relation: str, options: Mapping[str, str]) -> _Table:
        schema = from_arrow_schema(self._layout.schema(relation))
        slide, change, *names = schema.names
        table = options.get("dbtable", relation)
        empty = self._spark.createDataFrame([], schema).drop(change)
        if not self._exists(table):
            empty.write.format("jdbc").options(**{**options, "dbtable": table}).mode("append").save()
        found = self._columns_of(table)
        columns = {name: found[name.lower()] for name in (slide, *names) if name.lower() in found}
        if missing := [name for name in names if name not in columns]:
            raise fail(
                "DL345",
                f"the table `{table}` has no column `{missing[0]}`",
                None,
                f"it needs {', '.join(names)}, and may have {slide}",
            )
        return _Table(table, columns, self._layout.key(relation))

    def _exists(self, table: str) -> bool:
        connection = self._connections.apply(-1)
        try:
            connection.prepareStatement(self._dialect.getTableExistsQuery(table)).executeQuery()
        except Py4JJavaError:
            return False
        finally:
            connection.close()
        return True

    def _columns_of(self, table: str) -> dict[str, tuple[str, int]]:
        """Returns the columns of a table by their names in small letters."""
        connection = self._connections.apply(-1)
        try:
            about = connection.prepareStatement(self._dialect.getSchemaQuery(table)).executeQuery().getMetaData()
            names = [(about.getColumnName(place), place) for place in range(1, about.getColumnCount() + 1)]
            return {
                name.lower(): (self._dialect.quoteIdentifier(name), about.getColumnType(place)) for name, place in names
            }
        finally:
            connection.close()

    def deliver(self, step: int, changes: Mapping[str, DataFrame]) -> None:
        connection = self._connections.apply(-1)
        try:
            connection.setAutoCommit(False)
            for relation, frame in changes.items():
                self._put(connection, self._tables[relation], frame)
            connection.commit()
        except Exception as error:
            connection.rollback()
            if isinstance(error, Py4JJavaError):
                raise fail("DL345", f"the database does not take step {step:,}: {_reason(error)}") from error
            raise
        finally:
            connection.close()

    def _put(self, connection: Any, table: _Table, frame: DataFrame) -> None:
        change = frame.columns[1]
        moments = {one.name for one in frame.schema if isinstance(one.dataType, TimestampType)}
        shown = [
            F.unix_micros(quoted(name)).alias(name) if name in moments else F.col(quoted(name))
            for name in (change, *table.columns)
        ]
        places = {name: place for place, name in enumerate(table.columns)}
        rows = last_changes(frame, table.keys).select(*shown).toLocalIterator(prefetchPartitions=True)
        for some in _in_parts(rows):
            values = [
                tuple(self._value(value, name in moments) for name, value in zip(table.columns, row[1:], strict=True))
                for row in some
            ]
            keys = [tuple(row[places[name]] for name in table.keys) for row in values]
            types = [table.columns[name][1] for name in table.keys]
            for statement in dict.fromkeys(map(table.deleting, keys)):
                own = (key for key in keys if table.deleting(key) == statement)
                found = ([pair for pair in zip(key, types, strict=True) if pair[0] is not None] for key in own)
                _execute(connection, statement, found)
            kinds = [kind for _, kind in table.columns.values()]
            added = (row for row, (did, *_) in zip(values, some, strict=True) if did == ADDED)
            _execute(connection, table.inserting, (list(zip(row, kinds, strict=True)) for row in added))

    def _value(self, value: Any, is_moment: bool) -> Any:
        if not is_moment or value is None:
            return value
        seconds, micros = divmod(value, _MILLION)
        moment = self._java.java.sql.Timestamp(seconds * 1_000)
        moment.setNanos(micros * 1_000)
        return moment


def _execute(connection: Any, text: str, rows: Iterable[Sequence[tuple[Any, int]]]) -> None:
    """Executes a statement with the values of each row, all in one batch."""
    statement = connection.prepareStatement(text)
    is_needed = False
    for row in rows:
        for place, (value, kind) in enumerate(row, 1):
            if value is None:
                statement.setNull(place, kind)
            else:
                statement.setObject(place, value)
        statement.addBatch()
        is_needed = True
    if is_needed:
        statement.executeBatch()
    statement.close()


def _in_parts(rows: Iterator[Row]) -> Iterator[list[Row]]:
    for first in rows:
        yield list(chain([first], islice(rows, ROWS_AT_ONCE - 1)))


def _reason(error: Py4JJavaError | PySparkException) -> str:
    """Returns what Java says, with the cause of it all."""
    if isinstance(error, PySparkException):
        return str(error).splitlines()[0]
    found: Any = error.java_exception
    while found.getCause() is not None:
        found = found.getCause()
    return str(found.getMessage()).splitlines()[0]
