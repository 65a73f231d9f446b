"""The workloads that every pass is left out of, in sizes that take about a second each, and in tiny ones for tests."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.workloads.catalogue import WORKLOADS
from benchmarks.workloads.workload import Workload

SIZES: Mapping[str, tuple[str, ...]] = {
    "small": (
        "sssp/rmat1-100k",
        "wcc/rmat1-100k",
        "pagerank/rmat1-100k",
        "tc/g1k",
        "sg/g1k",
        "triangles/rmat1-100k",
        "context-points-to/objects1k",
    ),
    "tiny": (
        "sssp/rmat1-1k",
        "wcc/rmat1-1k",
        "pagerank/rmat1-1k",
        "tc/grid8",
        "sg/tree3",
        "triangles/rmat1-1k",
        "context-points-to/objects8",
    ),
}


def subjects(size: str) -> tuple[Workload, ...]:
    return tuple(WORKLOADS[name] for name in SIZES[size])
