"""Holds the files that a person made relations of, in the databases of both engines."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

from emberlog.database import Database
from emberlog.diagnostics import EmberlogWarning, fail
from emberlog.io.local_relation import LocalRelation
from emberlog.io.paths import COMPRESSIONS, KINDS, kind_of

LOOKS_LIKE_NAMES = "DL490"
"""The warning of a text file whose first line looks like the names of its columns."""


class Data:
    """Holds one database per engine, with the same files in both. Spark is started when somebody asks for it."""

    def __init__(self, folder: Path) -> None:
        """`folder` is where uploaded files go."""
        self.local = Database(engine="local", progress=False)
        self.files: dict[str, Path] = {}
        """The files that are registered, by relation."""
        self.headers: set[str] = set()
        """The relations whose files begin with names of columns."""
        self.counts: dict[str, int] = {}
        """Rows of each relation."""
        self.version = 0
        """Grows with every change."""
        self._folder = folder
        self._spark: Database[Any] | None = None

    def database(self, engine: str) -> Database[Any]:
        """Returns the database of an engine, `local` or `spark`."""
        if engine == "local":
            return self.local
        if self._spark is None:
            spark: Database[Any] = Database(master="local[*]", conf={"spark.ui.enabled": "false"}, progress=False)
            for name, path in self.files.items():
                spark.register(name, path, header=self._header(name))
            self._spark = spark
        return self._spark

    def place_for(self, file_name: str) -> tuple[str, Path]:
        """Returns the relation that an uploaded file becomes, and where its content goes; raises DL407 for a file of a
        kind that is not known."""
        plain = Path(file_name.replace("\\", "/")).name
        if not plain.isprintable():
            raise fail("DL407", f"{plain!r} is no name of a file", None, "give it another name")
        if kind_of(plain) not in KINDS:
            raise fail("DL407", f"`{plain}` is not a kind of file that is known", None, f"known are {', '.join(KINDS)}")
        return relation_of(plain), self._folder / f"{time.monotonic_ns()}" / plain

    def register(self, name: str, path: Path) -> LocalRelation:
        """Makes a file a relation, and reads it."""
        before = self.files.get(name)
        try:
            relation = self._read(name, path)
        except BaseException:
            del self.local[name]
            if before is not None:
                self._read(name, before)
            raise
        self.files[name] = path
        self.counts[name] = len(relation)
        if self._spark is not None:
            self._spark.register(name, path, header=self._header(name))
        self.version += 1
        return relation

    def _read(self, name: str, path: Path) -> LocalRelation:
        """Reads a file. Its first line is taken as the names of columns where it looks like that, and the list of
        relations says so."""
        self.headers.discard(name)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", EmberlogWarning)
            self.local.register(name, path)
            relation = self.local[name]
        found = [one.message.diagnostic for one in told if isinstance(one.message, EmberlogWarning)]
        if any(one.code == LOOKS_LIKE_NAMES for one in found):
            self.headers.add(name)
            self.local.register(name, path, header=True)
            relation = self.local[name]
        return relation

    def _header(self, name: str) -> bool | None:
        return True if name in self.headers else None

    def forget(self, name: str) -> None:
        """Takes the data of a relation away."""
        del self.local[name]
        if self._spark is not None:
            del self._spark[name]
        self.files.pop(name)
        self.counts.pop(name, None)
        self.version += 1

    def stop_jobs(self) -> None:
        """Ends what Spark computes at the moment."""
        if self._spark is not None:
            self._spark.spark.sparkContext.cancelAllJobs()

    def close(self) -> None:
        if self._spark is not None:
            self._spark.close()
        self.local.close()


def relation_of(file_name: str) -> str:
    """`arc` for `arc.csv.gz`."""
    plain = Path(file_name)
    return (plain.with_suffix("") if plain.suffix.lower() in COMPRESSIONS else plain).stem
