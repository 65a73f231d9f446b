"""What is said of costs before a run, and after it."""

from __future__ import annotations

from pathlib import Path

import pytest

from emberlog.__main__ import main
from emberlog.database import Database

PROGRAM = "far(X, W) :- a(X, Y), b(Y, Z), c(Z, W).\n"

COUNTED = """\
statistics
  a  1,000 rows; values by column: 1,000, 10; counted
  b  1,000 rows; values by column: 10, 1,000; counted
  c  2 rows; values by column: 2, 2; counted

order of joins
  r1: c(Z, W), b(Y, Z), a(X, Y); about 4 rows on the way instead of 100,000 as written

rows expected, and rows counted in all iterations together
  stratum 1  far   not recursive
    Define far(X, W)
    └ Distinct                 about 200         200
      └ Project X, W  [r1]     about 200         200
        └ Join on Y            about 200         200
          ├ Project W, Y       about 2           2
          │ └ Join on Z        about 2           2
          │   ├ Scan c(Z, W)   about 2           2
          │   └ Scan b(Y, Z)   about 1,000       1,000
          └ Scan a(X, Y)       about 1,000       1,000
"""

A = [(number, number % 10) for number in range(1_000)]
B = [(number % 10, number) for number in range(1_000)]
C = [(7, 3), (8, 4)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, facts in (("a", A), ("b", B), ("c", C)):
        (tmp_path / f"{name}.csv").write_text("".join(f"{one},{other}\n" for one, other in facts))
    (tmp_path / "far.dl").write_text(PROGRAM)
    return tmp_path


def test_rows_expected_beside_rows_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(folder / "far.dl"), "--analyze", "--facts", str(folder)]) == 0
    assert capsys.readouterr().out == COUNTED


def test_without_a_run_and_into_a_file(folder: Path) -> None:
    written = folder / "cost.txt"
    command = ["explain", str(folder / "far.dl"), "--cost", "--facts", str(folder), "--output", str(written)]
    assert main([*command, "--off", "reorder_joins"]) == 0
    told = written.read_text(encoding="utf-8")
    assert "order of joins" not in told
    assert "about 100,000\n" in told
    assert "counted in all" not in told


def test_data_that_is_missing_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "c.csv").unlink()
    assert main(["explain", str(folder / "far.dl"), "--cost", "--facts", str(folder)]) != 0
    assert "DL401" in capsys.readouterr().err


def test_facts_of_the_program_and_frequent_values_are_told() -> None:
    with Database(engine="local") as database:
        told = database.cost("p(X) :- q(X). q(1). q(2).")
        assert told.startswith("statistics\n  the program reads nothing but its own facts\n")
        database["arc"] = [(0, number) for number in range(50)] + [(number, 0) for number in range(1, 50)]
        told = database.cost("p(X) :- arc(X, Y).")
        assert "frequent in column 1: 0 (50.5%); frequent in column 2: 0 (50.5%); counted" in told


def test_deltas_are_counted_over_all_iterations() -> None:
    with Database(engine="local") as database:
        database["arc"] = [(number, number + 1) for number in range(20)]
        told = database.cost("tc(X, Y) :- arc(X, Y). tc(X, Y) :- tc(X, Z), arc(Z, Y).", analyze=True)
    (delta,) = [line for line in told.splitlines() if "Δtc" in line]
    assert delta.endswith("  210")


def test_of_much_data_the_workers_count_what_each_step_hands_on() -> None:
    """A cycle is closed by an intersection: no step hands on more than what is read or found."""
    arcs = [(one, (one * 31 + step) % 3_000) for one in range(3_000) for step in range(1, 8)]
    arcs += [(0, one) for one in range(3_000)] + [(one, 0) for one in range(3_000)]
    text = "t(count<_>) :- arc(X, Y), X < Y, arc(Y, Z), Y < Z, arc(X, Z)."
    with Database(engine="local") as database:
        database["arc"] = arcs
        told = database.cost(text, analyze=True)
        (found,) = (fact[0] for fact in database.datalog(text)["t"].facts)
    head, _, steps = told.partition("rows that the workers' rules handed on, step by step\n")
    assert "not counted" in head and "facts counted\n  t: 1\n" in head
    rows = [int(line.rpartition("  ")[2].replace(",", "")) for line in steps.splitlines()[1:-1]]
    assert len(rows) == 3 and rows[-1] == found
    assert max(rows) <= max(len(set(arcs)), found)
