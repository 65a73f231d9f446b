"""Libraries made for graph algorithms, over graphs of numbered vertices: a limit for what rules can reach, not peers of
theirs. Each builds its graph when it is loaded, so that searching is timed without that."""

from __future__ import annotations

import importlib
import importlib.metadata
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
from numpy.typing import NDArray

from benchmarks.engines.protocol import Engine, Outcome, Unavailable
from benchmarks.workloads import answer
from benchmarks.workloads.answer import Answer
from benchmarks.workloads.workload import Workload

Array = NDArray[Any]

ROUNDS = 20
"""Of PageRank, as in the program: the first only gives everyone what everyone has."""


class GraphLibrary(Engine):
    package: str
    programs: tuple[str, ...]
    timing = "the graph is built beforehand; the time is that of the algorithm"

    def version(self) -> str:
        try:
            return importlib.metadata.version(self.package)
        except importlib.metadata.PackageNotFoundError:
            raise Unavailable(f"the package {self.package} is not installed") from None

    def refusal(self, workload: Workload) -> str | None:
        if workload.program_name not in self.programs:
            return "measured only as a limit, where it has the very algorithm"
        return super().refusal(workload)

    def prepare(self, workload: Workload, inputs: Mapping[str, Path]) -> None:
        columns = [column.to_numpy() for column in pyarrow.parquet.read_table(inputs["arc"]).columns]
        self._program, self._kinds = workload.program_name, workload.program.columns
        self._source = workload.parameters.get("source", 0)
        self._origins, self._targets = columns[0], columns[1]
        self._vertices = int(max(self._origins.max(), self._targets.max())) + 1
        if "node" in inputs:
            nodes = pyarrow.parquet.read_table(inputs["node"]).column(0).to_numpy()
            self._vertices = max(self._vertices, int(nodes.max()) + 1)
        self._library = importlib.import_module(self.package)
        self._build(columns[2] if self._program == "sssp" else np.ones(len(self._origins)))

    @abstractmethod
    def _build(self, weights: Array) -> None:
        """Makes the graph."""

    def run(self) -> Outcome:
        match self._program:
            case "reach":
                reached = self._reached()
                # The source is a fact of its own where a way leads back to it.
                self._found = np.setdiff1d(reached, [self._source])
                if np.isin(self._origins[self._targets == self._source], reached).any():
                    self._found = np.append(self._found, self._source)
            case "wcc":
                self._found = self._components()
            case "sssp":
                self._found = self._distances()
            case _:
                self._found = self._ranks()
        if self._program == "wcc":  # a vertex without arcs is no fact
            self._members = np.zeros(self._vertices, np.bool_)
            self._members[self._origins] = self._members[self._targets] = True
            return Outcome(int(self._members.sum()))
        is_listed = self._program == "sssp"
        return Outcome(int(np.isfinite(self._found).sum()) if is_listed else len(self._found))

    def check(self) -> Answer:
        match self._program:
            case "reach":
                columns = [np.full(len(self._found), self._source), self._found]
            case "wcc":
                members = np.flatnonzero(self._members)
                least = np.full(int(self._found.max()) + 1, self._vertices)
                np.minimum.at(least, self._found[members], members)
                columns = [members, least[self._found[members]]]
            case "sssp":
                there = np.flatnonzero(np.isfinite(self._found))
                columns = [there, self._found[there].astype(np.int64)]
            case _:
                columns = [np.arange(self._vertices), self._found]
        return answer.of_columns(self._kinds, columns)

    @abstractmethod
    def _reached(self) -> Array:
        """Returns the vertices that the source reaches, and itself."""

    @abstractmethod
    def _components(self) -> Array:
        """Returns the number of each vertex's weak component."""

    @abstractmethod
    def _distances(self) -> Array:
        """Returns how far each vertex is from the source, infinity where no way leads there."""

    def _ranks(self) -> Array:
        raise NotImplementedError


class SciPy(GraphLibrary):
    name, title, package = "scipy", "scipy.sparse.csgraph", "scipy"
    installed_by = "pip install scipy (benchmarks/requirements.txt)"
    programs = ("reach", "wcc", "sssp", "pagerank")

    def _build(self, weights: Array) -> None:
        self._sparse = importlib.import_module("scipy.sparse")
        self._graphs = importlib.import_module("scipy.sparse.csgraph")
        if self._program == "pagerank":
            degrees = np.bincount(self._origins, minlength=self._vertices)
            # What a vertex gets, by the vertices that it comes from.
            ends, weights = (self._targets, self._origins), 0.85 / degrees[self._origins]
        else:
            ends = (self._origins, self._targets)
        self._matrix = self._sparse.csr_array((weights, ends), shape=(self._vertices, self._vertices))

    def _reached(self) -> Array:
        order: Array = self._graphs.breadth_first_order(self._matrix, self._source, return_predecessors=False)
        return order

    def _components(self) -> Array:
        labels: Array = self._graphs.connected_components(self._matrix, connection="weak")[1]
        return labels

    def _distances(self) -> Array:
        found: Array = self._graphs.dijkstra(self._matrix, indices=self._source)
        return found

    def _ranks(self) -> Array:
        ranks = np.full(self._vertices, 0.15)
        for _ in range(ROUNDS - 1):
            ranks = 0.15 + self._matrix @ ranks
        return ranks


class NetworKit(GraphLibrary):
    name, title, package = "networkit", "NetworKit", "networkit"
    installed_by = "pip install networkit (benchmarks/requirements.txt)"
    programs = ("reach", "wcc", "sssp")

    def _build(self, weights: Array) -> None:
        self._library.setNumberOfThreads(self.settings.threads)
        ends = (self._origins.astype(np.uint64), self._targets.astype(np.uint64))
        arcs = (weights.astype(np.float64), ends) if self._program == "sssp" else ends
        self._graph = self._library.GraphFromCoo(
            arcs, n=self._vertices, weighted=self._program == "sssp", directed=True
        )

    def _reached(self) -> Array:
        search = self._library.distance.BFS(self._graph, self._source, storePaths=False).run()
        # What is not reached is as far away as a float can be.
        return np.flatnonzero(np.asarray(search.getDistances()) < self._vertices)

    def _components(self) -> Array:
        found = self._library.components.WeaklyConnectedComponents(self._graph).run()
        return np.asarray(found.getPartition().getVector())

    def _distances(self) -> Array:
        found = np.asarray(
            self._library.distance.Dijkstra(self._graph, self._source, storePaths=False).run().getDistances()
        )
        return np.where(found < np.finfo(np.float64).max / 2, found, np.inf)


class IGraph(GraphLibrary):
    name, title, package = "igraph", "igraph", "igraph"
    installed_by = "pip install igraph (benchmarks/requirements.txt)"
    programs = ("reach", "wcc", "sssp")

    def _build(self, weights: Array) -> None:
        arcs = np.stack([self._origins, self._targets], axis=1)
        self._graph = self._library.Graph(n=self._vertices, edges=arcs, directed=True)
        self._weights = weights.tolist() if self._program == "sssp" else None

    def _reached(self) -> Array:
        return np.asarray(self._graph.subcomponent(self._source, mode="out"))

    def _components(self) -> Array:
        return np.asarray(self._graph.connected_components(mode="weak").membership)

    def _distances(self) -> Array:
        return np.asarray(self._graph.distances(self._source, weights=self._weights, mode="out")[0])
