"""Apache Flink 1.20, the last version with the DataSet API: delta iteration, the plan that Cog and Nexus compile to."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Mapping
from pathlib import Path

from benchmarks import locations
from benchmarks.data.dataset import delimited
from benchmarks.engines.java_programs import compiled, java_command
from benchmarks.engines.protocol import Engine, Outcome, Settings, Unavailable
from benchmarks.workloads import answer
from benchmarks.workloads.answer import Answer
from benchmarks.workloads.workload import Workload

_OPENED = (
    *("java.io", "java.lang", "java.lang.reflect", "java.net", "java.nio"),
    *("java.text", "java.time", "java.util", "java.util.concurrent"),
)
"""Packages that Flink's serializers look into, which Java forbids unless told otherwise."""

_MANAGED_SHARE = 0.6
"""The part of the memory that Flink manages itself, for hash tables, sorting and the solution set."""


class Flink(Engine):
    name = "flink"
    title = "Flink, delta iteration"
    installed_by = "python -m benchmarks install (the jars of apache-flink-libraries 1.20); needs javac"
    timing = "includes reading the inputs from CSV and submitting the job to a running local cluster"

    def version(self) -> str:
        java_command("javac")
        found = sorted(locations.flink_jars().glob("flink-dist-*.jar"))
        if not found:
            raise Unavailable("the jars are not there: python -m benchmarks install --engines flink")
        return found[-1].stem.removeprefix("flink-dist-")

    def start(self, settings: Settings) -> None:
        super().start(settings)
        jars = ":".join(str(path) for path in sorted(locations.flink_jars().glob("*.jar")))
        classes = compiled("FlinkPrograms", jars)
        megabytes = int(settings.memory_gib * 1024)
        managed = int(megabytes * _MANAGED_SHARE)
        command = [
            java_command("java"),
            f"-Xmx{megabytes - managed}m",
            f"-XX:MaxDirectMemorySize={managed + 1024}m",
            *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED),
            "-Dlog4j2.level=OFF",
            "-cp",
            f"{classes}:{jars}",
            "emberlog.benchmarks.FlinkPrograms",
            str(settings.threads),
            str(managed),
        ]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._read_until("ready")

    def prepare(self, workload: Workload, inputs: Mapping[str, Path]) -> None:
        self._columns = workload.program.columns
        files = [delimited(path, ",", ".csv") for path in inputs.values()]
        source = workload.parameters.get("source", 0)
        self._command = "\t".join([workload.program_name, str(source), *map(str, files)])

    def run(self) -> Outcome:
        return Outcome(int(self._ask("run")[0]))

    def check(self) -> Answer:
        return answer.of_sql(self._columns, [float(word) if "." in word else int(word) for word in self._ask("check")])

    def close(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait(timeout=20)

    def _ask(self, what: str) -> list[str]:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{what}\t{self._command}\n")
        self._process.stdin.flush()
        return self._read_until("done")

    def _read_until(self, word: str) -> list[str]:
        """The words after the expected first one; other lines are Flink talking."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            first, *others = line.rstrip("\n").split("\t")
            if first == "failed":
                raise RuntimeError(f"Flink: {others[0]}")
            if first == word:
                return others
        raise RuntimeError(f"the Flink process ended with code {self._process.wait()}")
