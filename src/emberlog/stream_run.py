"""A stream query that runs, with a handle like that of PySpark's own streaming queries."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from emberlog.config import StreamOptions
from emberlog.diagnostics import EmberlogError, fail
from emberlog.provenance.asked import Asked
from emberlog.provenance.streams.questions import StreamQuestions
from emberlog.provenance.streams.stream_proof import StreamProof, StreamRefutation
from emberlog.streams.spark.sinks import ForEach
from emberlog.streams.spark.start import StreamAnswers
from emberlog.streams.steps.progress import StreamProgress


class StreamRun:
    """Is what `start` gives back."""

    def __init__(
        self,
        program: StreamAnswers,
        options: StreamOptions,
        function: ForEach | None = None,
        listener: Callable[[StreamProgress], None] | None = None,
    ) -> None:
        """Starts a program."""
        self._program = program
        self._coordinator = program.start(options, function, listener)
        self._query = self._coordinator.query
        self._coordinator.watch_the_clock()
        self._closes = options.closes
        self._lock = Lock()

    @property
    def id(self) -> str:
        """Returns the id that stays the same after every restart from the checkpoint."""
        return str(self._query.id)

    @property
    def runId(self) -> str:
        return str(self._query.runId)

    @property
    def name(self) -> str | None:
        return self._query.name

    @property
    def isActive(self) -> bool:
        return bool(self._query.isActive)

    @property
    def status(self) -> dict[str, Any]:
        return dict(self._query.status)

    @property
    def recentProgress(self) -> list[StreamProgress]:
        """Returns the progress of the last hundred steps."""
        return self._coordinator.progress.recent

    @property
    def lastProgress(self) -> StreamProgress | None:
        return self.recentProgress[-1] if self.recentProgress else None

    def exception(self) -> EmberlogError | PySparkException | None:
        """Returns why the query ended, if something went wrong."""
        return self._coordinator.error or self._query.exception()

    def awaitTermination(self, timeout: float | None = None) -> bool | None:
        """Waits for the end, and raises what went wrong; with a timeout, says whether the end came."""
        try:
            # PySpark's own takes whole seconds, and says so.
            ended = self._query.awaitTermination(None if timeout is None else max(1, round(timeout)))
        except PySparkException:
            self._raise()
            raise
        if ended is not False and self._query.exception() is None:
            self._close_all()
        return ended

    def processAllAvailable(self) -> None:
        """Waits until all input that was there is evaluated: for tests."""
        try:
            self._query.processAllAvailable()
        except PySparkException:
            self._raise()
            raise

    def stop(self, *, closes: bool = False) -> None:
        """Ends the query; a start with the same checkpoint goes on from here. `closes` if no more will come: then the
        slides that tuples wait for close, too."""
        self._closes = closes
        self._coordinator.end()
        self._query.stop()
        self._close_all()

    def bad(self, stream: str | None = None) -> DataFrame:
        """Returns the rows of a stream that could not be used, each with the reason and the step that it came with.
        The name may be left out where there is one stream."""
        streams = list(self._coordinator.spec.streams)
        name = streams[0] if stream is None and len(streams) == 1 else stream
        if name not in streams:
            raise fail("DL342", f"`{name}` is no stream of this query", None, f"it has {', '.join(streams)}")
        return self._coordinator.bad(name)

    # --- provenance -------------------------------------------------------------------------------------------------

    def why(self, relation: str, fact: Asked, *, depth: int | None = None, contributions: int = 10) -> StreamProof:
        """Tells why a fact is there at the last slide that closed, and until when: `query.why("reach", (1, 5))`. The
        proof is the one that lasts longest. Nothing is recorded for it: it is found from the tuples in the checkpoint,
        which are read into this process. The time of a fact may be left out."""
        return self._asked().why(relation, fact, depth=depth, contributions=contributions)

    def why_not(self, relation: str, fact: Asked, *, depth: int = 1) -> StreamRefutation:
        """Tells why a fact is not there at the last slide that closed."""
        return self._asked().why_not(relation, fact, depth=depth)

    def _asked(self) -> StreamQuestions:
        if self._coordinator.spec.schedule.gap is not None:
            raise fail("DL447", "a session is over when it is told, and its tuples are gone", None)
        window = self._coordinator.window()
        if window is None:
            raise fail("DL447", "no slide has closed yet", None, "a slide closes when a later tuple has come")
        return StreamQuestions(self._program.checked, window, self._program.limits)

    # --- the end ----------------------------------------------------------------------------------------------------

    def _raise(self) -> None:
        if self._coordinator.error is not None:
            raise self._coordinator.error from None

    def _close_all(self) -> None:
        with self._lock:
            if self._closes:
                self._closes = False
                self._coordinator.close_all()
