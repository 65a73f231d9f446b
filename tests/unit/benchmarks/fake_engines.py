"""Engines that behave in one known way each, for tests of the runner."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

from benchmarks.engines.protocol import Engine, Outcome, Unavailable
from benchmarks.workloads.answer import Answer
from benchmarks.workloads.expected import expected
from benchmarks.workloads.workload import Workload


class Good(Engine):
    """Gives the recorded answer."""

    name = "good"
    title = "an engine that is right"
    installed_by = "nothing to install"

    def version(self) -> str:
        return "1.0"

    def prepare(self, workload: Workload, inputs: Mapping[str, Path]) -> None:
        assert all(path.is_file() for path in inputs.values())
        known = expected(workload.name, "generated")
        assert known is not None
        self._answer = known

    def run(self) -> Outcome:
        print("engines may print what they like")
        return Outcome(self._answer.rows, {"iterations": 15, "bytes_exchanged": 2048})

    def check(self) -> Answer:
        return self._answer


class Wrong(Good):
    """Has as many facts as it should, but others."""

    name = "wrong"
    title = "an engine that is wrong"

    def check(self) -> Answer:
        assert self._answer.checksum is not None
        return Answer(self._answer.rows, self._answer.checksum + 1)


class Fickle(Good):
    """Counts something else every time."""

    name = "fickle"
    title = "an engine that changes its mind"
    runs = 0

    def run(self) -> Outcome:
        self.runs += 1
        return Outcome(self._answer.rows + self.runs - 1)


class Slow(Good):
    name = "slow"
    title = "an engine that does not end"

    def run(self) -> Outcome:
        time.sleep(600)
        return super().run()


class Crashing(Good):
    name = "crashing"
    title = "an engine that dies"

    def run(self) -> Outcome:
        print("about to die", flush=True)
        os._exit(3)


class Failing(Good):
    name = "failing"
    title = "an engine that raises"

    def run(self) -> Outcome:
        raise ValueError("no such table")


class Absent(Good):
    name = "absent"
    title = "an engine that is not installed"

    def version(self) -> str:
        raise Unavailable("absent is not on the path")


class Unable(Good):
    name = "unable"
    title = "an engine that cannot do this"

    def refusal(self, workload: Workload) -> str | None:
        return "has no recursion"
