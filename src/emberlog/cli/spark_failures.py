"""Tells failures of Spark itself as such: they are neither the program's mistake nor one of Emberlog."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from emberlog.diagnostics import EmberlogError, fail
from emberlog.io.paths import cause_in

_MEMORY = "give Spark more memory: --conf spark.driver.memory=8g; or ask for less, with constants in the query"

_LONGEST_REASON = 300


@contextmanager
def told_as_such() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        failure = _failure(error)
        if failure is None:
            raise
        raise failure from error


def _failure(error: Exception) -> EmberlogError | None:
    root = type(error).__module__.split(".")[0]
    if isinstance(error, ConnectionError | EOFError) or type(error).__name__ == "Py4JNetworkError":
        return fail("DL520", "Spark's Java process ended while the program ran", None, _MEMORY)
    if root not in ("pyspark", "py4j"):
        return None
    text = str(error)
    if "OutOfMemoryError" in text:
        return fail("DL520", "Spark ran out of memory", None, _MEMORY)
    return fail("DL520", "Spark failed while the program ran", None, _reason(text))


def _reason(text: str) -> str:
    reason = cause_in(text) or "it did not say why"
    return reason if len(reason) <= _LONGEST_REASON else f"{reason[:_LONGEST_REASON]}…"
