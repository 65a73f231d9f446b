"""One thing to measure: a program on a data set, with values for its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.data.catalogue import DATASETS
from benchmarks.data.dataset import Dataset, StoredDataset
from benchmarks.workloads import program
from benchmarks.workloads.program import Program


@dataclass(frozen=True, slots=True)
class Workload:
    program_name: str
    dataset_name: str
    sets: frozenset[str]
    parameters: Mapping[str, int] = field(default_factory=dict)
    timeout: float | None = None
    """Seconds after which a single run is given up, where the set's own limit does not fit."""

    @property
    def name(self) -> str:
        return f"{self.program_name}/{self.dataset_name}"

    @property
    def program(self) -> Program:
        return program.load(self.program_name)

    @property
    def dataset(self) -> Dataset:
        return DATASETS[self.dataset_name]

    def inputs(self, stored: StoredDataset) -> dict[str, Path]:
        """The file of each input relation of the program."""
        return {relation: stored.parquet(name) for relation, name in self.program.inputs.items()}

    def input_rows(self, stored: StoredDataset) -> int:
        return sum(stored.rows[name] for name in self.program.inputs.values())
