"""How time grows with facts, as a number."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks import growth
from benchmarks.data import graphs


def test_the_exponent_is_that_of_the_facts() -> None:
    smallest = growth.Row("tc", "small", 10, 100, 1.0)
    assert growth.Row("tc", "large", 40, 400, 4.0).exponent(smallest) == pytest.approx(1.0)
    assert growth.Row("tc", "large", 40, 400, 16.0).exponent(smallest) == pytest.approx(2.0)


def test_all_sizes_are_measured_and_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sizes = [("two", lambda: graphs.chain(2)), ("nine", lambda: graphs.chain(9))]
    monkeypatch.setattr(growth, "CASES", {"tc": sizes})
    lines = list(growth.run(["tc"], 1, tmp_path))
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]]
    assert [row[:4] for row in cells] == [["tc", "two", "2", "3"], ["tc", "nine", "9", "45"]]
    assert cells[0][-1] == "" and float(cells[1][-1]) < 100
    assert (tmp_path / "growth.md").read_text().endswith("\n".join(lines) + "\n")


def test_the_programs_are_three_of_three_sizes() -> None:
    assert {name: len(sizes) for name, sizes in growth.CASES.items()} == {"tc": 3, "cc": 3, "andersen": 3}
