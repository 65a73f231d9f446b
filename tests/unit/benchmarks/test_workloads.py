"""The catalogues are whole: every workload has its program, its data and an honest word from every engine."""

from __future__ import annotations

import json

import pytest
from benchmarks.data.catalogue import DATASETS
from benchmarks.data.dataset import PAPER
from benchmarks.engines.catalogue import ENGINES
from benchmarks.engines.spark_loop import LOOPS
from benchmarks.workloads import program
from benchmarks.workloads.answer import Answer, of_rows
from benchmarks.workloads.catalogue import SETS, WORKLOADS, choose
from benchmarks.workloads.expected import FILE, TABLE_1, expected

from emberlog.semantics.analysis import analyze
from emberlog.source import Source
from emberlog.syntax.parser import parse

TEXTS = {
    "duckdb": "duckdb.sql",
    "spark-recursive": "spark.sql",
    "nemo": "nemo.rls",
    "clingo": "clingo.lp",
    "souffle": "souffle.dl",
}
IN_JAVA = {
    "graphx": ("reach", "cc", "wcc", "sssp", "pagerank", "triangles"),
    "flink": ("tc", "sg", "sg-count", "reach", "cc", "wcc", "sssp", "apsp", "pagerank"),
}


@pytest.mark.parametrize("name", program.names())
def test_every_program_is_accepted_by_emberlog_without_a_warning(name: str) -> None:
    one = program.load(name)
    text = one.text("emberlog.dl")
    assert text is not None
    checked = analyze(parse(Source(f"{name}.dl", text)), params=dict.fromkeys(one.parameters, 1))
    # An input without a declaration is what these programs are written with.
    assert [warning.code for warning in checked.warnings if warning.code != "DL291"] == []
    assert one.output in checked.outputs
    assert set(one.inputs) == set(checked.inputs)


@pytest.mark.parametrize("name", [name for name in program.names() if not program.load(name).stream])
def test_every_engine_has_the_program_or_says_why_not(name: str) -> None:
    one = program.load(name)
    for engine, file in TEXTS.items():
        assert (one.text(file) is not None) != (engine in one.cannot), f"{engine}: a text or a reason, not both"
    for engine, known in IN_JAVA.items():
        assert (name in known) != (engine in one.cannot), engine
    assert (name in LOOPS) != ("spark-loop" in one.cannot)
    assert set(one.cannot) | set(one.only) <= set(ENGINES)


def test_every_workload_has_its_data() -> None:
    for workload in WORKLOADS.values():
        assert workload.dataset_name in DATASETS
        assert set(workload.parameters) == set(workload.program.parameters), workload.name
        assert workload.sets <= set(SETS)


def test_the_sets_contain_what_the_papers_measure() -> None:
    full = {workload.name for workload in choose("full")}
    assert {figure.workload for figure in TABLE_1} <= full
    for program_name in ("reach", "cc", "sssp"):
        for configuration in (1, 2, 3, 4):
            for size in ("1m", "2m", "4m"):
                assert f"{program_name}/rmat{configuration}-{size}" in full


def test_patterns_choose_programs_and_workloads() -> None:
    assert {workload.program_name for workload in choose("smoke", ["tc"])} == {"tc"}
    assert [workload.name for workload in choose("full", ["cc/rmat1-1m"])] == ["cc/rmat1-1m"]
    assert choose("smoke", ["nothing"]) == ()


def test_smoke_answers_are_all_recorded() -> None:
    missing = [w.name for w in choose("smoke") if not w.program.stream and expected(w.name, "generated") is None]
    assert missing == []


def test_nothing_is_recorded_that_is_not_measured() -> None:
    recorded = json.loads(FILE.read_text(encoding="utf-8"))
    assert {name.partition("@")[0] for name in recorded} <= set(WORKLOADS)
    assert all(len(entry["by"]) >= 2 for entry in recorded.values())


def test_a_grid_has_the_answer_that_mathematics_gives() -> None:
    corner = 9 * 10 // 2
    known = expected("tc/grid8", "generated")
    assert known is not None and known.rows == corner**2 - 81


def test_table_1_is_the_expectation_for_the_papers_graphs() -> None:
    for figure in TABLE_1:
        answer = expected(figure.workload, PAPER)
        assert answer is not None
        if figure.workload.startswith("sg-count/"):
            assert answer == of_rows(("int",), [(figure.facts,)])
        else:
            assert answer.agrees_with(Answer(figure.facts))


def test_parameters_are_written_into_texts() -> None:
    assert program.with_parameters("x = $source, y = $product", {"source": 7, "product": 8}) == "x = 7, y = 8"
