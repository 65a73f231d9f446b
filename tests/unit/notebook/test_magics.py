"""`%datalog` and `%%datalog` in a shell of IPython."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import emberlog
from tests.unit.notebook.conftest import Shell

TRIPS = """\
%%datalog trips
trip(A, B) :- leg(A, B).
trip(A, C) :- trip(A, B), leg(B, C).
"""
LEGS = [("BER", "OSL"), ("OSL", "KEF")]
ALL_TRIPS = {("BER", "OSL"), ("OSL", "KEF"), ("BER", "KEF")}


@pytest.fixture(autouse=True)
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests may have a session in this process."""
    monkeypatch.setattr("emberlog.notebook.magics.active_session", lambda: None)


@pytest.mark.parametrize(
    "legs",
    [
        LEGS,
        set(LEGS),
        [{"a": a, "b": b} for a, b in LEGS],
        {"a": [a for a, _ in LEGS], "b": [b for _, b in LEGS]},
        pd.DataFrame(LEGS, columns=["a", "b"]),
        pl.DataFrame(LEGS, schema=["a", "b"], orient="row"),
        pl.DataFrame(LEGS, schema=["a", "b"], orient="row").lazy(),
        pa.table({"a": [a for a, _ in LEGS], "b": [b for _, b in LEGS]}),
    ],
    ids=lambda one: f"{type(one).__module__}.{type(one).__name__}",
)
def test_a_table_in_a_variable_is_a_relation(shell: Shell, legs: object) -> None:
    shell["leg"] = legs
    assert "in this process" in shell.run(TRIPS)
    assert set(shell["trips"]["trip"].collect()) == ALL_TRIPS


def test_a_path_in_a_variable_is_a_relation(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "leg.csv").write_text("BER,OSL\nOSL,KEF\n")
    shell["leg"] = tmp_path / "leg.csv"
    shell.run(TRIPS)
    assert set(shell["trips"]["trip"].collect()) == ALL_TRIPS


def test_a_cell_can_be_run_again_with_other_data(shell: Shell) -> None:
    shell["leg"] = LEGS
    for _ in range(2):
        shell.run(TRIPS)
    assert set(shell["trips"]["trip"].collect()) == ALL_TRIPS
    shell["leg"] = LEGS[:1]
    shell.run(TRIPS)
    assert set(shell["trips"]["trip"].collect()) == {("BER", "OSL")}


def test_a_cell_reads_what_earlier_cells_gave(shell: Shell) -> None:
    shell["leg"] = LEGS
    shell.run(TRIPS)
    for _ in range(2):
        shell.run("%%datalog far\nfar(B) :- trip('BER', B).")
        assert set(shell["far"]["far"].collect()) == {("OSL",), ("KEF",)}
    shell["leg"] = LEGS[:1]
    shell.run(TRIPS)
    shell.run("%%datalog far\nfar(B) :- trip('BER', B).")
    assert set(shell["far"]["far"].collect()) == {("OSL",)}


def test_a_line_asks(shell: Shell) -> None:
    shell["leg"] = LEGS
    shell.run(TRIPS)
    shown = shell.run("found = %datalog trip('BER', To)?")
    assert "in this process" in shown
    assert set(shell["found"]["trip"].collect()) == {("BER", "OSL"), ("BER", "KEF")}
    # What answers a question is a part of the relation, and later cells read the whole.
    shell.run("%%datalog all\nall(A, B) :- trip(A, B).")
    assert set(shell["all"]["all"].collect()) == ALL_TRIPS


def test_a_line_runs_a_file(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "p.dl").write_text("p(1). p(2).\n")
    shell.run(f"r = %datalog --show 1 {tmp_path}/p.dl")
    assert shell["r"]["p"].count() == 2


