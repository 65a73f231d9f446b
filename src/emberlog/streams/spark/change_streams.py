"""Reads streams of changes: rows that come and go, in the forms in which databases and tables tell of them.

Every form becomes rows with their time first and one more column, which says whether the row comes (1) or goes (-1).
"""

from __future__ import annotations

from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from emberlog.diagnostics import EmberlogError, fail
from emberlog.io.spark_conversions import CHANGED, quoted

_COME = ("i", "+", "+i", "+u", "c", "r", "1", "insert", "inserted", "create", "read", "added", "update_postimage")
_GO = ("d", "-", "-d", "-u", "-1", "delete", "deleted", "removed", "update_preimage")
_COMMIT_COLUMNS = ("_commit_version", "_commit_timestamp")
_ENVELOPE = ("before", "after", "op")


def with_changes(name: str, frame: object, form: str) -> DataFrame:
    """Returns a streaming frame with its changes in one form. `form` is `debezium`, for rows with `before`, `after` and
    `op`; `delta`, for a change feed of Delta; or the name of a column that says whether its row comes or goes."""
    if not isinstance(frame, DataFrame) or not frame.isStreaming:
        raise _unreadable(name, "only a streaming frame has changes", "spark.readStream gives one")
    if form == "debezium":
        return _of_envelopes(name, frame)
    if form == "delta":
        return _of_change_feed(name, frame)
    if form not in frame.columns:
        hint = f"it has {', '.join(frame.columns)}; other forms are `debezium` and `delta`"
        raise _unreadable(name, f"there is no column `{form}` that says what happens to a row", hint)
    others = [F.col(quoted(one)) for one in frame.columns if one != form]
    return frame.select(*others, _sign(F.col(quoted(form))).alias(CHANGED))


def _sign(said: Column) -> Column:
    """Returns 1 or -1; null for anything else, which makes a bad row."""
    word = F.lower(F.trim(said.cast("string")))
    return F.when(word.isin(*_COME), F.lit(1)).when(word.isin(*_GO), F.lit(-1)).cast("byte")


def _of_envelopes(name: str, frame: DataFrame) -> DataFrame:
    """An update is a row that goes and one that comes, at the time of the envelope. A record without a value, which
    Kafka has behind a deletion, says nothing."""
    fields = {field.name: field.dataType for field in frame.schema.fields}
    if not all(one in fields for one in _ENVELOPE) or not isinstance(fields["after"], spark_types.StructType):
        hint = f"an envelope has the structs `before` and `after`, and `op`; the frame has {', '.join(fields)}"
        raise _unreadable(name, "the frame has no envelopes of Debezium", hint)
    if "ts_ms" not in fields:
        raise _unreadable(name, "the envelopes have no time", "Debezium writes it as `ts_ms`")
    op = F.lower(F.col("op"))
    gone = F.when(op.isin("u", "d"), F.struct(F.lit(-1).cast("byte").alias(CHANGED), F.col("before").alias("row")))
    come = F.when(op.isin("c", "r", "u"), F.struct(F.lit(1).cast("byte").alias(CHANGED), F.col("after").alias("row")))
    says_something = reduce(or_, (F.col(one).isNotNull() for one in _ENVELOPE))
    neither = F.when(
        ~F.coalesce(op.isin("c", "r", "u", "d"), F.lit(False)) & says_something,
        F.struct(F.lit(None).cast("byte").alias(CHANGED), F.col("after").alias("row")),
    )
    each = F.explode(F.filter(F.array(gone, come, neither), lambda one: one.isNotNull())).alias("each")
    rows = frame.select(F.timestamp_millis(F.col("ts_ms")).alias("ts_ms"), each)
    row = [F.col(f"each.row.{quoted(field.name)}").alias(field.name) for field in fields["after"].fields]
    return rows.select("ts_ms", *row, F.col(f"each.{CHANGED}").alias(CHANGED))


def _of_change_feed(name: str, frame: DataFrame) -> DataFrame:
    if "_change_type" not in frame.columns:
        raise _unreadable(
            name, "the frame is no change feed of Delta", 'read it with .option("readChangeFeed", "true")'
        )
    own = [one for one in frame.columns if one not in ("_change_type", *_COMMIT_COLUMNS)]
    time = [F.col("_commit_timestamp")] if "_commit_timestamp" in frame.columns else []
    return frame.select(*time, *(F.col(quoted(one)) for one in own), _sign(F.col("_change_type")).alias(CHANGED))


def _unreadable(name: str, message: str, hint: str) -> EmberlogError:
    return fail("DL343", f"`{name}` cannot be read as a stream of changes: {message}", None, hint)
