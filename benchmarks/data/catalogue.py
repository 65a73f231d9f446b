"""All data sets by name. The seeds are fixed, so a name always means the same rows."""

from __future__ import annotations

from functools import partial

from benchmarks.data import business, graphs, program_analysis, streams
from benchmarks.data.dataset import Dataset
from benchmarks.data.rmat import PARAMETERS, rmat

_TREE11_SEED = 40
"""Gives a tree of 71,843 arcs, close to the 71,390 of the papers' Tree11."""

_SIZES = {"1k": 1_000, "10k": 10_000, "100k": 100_000, "1m": 1_000_000, "2m": 2_000_000, "4m": 4_000_000}


def _grid(side: int) -> Dataset:
    about = f"a grid of {side + 1} by {side + 1} vertices, arcs to the right and down"
    return Dataset(f"grid{side}", about, partial(graphs.grid, side), "grid150" if side == 150 else None)


def _tree(depth: int, seed: int) -> Dataset:
    about = f"a tree with {depth + 1} levels of arcs"
    return Dataset(f"tree{depth}", about, partial(graphs.tree, depth, seed), "tree11" if depth == 11 else None)


def _random_graph(name: str, vertices: int, probability: float, paper_file: str | None = None) -> Dataset:
    about = f"{vertices:,} vertices, each pair an arc with probability {probability}"
    return Dataset(name, about, partial(graphs.random_graph, vertices, probability), paper_file)


def _rmat(configuration: int, size: str) -> Dataset:
    a, b, c, d = PARAMETERS[configuration]
    about = f"R-MAT with {_SIZES[size]:,} vertices, 10 arcs each, a={a} b={b} c={c} d={d}"
    return Dataset(f"rmat{configuration}-{size}", about, partial(rmat, configuration, _SIZES[size]))


_ALL = (
    *(_grid(side) for side in (8, 15, 30, 50, 150)),
    _tree(3, seed=1),
    _tree(5, seed=1),
    _tree(7, seed=1),
    _tree(11, _TREE11_SEED),
    _random_graph("g100", 100, 0.05),
    _random_graph("g300", 300, 0.01),
    _random_graph("g1k", 1_000, 0.01),
    _random_graph("g10k", 10_000, 0.001, "gnp10K"),
    *(_rmat(configuration, size) for configuration in PARAMETERS for size in _SIZES),
    *(
        Dataset(f"chain{length}", f"one path of {length:,} arcs", partial(graphs.chain, length))
        for length in (50, 100, 1_000, 10_000)
    ),
    Dataset("star100k", "one vertex in the middle of 100,000", partial(graphs.star, 100_000)),
    Dataset("road30", "a road network of 31 by 31 crossings", partial(graphs.road, 30)),
    Dataset("road500", "a road network of 501 by 501 crossings", partial(graphs.road, 500)),
    *(
        Dataset(f"pointers{name}", f"{size:,} variables", partial(program_analysis.andersen, size))
        for name, size in (("200", 200), ("20k", 20_000), ("200k", 200_000))
    ),
    *(
        Dataset(f"objects{name}", f"{size:,} methods", partial(program_analysis.objects_with_contexts, size))
        for name, size in (("8", 8), ("1k", 1_000), ("20k", 20_000))
    ),
    *(
        Dataset(f"flow{name}", f"{size:,} variables", partial(program_analysis.value_flow, size))
        for name, size in (("100", 100), ("5k", 5_000), ("50k", 50_000))
    ),
    *(
        Dataset(f"brackets{name}", f"{size:,} vertices, {kinds} kinds", partial(program_analysis.brackets, size, kinds))
        for name, size, kinds in (("500", 500, 2), ("5k", 5_000, 2), ("50k", 50_000, 2))
    ),
    *(
        Dataset(
            f"parts{name}", f"{levels} levels of {width:,} parts", partial(business.bill_of_materials, levels, width)
        )
        for name, levels, width in (("100", 6, 100), ("10k", 8, 10_000), ("100k", 8, 100_000))
    ),
    *(
        Dataset(f"people{name}", f"{size:,} people with names", partial(business.organisation, size))
        for name, size in (("1k", 1_000), ("100k", 100_000))
    ),
    *(
        Dataset(f"{name}{label}", f"a stream of {size:,} tuples", partial(build, size))
        for name, build in (
            ("organisations", streams.organisations),
            ("rides", streams.rides),
            ("related-users", streams.related_users),
            ("citations", streams.citations),
        )
        for label, size in (("10k", 10_000), ("300k", 300_000))
    ),
)

DATASETS = {dataset.name: dataset for dataset in _ALL}