def test_parameters_come_from_variables_and_options(shell: Shell) -> None:
    shell["leg"] = LEGS
    shell["start"], shell["from_there"] = "BER", "OSL"
    cell = "%%datalog {} ends\nend(B) :- leg($start, B)."
    shell.run(cell.format(""))
    assert shell["ends"]["end"].collect() == [("OSL",)]
    shell.run(cell.format("--param start=OSL"))
    assert shell["ends"]["end"].collect() == [("KEF",)]
    shell.run(cell.format("--param start=$from_there"))
    assert shell["ends"]["end"].collect() == [("KEF",)]
    shell["start"] = [1]
    assert "error[DL265]" in shell.run(cell.format(""), fine=False)
    assert "there is no variable nowhere" in shell.run(cell.format("--param start=$nowhere"), fine=False)
    assert "error[DL211]" in shell.run("%%datalog\nend(B) :- leg($begin, B).", fine=False)


def test_a_database_of_ones_own(shell: Shell) -> None:
    database = emberlog.Database(engine="local")
    database["leg"] = LEGS
    database.function("low", str.lower, ["string"], "string")
    shell["mine"], shell["leg"], shell["more"] = database, [("X", "Y")], [("KEF",)]
    shell.run("%%datalog r --db mine\np(low(A)) :- leg(A, _).\np(low(A)) :- more(A).")
    assert set(shell["r"]["p"].collect()) == {("ber",), ("osl",), ("kef",)}
    assert list(database) == ["leg"]  # a variable is only lent
    assert "did you mean mine?" in shell.run("%%datalog --db mime\np(1).", fine=False)


def test_options(shell: Shell) -> None:
    assert "did you mean --engine?" in shell.run("%%datalog --egine local\np(1).", fine=False)
    assert "is no name for a variable" in shell.run("%%datalog 2x\np(1).", fine=False)
    assert "No closing quotation".lower() in shell.run("%%datalog --param 'x\np(1).", fine=False)
    assert "--provenance" in shell.run("%%datalog --help\np(1).")
    assert "--provenance" in shell.run("%datalog --help")
    shell.run("%%datalog r --provenance\np(1). q(X) :- p(X).")
    assert "r1" in str(shell["r"].why("q", (1,)))
    assert "error[DL5" in shell.run("%%datalog --timeout 0.2\np(1). p(X + 1) :- p(X).", fine=False)
    shown = shell.run("%%datalog --show 0\np(1).")
    assert shown.startswith("in this process") and shown.count("\n") == 1


def test_options_for_all_cells(shell: Shell) -> None:
    assert "cells run in this process" in shell.run("%datalog")
    shown = shell.run("%datalog --provenance --engine local")
    assert "options of all cells: --provenance --engine local" in shown
    shell.run("%%datalog r\np(1).")
    assert str(shell["r"].why("p", (1,))).startswith("p(1)")


def test_what_there_is_is_told(shell: Shell) -> None:
    shell["leg"] = LEGS
    shell.run(TRIPS)
    shown = shell.run("%datalog")
    assert "tables in variables: leg\n" in shown and "relations of trips: trip\n" in shown


def test_a_mistake_is_the_diagnostic_alone(shell: Shell) -> None:
    shell["leg"] = LEGS
    shown = shell.run("%%datalog\n\np(X, Y) :- leg(X, _).", fine=False)
    assert shown.startswith(
        "error[DL203]: variable `Y` is not bound\n  ┌ In [1]:3:6\n3 │ p(X, Y) :- leg(X, _).\n  │      ^\n"
    )
    assert "Traceback" not in shown and ".py" not in shown


def test_relations_that_are_not_there(shell: Shell) -> None:
    shell["legs"], shell["arc"] = LEGS, 7
    assert "= did you mean the variable `legs`?" in shell.run(TRIPS, fine=False)
    assert "the variable `arc` is of type int" in shell.run("%%datalog\np(X) :- arc(X).", fine=False)
    assert "give them as a variable `zz`" in shell.run("%%datalog\np(X) :- zz(X).", fine=False)
    shell["leg"] = LEGS
    shell.run(TRIPS)
    assert "did you mean `trip`, which an earlier cell gave?" in shell.run("%datalog tripp(A, B)?", fine=False)
    assert "did you mean `pq`?" in shell.run("%%datalog\npq(1).\npqq(X)?", fine=False)


