"""Emberlog on Spark, through the same `Database` that users have; one engine for each executor and mode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from benchmarks.engines.protocol import Engine, Outcome, Settings, Unavailable
from benchmarks.engines.spark_session import ShuffleMeter, answer_of, open_session, spark_version
from benchmarks.workloads.answer import Answer
from benchmarks.workloads.workload import Workload

if TYPE_CHECKING:
    from emberlog.config import Execution
    from emberlog.events import Event
    from emberlog.result import Result


class Rounds:
    """Listens to a run, and counts the rounds that found something new after the seed, as the papers count them."""

    def __init__(self) -> None:
        self._productive: dict[int, int] = {}
        self._kept = 0
        self.bytes_sent = 0

    def __call__(self, event: Event, /) -> None:
        from emberlog.events import IterationFinished, StratumFinished

        if isinstance(event, IterationFinished) and event.delta_rows > 0:
            self._kept += event.delta_rows
            self._productive[event.stratum] = self._productive.get(event.stratum, -1) + 1
        if isinstance(event, StratumFinished):
            self.bytes_sent += event.bytes_sent

    def metrics(self) -> dict[str, float]:
        if not self._productive:
            return {}
        return {"iterations": max(self._productive.values()), "facts_in_recursions": self._kept}


class EmberlogOnSpark(Engine):
    installed_by = "Emberlog itself"
    off: tuple[str, ...] = ()
    """Passes of the optimizer that are left out, for ablations."""

    options: ClassVar[dict[str, str | int]] = {}
    """How recursions are to be run."""

    keeps = True
    """Whether a run has what a database keeps of those before: the plan, and what it read; no answers."""

    timing = (
        "the inputs are registered Parquet files; the time is from there to the count, without what is there from the "
        "first run: the plan, and inputs that were read into the driver's process, with their indexes"
    )

    def leave_out(self, name: str, part: str) -> None:
        self.name, self.title, self.off = name, f"{self.title}, without {part}", (part,)

    def version(self) -> str:
        import emberlog

        spark_version()
        try:
            import emberlog.database
        except ImportError as problem:
            raise Unavailable(f"this version of Emberlog has no Database: {problem}") from None
        return emberlog.__version__

    def start(self, settings: Settings) -> None:
        super().start(settings)
        self._spark = open_session(settings)

    def prepare(self, workload: Workload, inputs: Mapping[str, Path]) -> None:
        text = workload.program.text("emberlog.dl")
        assert text is not None
        self._text, self._parameters = text, dict(workload.parameters)
        self._output, self._columns = workload.program.output, workload.program.columns
        self._result: Result | None = None
        self._inputs = {relation: str(path) for relation, path in inputs.items()}
        self._register()

    def _register(self) -> None:
        from emberlog.database import Database

        self._database = Database(self._spark)
        self._database.update(self._inputs)

    def reset(self) -> None:
        if self._result is not None:
            self._result.close()
            self._result = None
        if not self.keeps:
            self._register()

    def run(self) -> Outcome:
        meter = ShuffleMeter(self._spark)
        rounds = Rounds()
        self._result = self._database.datalog(
            self._text, params=self._parameters, listener=rounds, off=self.off, execution=self._execution()
        )
        rows = self._result[self._output].count()
        return Outcome(rows, {**rounds.metrics(), "bytes_exchanged": meter.bytes() + rounds.bytes_sent})

    def _execution(self) -> Execution:
        from emberlog.config import Execution

        return Execution(**self.options)  # type: ignore[arg-type]

    def check(self) -> Answer:
        assert self._result is not None
        return answer_of(self._result[self._output], self._columns)

    def close(self) -> None:
        self._spark.stop()


class Emberlog(EmberlogOnSpark):
    name = "emberlog"
    title = "Emberlog"


class EmberlogAnew(EmberlogOnSpark):
    name = "emberlog-anew"
    title = "Emberlog, nothing kept from earlier runs"
    keeps = False
    timing = "the inputs are Parquet files, registered anew before each run; the time is from there to the count"


class EmberlogRounds(EmberlogOnSpark):
    """The cyclic executor without a decomposed plan, and with facts in hash tables: what the other choices gain."""

    name = "emberlog-bsp-hash"
    title = "Emberlog, in rounds, hashed"
    options: ClassVar[dict[str, str | int]] = {"mode": "bsp", "representation": "hash"}


class EmberlogHash(EmberlogOnSpark):
    name = "emberlog-hash"
    title = "Emberlog, hashed"
    options: ClassVar[dict[str, str | int]] = {"representation": "hash"}


class EmberlogOneWorker(EmberlogOnSpark):
    name = "emberlog-1-worker"
    title = "Emberlog, one worker"
    options: ClassVar[dict[str, str | int]] = {"workers": 1}


class EmberlogFourWorkers(EmberlogOnSpark):
    """In a session with four slots, on however many cores there are: what more partitions cost or gain."""

    name = "emberlog-4-workers"
    title = "Emberlog, four workers"
    options: ClassVar[dict[str, str | int]] = {"workers": 4}

    def start(self, settings: Settings) -> None:
        super().start(replace(settings, threads=4))


class EmberlogProvenance(EmberlogOnSpark):
    name = "emberlog-provenance"
    title = "Emberlog, with provenance"
    options: ClassVar[dict[str, str | int]] = {"provenance": True}


class EmberlogDataframe(EmberlogOnSpark):
    name = "emberlog-dataframe"
    title = "Emberlog, dataframe executor"
    options: ClassVar[dict[str, str | int]] = {"executor": "dataframe"}
