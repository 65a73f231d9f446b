"""`emberlog explain`."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from emberlog.catalogue import CATALOGUE
from tests.unit.cli.conftest import Emberlog

TC = "tc(X, Y) :- arc(X, Y).\ntc(X, Y) :- tc(X, Z), arc(Z, Y).\n"


@pytest.fixture(autouse=True)
def program(emberlog: Emberlog) -> None:
    """In the folder that `emberlog` has made its own."""
    Path("tc.dl").write_text(TC)


def test_text(emberlog: Emberlog) -> None:
    outcome = emberlog("explain", "tc.dl")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("program\n  tc.dl\n")
    assert outcome.out.endswith("\n")


def test_passes_in_full_and_off(emberlog: Emberlog) -> None:
    in_full = emberlog("explain", "tc.dl", "--passes").out
    assert "An iteration should only look at what the last one added" in in_full
    assert "      + " in in_full
    without = emberlog("explain", "tc.dl", "--off", "derive_delta_rules").out
    (line,) = (line for line in without.split("\n") if line.startswith("  derive_delta_rules"))
    assert line.endswith("  switched off")


def test_an_unknown_pass(emberlog: Emberlog) -> None:
    outcome = emberlog("explain", "tc.dl", "--off", "prune_colums")
    assert outcome.code == 1
    assert "did you mean `prune_columns`?" in outcome.err


@pytest.mark.parametrize(
    ("form", "beginning"),
    [
        ("text", "program\n"),
        ("dot", 'digraph "tc.dl" {\n'),
        ("mermaid", "---\ntitle:"),
        ("svg", "<svg "),
        ("html", "<!DOCTYPE html>\n"),
    ],
)
def test_formats(emberlog: Emberlog, form: str, beginning: str) -> None:
    outcome = emberlog("explain", "tc.dl", "--format", form)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith(beginning)


@pytest.mark.parametrize(
    ("name", "beginning"),
    [("a.svg", "<svg "), ("a.HTML", "<!DOCTYPE"), ("a.dot", "digraph"), ("a.mmd", "---"), ("a", "program")],
)
def test_the_name_of_the_output_chooses_the_format(emberlog: Emberlog, name: str, beginning: str) -> None:
    outcome = emberlog("explain", "tc.dl", "--output", name)
    assert outcome.code == 0
    assert outcome.out == ""
    assert outcome.err.startswith(f"{name}: ") and outcome.err.endswith(" bytes written\n")
    assert Path(name).read_text(encoding="utf-8").startswith(beginning)


def test_a_given_format_goes_before_the_name(emberlog: Emberlog) -> None:
    emberlog("explain", "tc.dl", "--format", "svg", "--output", "a.txt")
    ElementTree.parse("a.txt")


def test_an_output_that_cannot_be_written(emberlog: Emberlog) -> None:
    outcome = emberlog("explain", "tc.dl", "--output", "nowhere/a.svg")
    assert outcome.code == 1
    assert outcome.err == "error[DL408]: cannot write `nowhere/a.svg`: no such file or directory\n"


def test_a_program_with_errors(emberlog: Emberlog) -> None:
    Path("bad.dl").write_text("p(X) :- q(Y, Y).\n")
    outcome = emberlog("explain", "bad.dl")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith("error[DL203]")


def test_a_parameter_needs_its_value(emberlog: Emberlog) -> None:
    Path("p.dl").write_text("p(Y) :- arc($source, Y).\n")
    assert "error[DL211]" in emberlog("explain", "p.dl").err
    assert "arc(3, Y)" in emberlog("explain", "p.dl", "--param", "source=3").out


def test_a_code(emberlog: Emberlog) -> None:
    outcome = emberlog("explain", "dl231")
    assert outcome.code == 0
    assert outcome.out.startswith("error[DL231]: an aggregate inside its own recursion\n\n")
    assert emberlog("explain", "231") == emberlog("explain", "dl231") == outcome
    assert "\n\nWhat to do: " in outcome.out
    assert "\n\nExample:\n  price(X, sum<P>) :- base(X, P).\n" in outcome.out


@pytest.mark.parametrize("code", sorted(CATALOGUE))
def test_every_code_can_be_explained(emberlog: Emberlog, code: str) -> None:
    outcome = emberlog("explain", code)
    assert (outcome.code, outcome.err) == (0, "")
    assert f"[{code}]: {CATALOGUE[code].title}" in outcome.out


def test_an_unknown_code(emberlog: Emberlog) -> None:
    outcome = emberlog("explain", "DL999")
    assert outcome.code == 2
    assert outcome.err.startswith("emberlog explain: there is no code DL999")


def test_a_file_with_the_name_of_a_code_is_a_file(emberlog: Emberlog) -> None:
    Path("DL231").write_text(TC)
    assert emberlog("explain", "DL231").out.startswith("program\n  DL231\n")