def test_errors_of_a_database_have_no_frames(shell: Shell) -> None:
    shell["db"] = emberlog.Database(engine="local")
    shown = shell.run("db.datalog('p(X) :- q(Y).')", fine=False)
    assert shown.startswith("error[DL203]") and "called by" not in shown and "Traceback" not in shown
    shown = shell.run("def load():\n    return db['leg']\n\nload()", fine=False)
    assert shown.startswith("error[DL401]") and shown.rstrip().endswith("called by load, line 2")


def test_warnings_are_shown_below_the_cell(shell: Shell) -> None:
    shell["leg"] = LEGS
    cell = "%%datalog {}\np(X) :- leg(X, Once)."
    for _ in range(2):
        shown = shell.run(cell.format(""))
        assert shown.count("DL290") == 1 and "UserWarning" not in shown and ".py" not in shown
    assert "DL290" not in shell.run(cell.format("--warnings ignore"))
    shown = shell.run(cell.format("--warnings error"), fine=False)
    assert shown.startswith("warning[DL290]") and "Traceback" not in shown


def test_warnings_of_a_database_are_diagnostics(shell: Shell) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        message = emberlog.EmberlogWarning(emberlog.Diagnostic("DL290", "a message"))
        text = warnings.formatwarning(message, emberlog.EmberlogWarning, "cell.py", 3)
        assert text == "a message\n" or (text.endswith("a message\n") and "cell.py" not in text)
        other = warnings.formatwarning(UserWarning("another"), UserWarning, "cell.py", 3)
        assert other.startswith("cell.py:3")


def test_the_profile(shell: Shell) -> None:
    shown = shell.run("%%datalog --profile\np(1). p(X + 1) :- p(X), X < 5.")
    assert "profile" in shown.lower()


def test_an_interrupted_run_shows_no_frames(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object) -> int:
        raise KeyboardInterrupt

    database = emberlog.Database(engine="local")
    database.function("stop", stopped, ["int"], "int")
    shell["db"] = database
    for cell in ("%%datalog --db db\np(stop(1)).", "db.datalog('p(stop(1)).')"):
        shown = shell.run(cell, fine=False)
        assert shown.startswith("interrupted after") and shown.count("\n") <= 2
    assert "in this process" in shell.run("%%datalog --db db\np(1).")


def test_completion(shell: Shell) -> None:
    shell["leg"], shell["limit"] = LEGS, 3
    shell.run(TRIPS)
    assert shell.completions("%%datalog --en") == ["--engine"]
    assert shell.completions("%%datalog --engine ") == ["spark", "local"]
    assert shell.completions("%%datalog r --warnings=e") == ["error"]
    assert shell.completions("%%datalog r\np(X) :- le") == ["leg(", "least(", "len("]
    assert shell.completions("%%datalog r\np(X) :- tri")[:2] == ["trip(", "trim("]
    assert "mine(" in shell.completions("%%datalog r\nmine(X) :- leg(X, _).\np(X) :- mi")
    assert shell.completions("%%datalog r\np(Alpha) :- leg(Alp") == ["Alpha"]
    assert shell.completions("%%datalog r\np(X) :- leg(X, $lim") == ["$limit"]
    assert shell.completions("%datalog --engine local tri")[0] == "trip("
    assert shell.completions("x = %datalog tri")[0] == "trip("
    shell["db"] = emberlog.Database(engine="local")
    assert shell.completions("%%datalog --db ") == ["db"]
    assert "print" in shell.completions("prin")


def test_it_can_be_unloaded(shell: Shell) -> None:
    shell.shell.extension_manager.unload_extension("emberlog")
    assert "leg(" not in shell.completions("%%datalog r\np(X) :- le")
    assert shell.shell.extension_manager.load_extension("emberlog") is None


def test_spark_is_not_loaded_for_a_cell_in_this_process() -> None:
    import subprocess

    code = (
        "import sys\nfrom IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell.instance()\nshell.run_line_magic('load_ext', 'emberlog')\n"
        "shell.run_cell('%%datalog\\np(1).')\nassert 'pyspark' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
