"""Soufflé, compiled to a binary; used when `souffle` is on the path."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks.data.dataset import delimited
from benchmarks.engines.protocol import Engine, Outcome, Settings, Unavailable
from benchmarks.workloads import answer
from benchmarks.workloads.answer import Answer
from benchmarks.workloads.program import with_parameters
from benchmarks.workloads.workload import Workload


class Souffle(Engine):
    name = "souffle"
    title = "Soufflé, compiled"
    installed_by = "souffle and a C++ compiler on the path"
    timing = "the whole run of the compiled binary, reading the facts included; compiling is set-up"

    def version(self) -> str:
        if shutil.which("souffle") is None:
            raise Unavailable("souffle is not on the path")
        shown = subprocess.run(["souffle", "--version"], capture_output=True, text=True, check=True).stdout
        lines = [line for line in shown.splitlines() if "Version" in line]
        return lines[0].split("Version")[1].strip(" :") if lines else shown.strip().splitlines()[0]

    def start(self, settings: Settings) -> None:
        super().start(settings)
        self._folder = Path(tempfile.mkdtemp(prefix="souffle-"))

    def prepare(self, workload: Workload, inputs: Mapping[str, Path]) -> None:
        text = workload.program.text("souffle.dl")
        assert text is not None, f"{workload.program_name} has no souffle.dl and gives no reason"
        self._output, self._columns = workload.program.output, workload.program.columns
        for relation, path in inputs.items():
            link = self._folder / f"{relation}.facts"
            link.unlink(missing_ok=True)
            link.symlink_to(delimited(path, "\t", ".facts"))
        rules = with_parameters(text, workload.parameters)
        self._counting = self._compile("counting", f"{rules}\n.printsize {self._output}\n")
        self._writing = self._compile("writing", f"{rules}\n.output {self._output}\n")

    def _compile(self, name: str, text: str) -> Path:
        source, binary = self._folder / f"{name}.dl", self._folder / name
        source.write_text(text, encoding="utf-8")
        threads = f"--jobs={self.settings.threads}"
        done = subprocess.run(["souffle", threads, "-o", str(binary), str(source)], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"souffle could not compile the program: {done.stderr.strip()}")
        return binary

    def _execute(self, binary: Path) -> str:
        command = [str(binary), f"-j{self.settings.threads}", "-F", str(self._folder), "-D", str(self._folder)]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
        if done.returncode != 0:
            raise RuntimeError(f"the compiled program failed: {done.stderr.strip()}")
        return done.stdout

    def run(self) -> Outcome:
        """`.printsize tc` prints the name of the relation, a tab and its size."""
        for line in self._execute(self._counting).splitlines():
            name, _, size = line.partition("\t")
            if name == self._output:
                return Outcome(int(size))
        raise RuntimeError(f"the compiled program did not print the size of {self._output}")

    def check(self) -> Answer:
        self._execute(self._writing)
        with (self._folder / f"{self._output}.csv").open(encoding="utf-8", newline="") as file:
            rows = csv.reader(file, delimiter="\t")
            return answer.of_rows(self._columns, rows)

    def close(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
