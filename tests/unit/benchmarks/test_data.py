"""The generators are exact: the same rows for ever, with the shapes that the papers describe."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
from benchmarks.data import business, graphs, program_analysis, streams
from benchmarks.data.catalogue import DATASETS
from benchmarks.data.dataset import PAPER, Dataset, delimited
from benchmarks.data.randomness import Sequence
from benchmarks.data.relations import Relations, without_repeats
from benchmarks.data.rmat import PARAMETERS, rmat

DIGESTS = {
    "grid8": "9588e5b79710",
    "tree5": "898d5e06a738",
    "g100": "938ba0df9dae",
    "rmat1-1k": "a0db40957419",
    "rmat3-1k": "e4a0ceaa815e",
    "road30": "327c92641eb8",
    "pointers200": "de7d577fac93",
    "objects8": "26fedec31853",
    "flow100": "9ecc15d90dc9",
    "brackets500": "dc9b73d6f6ef",
    "parts100": "df7c9f1dfb80",
    "people1k": "6d41da0626f6",
    "organisations10k": "82b89cf16ea9",
    "rides10k": "94214e471cf9",
    "related-users10k": "4001b05f15c6",
    "citations10k": "acd3734a942f",
}
"""Of the rows of each data set. If one changes, the expected answers are worthless: count GENERATORS up."""


def digest(relations: Relations) -> str:
    content = hashlib.sha256()
    for name, columns in relations.items():
        for column, values in columns.items():
            listed = ",".join(map(str, np.asarray(values).tolist()))
            content.update(f"{name}.{column}:{listed};".encode())
    return content.hexdigest()[:12]


@pytest.mark.parametrize("name", DIGESTS)
def test_a_name_always_means_the_same_rows(name: str) -> None:
    assert digest(DATASETS[name].build()) == DIGESTS[name]


@pytest.mark.parametrize("name", [name for name in DIGESTS if not name.startswith(("rides", "related", "citations"))])
def test_relations_are_sets(name: str) -> None:
    for columns in DATASETS[name].build().values():
        assert len(next(iter(without_repeats(columns).values()))) == len(next(iter(columns.values())))


def test_random_numbers_do_not_depend_on_how_they_are_drawn() -> None:
    whole = Sequence(7, "test").bits(100)
    parts = Sequence(7, "test")
    assert np.array_equal(np.concatenate([parts.bits(30), parts.bits(70)]), whole)
    assert not np.array_equal(Sequence(8, "test").bits(100), whole)
    assert not np.array_equal(Sequence(7, "other").bits(100), whole)


def test_random_numbers_stay_in_their_range() -> None:
    random = Sequence(1, "range")
    below = random.below(10, 10_000)
    assert set(below.tolist()) == set(range(10))
    units = random.units(10_000)
    assert 0 <= units.min() < 0.01 and 0.99 < units.max() < 1
    assert sorted(random.order(50).tolist()) == list(range(50))


def test_grid150_has_the_size_of_table_1() -> None:
    arcs = graphs.grid(150)["arc"]
    assert len(arcs["src"]) == 45_300
    assert len(np.union1d(arcs["src"], arcs["dst"])) == 22_801


def test_a_tree_is_a_tree_of_the_asked_depth() -> None:
    arcs = graphs.tree(7, seed=3)["arc"]
    source, target = np.asarray(arcs["src"]), np.asarray(arcs["dst"])
    assert len(np.unique(target)) == len(target), "every vertex has one parent"
    children = np.bincount(source)
    assert set(children[children > 0].tolist()) <= {2, 3, 4, 5, 6}
    level, depth = np.array([0]), 0
    while len(level := target[np.isin(source, level)]):
        depth += 1
    assert depth == 8, "a closure takes one iteration less"


def test_a_random_graph_has_about_the_arcs_it_should() -> None:
    assert abs(len(graphs.random_graph(1_000, 0.01)["arc"]["src"]) - 10_000) < 300


@pytest.mark.parametrize("configuration", PARAMETERS)
def test_rmat_has_exactly_ten_arcs_per_vertex(configuration: int) -> None:
    arcs = rmat(configuration, 2_000)["arc"]
    source, target = np.asarray(arcs["src"]), np.asarray(arcs["dst"])
    assert len(source) == 20_000
    assert len(np.unique(source * 2_000 + target)) == 20_000
    assert not (source == target).any()
    assert source.max() < 2_000 and target.max() < 2_000


def test_rmat_quarters_have_the_papers_probabilities() -> None:
    for configuration, probabilities in PARAMETERS.items():
        assert sum(probabilities) == pytest.approx(1)
        arcs = rmat(configuration, 65_536)["arc"]
        lower, right = np.asarray(arcs["src"]) >= 32_768, np.asarray(arcs["dst"]) >= 32_768
        shares = [
            float((lower == low).__and__(right == side).mean()) for low in (False, True) for side in (False, True)
        ]
        assert shares == pytest.approx(list(probabilities), abs=0.01)


def test_chain_star_and_road() -> None:
    assert len(graphs.chain(50)["arc"]["src"]) == 50
    star = graphs.star(10)["arc"]
    assert np.bincount(np.asarray(star["src"]))[0] == 10
    road = graphs.road(30)["arc"]
    forwards = {*zip(np.asarray(road["src"]).tolist(), np.asarray(road["dst"]).tolist(), strict=True)}
    assert all((target, source) in forwards for source, target in forwards), "roads go both ways"


def test_a_bill_of_materials_has_no_cycles() -> None:
    parts = business.bill_of_materials(6, 100)["part_of"]
    assert (np.asarray(parts["component"]) // 100 == np.asarray(parts["part"]) // 100 + 1).all()


def test_nobody_is_their_own_manager() -> None:
    people = business.organisation(500)["works_for"]
    assert all(int(boss[1:]) < int(who[1:]) for who, boss in zip(people["person"], people["manager"], strict=True))


def test_points_to_inputs_stay_inside_their_module() -> None:
    for columns in program_analysis.andersen(5_000).values():
        assert (np.asarray(columns["left"]) // 1_000 == np.asarray(columns["right"]) // 1_000).all()


def test_streams_have_times_that_mostly_grow() -> None:
    for relations in (streams.organisations(5_000), streams.rides(5_000), streams.citations(5_000)):
        (columns,) = relations.values()
        times = np.asarray(columns["Ts"])
        assert (times > 0).all()
        assert 0.95 < (np.diff(times) >= 0).mean() < 1, "some tuples are late"


def test_data_is_stored_once_and_as_text_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBERLOG_BENCH_CACHE", str(tmp_path))
    built = []

    def build() -> Relations:
        built.append(1)
        return graphs.chain(3)

    dataset = Dataset("tiny", "three arcs", build)
    stored = dataset.stored()
    assert dataset.stored() == stored and built == [1]
    assert stored.rows == {"arc": 3, "weighted": 3, "node": 4}
    assert pyarrow.parquet.read_table(stored.parquet("arc")).to_pylist()[0] == {"src": 0, "dst": 1}
    assert delimited(stored.parquet("arc"), "\t", ".facts").read_text() == "0\t1\n1\t2\n2\t3\n"
    with pytest.raises(KeyError, match="has no relation edges, only arc"):
        stored.parquet("edges")


def test_the_papers_file_is_used_where_it_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBERLOG_BENCH_CACHE", str(tmp_path / "cache"))
    (tmp_path / "grid150.csv").write_text("5,2\n0,5\n")
    stored = DATASETS["grid150"].stored(tmp_path)
    assert stored.origin == PAPER
    assert stored.rows == {"arc": 2, "weighted": 2, "node": 6}
    assert DATASETS["tree11"].origin(tmp_path) == "generated"
