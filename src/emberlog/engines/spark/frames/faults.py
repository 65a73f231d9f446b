"""Errors inside Spark's tasks: raised by expressions as text, turned into coded errors when they come back.

Spark evaluates expressions where and when it likes, long after the plan is made. So a fault carries all a person
needs in its text, readable as it is: `error[DL501]: division by zero in rule r3`. Whoever runs a job catches the
exception of Spark and gives back an EmberlogError with the place in the program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from emberlog.diagnostics import EmberlogError, fail
from emberlog.source import NOWHERE, Span

_FAULT = re.compile(
    r"error\[(?P<code>DL\d+)\]: (?P<message>.*?)(?: in rule (?P<rules>[^;\s][^;]*?))?(?:; (?P<hint>.*?))? ¶", re.S
)
"""`¶` ends the text of a fault: Spark writes more behind it."""

_CANCELLED = re.compile(r"OPERATION_CANCELED|SPARK_JOB_CANCELLED|cancelled", re.I)

Places = Mapping[str, Span]
"""Rule → where it stands in the program."""


def fault_of(error: BaseException, places: Places) -> EmberlogError | None:
    """Returns the fault of a program behind an exception of Spark, or None if it is something else."""
    text = str(error)
    found = _FAULT.search(text)
    if found:
        rules = found["rules"]
        message = found["message"] + (f" in rule {rules}" if rules else "")
        hints = [found["hint"]] if found["hint"] else []
        return fail(found["code"], message, _place(rules, places), *hints)
    return None


def _place(rules: str | None, places: Places) -> Span | None:
    first = (rules or "").split(",")[0]
    span = places.get(first, NOWHERE)
    return None if span is NOWHERE else span


def is_cancelled(error: BaseException) -> bool:
    """Tells whether somebody stopped the job, rather than a fault in it."""
    is_of_spark = type(error).__module__.split(".")[0] in ("pyspark", "py4j")
    return is_of_spark and bool(_CANCELLED.search(str(error)))


@contextmanager
def coded_errors(places: Places) -> Iterator[None]:
    """Lets faults of the program out as EmberlogError, and everything else as it is."""
    try:
        yield
    except Exception as error:  # Spark has several kinds, and the bridge to its JVM one more
        fault = None if isinstance(error, EmberlogError) else fault_of(error, places)
        if fault is None:
            raise
        raise fault from None
