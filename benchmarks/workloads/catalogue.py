"""All workloads, and the sets they belong to.

smoke: a few minutes, anywhere; shows that every engine runs and answers right, not how fast it is.
small: half an hour; sizes at which differences show.
full:  hours; the papers' tables and figures, and the sizes that the claims of the documentation rest on.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatch

from benchmarks.data.rmat import PARAMETERS, SOURCE
from benchmarks.workloads.workload import Workload

SETS = ("smoke", "small", "full")
_FROM_SOURCE = {"source": SOURCE}
_FROM_ZERO = {"source": 0}
_PRODUCT = {"product": 0}


def _workloads() -> Iterable[Workload]:
    def add(program: str, sizes: dict[str, str], parameters: dict[str, int] | None = None) -> Iterable[Workload]:
        """`sizes` says for each set which data sets it takes, separated by spaces."""
        sets_of: dict[str, set[str]] = {}
        for name, datasets in sizes.items():
            for dataset in datasets.split():
                sets_of.setdefault(dataset, set()).add(name)
        for dataset, sets in sets_of.items():
            # The papers' source does not exist in the smallest graphs; vertex 0 exists in all.
            values = {
                **(parameters or {}),
                **(_FROM_ZERO if "source" in (parameters or {}) and "-1k" in dataset else {}),
            }
            yield Workload(program, dataset, frozenset(sets), values)

    first_rmat = {"smoke": "rmat1-1k", "small": "rmat1-100k"}
    every_rmat = " ".join(f"rmat{number}-{size}" for number in PARAMETERS for size in ("100k", "1m", "2m", "4m"))

    yield from add("tc", {"smoke": "tree5 grid8", "small": "tree11 grid50 g1k", "full": "tree11 grid50 grid150 g10k"})
    yield from add("tc-nonlinear", {"smoke": "grid8", "small": "grid30", "full": "grid30 grid50"})
    yield from add("sg", {"smoke": "tree3", "small": "grid50 g1k", "full": "grid50 grid150 g10k"})
    yield from add("sg-count", {"small": "tree7", "full": "tree11"})
    yield from add("reach", {**first_rmat, "full": every_rmat}, _FROM_SOURCE)
    yield from add("reach-query", {"smoke": "rmat2-1k", "small": "rmat2-100k", "full": "rmat2-100k"}, _FROM_SOURCE)
    yield from add("reach", {"small": "chain1000", "full": "chain100 chain1000 chain10000 road500"}, _FROM_ZERO)
    yield from add("cc", {**first_rmat, "full": every_rmat})
    yield from add("wcc", {**first_rmat, "full": "rmat1-100k rmat1-1m road500 star100k"})
    yield from add("sssp", {**first_rmat, "full": every_rmat}, _FROM_SOURCE)
    yield from add("sssp", {"small": "road30", "full": "road500"}, _FROM_ZERO)
    yield from add("apsp", {"smoke": "g100", "small": "g300", "full": "g1k"})
    yield from add("pagerank", {**first_rmat, "full": "rmat1-100k rmat1-1m"})
    yield from add("triangles", {**first_rmat, "full": "rmat1-100k rmat3-100k"})
    yield from add("andersen", {"smoke": "pointers200", "small": "pointers20k", "full": "pointers20k pointers200k"})
    yield from add("context-points-to", {"smoke": "objects8", "small": "objects1k", "full": "objects1k objects20k"})
    yield from add("cspa", {"smoke": "flow100", "small": "flow5k", "full": "flow5k flow50k"})
    yield from add("dyck", {"smoke": "brackets500", "small": "brackets5k", "full": "brackets5k brackets50k"})
    yield from add("even-odd", {"smoke": "tree5", "small": "grid30", "full": "grid50"})
    yield from add("delivery", {"smoke": "parts100", "small": "parts10k", "full": "parts10k parts100k"})
    yield from add("parts", {"smoke": "parts100", "small": "parts10k", "full": "parts10k parts100k"}, _PRODUCT)
    yield from add("unreached", {"smoke": "rmat4-1k", "small": "rmat4-100k", "full": "rmat4-1m"}, _FROM_SOURCE)
    yield from add("above", {"smoke": "people1k", "small": "people100k", "full": "people100k"})
    yield from add(
        "stream-sub-organisations",
        {"smoke": "organisations10k", "small": "organisations10k", "full": "organisations300k"},
    )
    yield from add("stream-all-sub-organisations", {"full": "organisations10k"})
    yield from add("stream-cheap-path", {"smoke": "rides10k", "small": "rides10k", "full": "rides300k"})
    yield from add("stream-earliest-organiser", {"smoke": "related-users10k", "full": "related-users300k"})
    yield from add("stream-paper-rank", {"smoke": "citations10k", "full": "citations300k"})


WORKLOADS = {workload.name: workload for workload in _workloads()}


def choose(set_name: str, patterns: Iterable[str] = ()) -> tuple[Workload, ...]:
    """The workloads of a set whose name, or the program's name, fits one of the patterns, or all of them."""
    patterns = tuple(patterns)
    chosen = [workload for workload in WORKLOADS.values() if set_name in workload.sets]
    if not patterns:
        return tuple(chosen)
    return tuple(
        workload
        for workload in chosen
        if any(fnmatch(workload.name, pattern) or fnmatch(workload.program_name, pattern) for pattern in patterns)
    )
