"""`emberlog run`: everything that is wrong without Spark is said before Spark starts, and without loading it."""

from __future__ import annotations

import argparse
import io
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from emberlog.cli.running import prepare
from emberlog.diagnostics import EmberlogError
from tests.unit.cli.conftest import Emberlog

SOURCES = Path(__file__).parents[3] / "src"

TC = "tc(X, Y) :- arc(X, Y).\ntc(X, Y) :- tc(X, Z), arc(Z, Y).\n"


@pytest.fixture(autouse=True)
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("Spark would have been started")

    monkeypatch.setattr("emberlog.cli.running.carry_out", never)


@pytest.fixture
def tc(emberlog: Emberlog) -> Emberlog:
    Path("tc.dl").write_text(TC)
    Path("arc.csv").write_text("1,2\n")
    return emberlog


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere.dl",), "error[DL405]: cannot read `nowhere.dl`"),
        (("tc.dl",), "error[DL401]: there are no facts for the relation `arc`\n  ┌ tc.dl:1:13\n"),
        (("tc.dl",), "  = give them: --input arc=PATH, or --facts DIR with a file arc.csv\n"),
        (("tc.dl", "--facts", "empty"), "  = `empty` has no file for it\n"),
        (("tc.dl", "--facts", "nowhere"), "error[DL405]: cannot read the folder `nowhere`"),
        (("tc.dl", "--input", "arc=nowhere.csv"), "error[DL405]: cannot read `nowhere.csv`"),
        (
            ("tc.dl", "--input", "ark=arc.csv"),
            "error[DL411]: the program has no input `ark`\n  = did you mean `arc`?\n",
        ),
        (("tc.dl", "--input", "tc=arc.csv"), "  = there are facts for `tc`\n"),
        (("tc.dl", "--input", "arc=arc.csv", "--output", "empty"), "error[DL408]: `empty` is there already\n"),
        (("tc.dl", "--input", "arc=arc.csv", "--off", "simplfy"), "error[DL301]: there is no pass `simplfy`"),
        (("tc.dl", "--input", "arc=arc.csv", "--query", "ct(1, Y)?"), "error[DL201]: there is no relation `ct`\n"),
        (("tc.dl", "--input", "arc=arc.csv", "--query", "tc(1, Y)?", "--query", "a(1)."), "error[DL410]: `a(1).`"),
        (("tc.dl", "--input", "arc=arc.csv", "--query", ""), "error["),
        (("tc.dl", "--input", "arc=arc.csv", "--param", "source=1"), "error[DL212]"),
        (("wrong.dl",), "error[DL203]"),
    ],
)
def test_mistakes(tc: Emberlog, arguments: tuple[str, ...], message: str) -> None:
    Path("empty").mkdir()
    Path("wrong.dl").write_text("p(X) :- q(Y, Y).\n")
    outcome = tc("run", *arguments)
    assert (outcome.code, outcome.out) == (1, "")
    assert message in outcome.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--input", "arc"), "write RELATION=PATH, as in arc=roads.csv, not `arc`"),
        (("--conf", "memory"), "write NAME=VALUE, as in spark.driver.memory=4g, not `memory`"),
        (("--show", "-1"), "a whole number is needed, not `-1`"),
        (("--timeout", "0"), "a number larger than 0 is needed, not `0`"),
        (("--max-rows", "many"), "a whole number larger than 0 is needed, not `many`"),
        (("--format", "xls"), "invalid choice: 'xls'"),
        (("--executor", "abacus"), "invalid choice: 'abacus'"),
    ],
)
def test_wrong_usage(tc: Emberlog, arguments: tuple[str, ...], message: str) -> None:
    outcome = tc("run", "tc.dl", *arguments)
    assert outcome.code == 2
    assert message in outcome.err


def prepared_inputs(
    facts: str | None = None, inputs: Mapping[str, str] | None = None, queries: Sequence[str] = ()
) -> dict[str, str]:
    text = dict.fromkeys(("header", "delimiter", "encoding", "null", "quote"))
    named = list((inputs or {}).items())
    program: dict[str, object] = {"params": [], "iterations": None, "dialect": None, "include": []}
    arguments = argparse.Namespace(facts=facts, inputs=named, **program, **text)
    return dict(prepare("tc.dl", arguments, queries=queries).inputs)


def test_where_facts_come_from(tc: Emberlog) -> None:
    Path("facts").mkdir()
    Path("facts/arc.csv").write_text("1,2\n")
    Path("facts/other.csv").write_text("1,2\n")
    Path("more").mkdir()
    Path("more/arc.parquet").mkdir()
    assert prepared_inputs() == {"arc": "facts/arc.csv"}
    assert prepared_inputs(facts="more") == {"arc": "more/arc.parquet"}
    assert prepared_inputs(facts="more", inputs={"arc": "arc.csv"}) == {"arc": "arc.csv"}
    assert prepared_inputs(inputs={"arc": "hdfs://far/away.csv"}) == {"arc": "hdfs://far/away.csv"}
    assert prepared_inputs(inputs={"arc": "a_table"}) == {"arc": "a_table"}


def test_only_what_is_needed_has_to_be_there(tc: Emberlog) -> None:
    Path("tc.dl").write_text(f"{TC}other(X) :- missing(X).\n")
    with pytest.raises(EmberlogError, match="`missing`"):
        prepared_inputs(inputs={"arc": "arc.csv"})
    assert prepared_inputs(inputs={"arc": "arc.csv"}, queries=["tc(1, Y)?"]) == {"arc": "arc.csv"}


def test_standard_input_has_no_folder_beside_it(tc: Emberlog, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("facts").mkdir()
    Path("facts/arc.csv").write_text("1,2\n")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TC.encode())))
    assert "error[DL401]" in tc("run", "-").err


def test_a_folder_with_a_program(emberlog: Emberlog) -> None:
    Path("case/facts").mkdir(parents=True)
    Path("case/program.dl").write_text(TC)
    assert "  ┌ case/program.dl:1:13\n" in emberlog("run", "case").err
    assert emberlog("check", "case").out.startswith("case/program.dl: 2 relations")


def test_mistakes_are_told_without_loading_spark(tmp_path: Path) -> None:
    program = tmp_path / "tc.dl"
    program.write_text(TC)
    code = f"import sys\nfrom emberlog.__main__ import main\nmain(['run', {str(program)!r}])\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
    )
    assert "error[DL401]" in done.stderr
    assert {name.split(".")[0] for name in done.stdout.split()} & {"pyspark", "py4j", "pandas", "pyarrow"} == set()
