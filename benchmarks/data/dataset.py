"""A named input: made by a generator or read from the papers' own file, and kept as Parquet."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.csv
import pyarrow.parquet

from benchmarks import locations
from benchmarks.data.relations import Relations, graph

GENERATORS = 2
"""Count this up when a generator changes what it makes, so that nobody measures old data."""

PAPER = "paper"
GENERATED = "generated"
_ROWS_PER_GROUP = 1_000_000


@dataclass(frozen=True, slots=True)
class Dataset:
    name: str
    about: str
    build: Callable[[], Relations]
    paper_file: str | None = None
    """The name under which the papers' authors publish this graph, if they do."""

    def origin(self, papers_data: Path | None) -> str:
        """Whether the papers' own file will be used."""
        return PAPER if self._paper_path(papers_data) is not None else GENERATED

    def stored(self, papers_data: Path | None = None) -> StoredDataset:
        """The data as files, made now unless they already are there."""
        source = self._paper_path(papers_data)
        origin = PAPER if source is not None else GENERATED
        folder = locations.data() / f"{self.name}.{origin}.{GENERATORS}"
        if not folder.is_dir():
            relations = read_paper_graph(source) if source is not None else self.build()
            _write(folder, relations)
        sizes = json.loads((folder / "rows.json").read_text(encoding="utf-8"))
        return StoredDataset(self.name, origin, folder, sizes)

    def _paper_path(self, papers_data: Path | None) -> Path | None:
        if papers_data is None or self.paper_file is None:
            return None
        path = papers_data / f"{self.paper_file}.csv"
        return path if path.is_file() else None


@dataclass(frozen=True, slots=True)
class StoredDataset:
    name: str
    origin: str
    folder: Path
    rows: Mapping[str, int]

    def parquet(self, relation: str) -> Path:
        if relation not in self.rows:
            raise KeyError(f"the data set {self.name} has no relation {relation}, only {', '.join(self.rows)}")
        return self.folder / f"{relation}.parquet"


def delimited(parquet: Path, delimiter: str, suffix: str) -> Path:
    """The same rows as text without a header, for engines that read nothing else; made on first use."""
    path = parquet.with_suffix(suffix)
    if not path.exists():
        options = pyarrow.csv.WriteOptions(include_header=False, delimiter=delimiter, quoting_style="none")
        scratch = path.with_name(f"{path.name}.part")
        pyarrow.csv.write_csv(pyarrow.parquet.read_table(parquet), scratch, options)
        scratch.replace(path)
    return path


def read_paper_graph(path: Path) -> Relations:
    """A file of the papers' Table 1: `source,target` lines without a header."""
    options = pyarrow.csv.ReadOptions(column_names=["src", "dst"])
    table = pyarrow.csv.read_csv(path, options)
    source = table["src"].to_numpy().astype(np.int64)
    target = table["dst"].to_numpy().astype(np.int64)
    return graph(source, target, int(max(source.max(), target.max())) + 1, seed=1)


def _write(folder: Path, relations: Relations) -> None:
    """Into a folder beside it first: a half-written data set must never look like a whole one."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
    try:
        for name, columns in relations.items():
            table = pyarrow.table({column: pyarrow.array(values) for column, values in columns.items()})
            pyarrow.parquet.write_table(table, scratch / f"{name}.parquet", row_group_size=_ROWS_PER_GROUP)
        rows = {name: len(next(iter(columns.values()))) for name, columns in relations.items()}
        (scratch / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
        if not folder.is_dir():
            scratch.rename(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
