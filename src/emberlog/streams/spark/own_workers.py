"""Python workers that a stream query has for itself, and with them the state that is resident there.

Spark keeps Python workers apart by their environment. For each environment it has a process that makes them, which
takes over a second to start and stays as long as the session. So environments are numbered, and a query takes the
number of one that has ended.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from threading import Lock
from weakref import WeakValueDictionary

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkContext
from pyspark.sql.streaming.query import StreamingQuery

_VARIABLE = "EMBERLOG_STREAM"

_lock = Lock()


class OwnWorkers:
    def __init__(self) -> None:
        self.query: StreamingQuery | None = None
        """Who needs them; None before it has begun."""
        with _lock:
            self.number = next(one for one in count() if not _is_taken(one))
            _users[self.number] = self

    @contextmanager
    def chosen(self, context: SparkContext) -> Iterator[None]:
        """A function that is given to Spark meanwhile runs in them."""
        with _lock:
            context.environment[_VARIABLE] = str(self.number)
            try:
                yield
            finally:
                del context.environment[_VARIABLE]

    @property
    def are_needed(self) -> bool:
        try:
            return self.query is None or bool(self.query.isActive)
        except (Py4JError, OSError):
            return False  # with its Spark


_users: WeakValueDictionary[int, OwnWorkers] = WeakValueDictionary()


def _is_taken(number: int) -> bool:
    user = _users.get(number)
    return user is not None and user.are_needed
