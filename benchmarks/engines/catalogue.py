"""All engines by name, without importing any: an adapter is imported in the process that runs it."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path

from benchmarks import locations
from benchmarks.engines.protocol import Engine

WITHOUT = "-without-"
"""`emberlog-dataframe-without-push_down_filter` is that engine with one pass of its optimizer left out."""


@dataclass(frozen=True, slots=True)
class Entry:
    name: str
    module: str
    class_name: str
    is_peer: bool
    """Its packages are not Emberlog's, and may be in the peers' own environment."""

    def python(self) -> Path:
        """The interpreter that has this engine's packages."""
        if self.is_peer and locations.peers_python().exists():
            return locations.peers_python()
        return Path(sys.executable)

    def create(self) -> Engine:
        engine: Engine = getattr(import_module(self.module), self.class_name)()
        _, without, part = self.name.partition(WITHOUT)
        if without:
            engine.leave_out(self.name, part)
        return engine


def _here(name: str, module: str, class_name: str, is_peer: bool = False) -> Entry:
    return Entry(name, f"benchmarks.engines.{module}", class_name, is_peer)


_ALL = (
    _here("emberlog", "emberlog_database", "Emberlog"),
    _here("emberlog-1-worker", "emberlog_database", "EmberlogOneWorker"),
    _here("emberlog-4-workers", "emberlog_database", "EmberlogFourWorkers"),
    _here("emberlog-hash", "emberlog_database", "EmberlogHash"),
    _here("emberlog-bsp-hash", "emberlog_database", "EmberlogRounds"),
    _here("emberlog-dataframe", "emberlog_database", "EmberlogDataframe"),
    _here("emberlog-interpreter", "emberlog_python", "EmberlogInterpreter"),
    _here("emberlog-oracle", "emberlog_python", "EmberlogOracle"),
    _here("spark-loop", "spark_loop", "SparkLoop"),
    _here("spark-recursive", "spark_recursive", "SparkRecursive"),
    _here("graphx", "graphx", "GraphX"),
    _here("flink", "flink", "Flink"),
    _here("duckdb", "duckdb", "DuckDB", is_peer=True),
    _here("nemo", "nemo", "Nemo", is_peer=True),
    _here("clingo", "clingo", "Clingo", is_peer=True),
    _here("souffle", "souffle", "Souffle"),
)

ENGINES = {entry.name: entry for entry in _ALL}
"""In the order of reports. A new executor or mode of Emberlog is one more line."""

_ON_REQUEST = (
    _here("emberlog-anew", "emberlog_database", "EmberlogAnew"),
    _here("emberlog-provenance", "emberlog_database", "EmberlogProvenance"),
    _here("emberlog-local", "emberlog_local", "EmberlogLocal"),
    _here("emberlog-local-anew", "emberlog_local", "EmberlogLocalAnew"),
    _here("emberlog-local-1-thread", "emberlog_local", "EmberlogLocalOneThread"),
    _here("emberlog-local-provenance", "emberlog_local", "EmberlogLocalProvenance"),
    _here("scipy", "floor", "SciPy", is_peer=True),
    _here("networkit", "floor", "NetworKit", is_peer=True),
    _here("igraph", "floor", "IGraph", is_peer=True),
)
"""Engines that are measured only where they are named: they say something about Emberlog, or are a limit, and no
peers."""

KNOWN = {**ENGINES, **{entry.name: entry for entry in _ON_REQUEST}}


def find(name: str) -> Entry:
    """An engine of the catalogue, or one without a part of itself; KeyError if there is none of that name."""
    whole, without, _ = name.partition(WITHOUT)
    return replace(KNOWN[whole], name=name) if without else KNOWN[name]
