"""What `datalog` gives for a program over streams: relations that have no facts before they are started."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

from pyspark.sql import DataFrame

from emberlog.config import StreamOptions
from emberlog.diagnostics import EmberlogError, fail
from emberlog.engines.engine import Outputs, Request
from emberlog.engines.spark.engine import SparkEngine
from emberlog.streams.spark.sinks import ForEach
from emberlog.streams.spark.start import StreamProgram, check_inputs, start
from emberlog.streams.spark.started import Started
from emberlog.streams.steps.progress import StreamProgress


class StreamAnswers(Outputs[DataFrame]):
    def __init__(self, program: StreamProgram) -> None:
        self._program = program
        self._outputs = program.outputs

    @classmethod
    def of(cls, engine: SparkEngine, request: Request) -> StreamAnswers:
        """Makes a program over streams ready to be started on the session of an engine."""
        checked = request.checked
        inputs = engine.inputs(checked, request.inputs)
        places = dict(request.places)
        program = StreamProgram(engine.spark, checked, inputs.relations, inputs.plain_times, places, request.limits)
        check_inputs(program)
        return cls(program)

    def start(
        self, options: StreamOptions, function: ForEach | None, tell: Callable[[StreamProgress], None] | None
    ) -> Started:
        return start(self._program, options, function, tell)

    def __getitem__(self, name: str) -> DataFrame:
        raise _not_yet(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._outputs)

    def __len__(self) -> int:
        return len(self._outputs)

    def __contains__(self, name: object) -> bool:
        return name in self._outputs

    def header(self, name: str) -> str:
        return ", ".join(f"{column.name}: {column.type}" for column in self._outputs[name].columns)

    def write(self, folder: str | Path, format: str, *, header: bool, iterations: bool) -> NoReturn:
        raise _not_yet(next(iter(self._outputs)))

    def close(self) -> None:
        """A query that was started goes on until it is stopped."""


def _not_yet(name: str) -> EmberlogError:
    return fail(
        "DL342",
        f"`{name}` is the answer of a stream, which is another at each slide",
        None,
        'start it, and a sink gets the answers: result.start("answers/", checkpointLocation="checkpoint/")',
    )
