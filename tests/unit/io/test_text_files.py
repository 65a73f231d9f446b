"""Text files of every spelling, in this process; tests/spark/test_text_files.py has the same on Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

import emberlog
from emberlog.datatypes import STRING, list_of
from emberlog.diagnostics import EmberlogError
from emberlog.io.facts import read_facts
from emberlog.semantics.model import Column
from tests.text_files import CASES, ONE, check


@pytest.mark.parametrize("name", CASES)
def test_files(name: str, tmp_path: Path) -> None:
    check(emberlog.Database(engine="local"), CASES[name], tmp_path)


@pytest.mark.parametrize(
    "options",
    [
        {"delimiter": ""},
        {"delimiter": "||"},
        {"delimiter": "\n"},
        {"quote": '""'},
        {"encoding": "no such"},
        {"null": "\n"},
    ],
)
def test_options_that_no_file_can_have(options: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("1\n")
    with pytest.raises(EmberlogError, match="DL425"):
        emberlog.Database(engine="local").register("e", tmp_path / "e.csv", **options)  # type: ignore[arg-type]


def test_options_of_text_are_for_text(tmp_path: Path) -> None:
    database = emberlog.Database(engine="local")
    (tmp_path / "e.json").write_text('{"a": 1}\n')
    with pytest.raises(EmberlogError, match=r"DL336.*\n.*text files"):
        database.register("e", tmp_path / "e.json", null="NA")
    with pytest.raises(EmberlogError, match="DL336"):
        database.register("e", [(1,)], delimiter=";")


@pytest.mark.parametrize("half", ["\ud83d", "\ude00", "a\udfff"])
def test_half_a_character_is_refused_wherever_it_comes_from(half: str, tmp_path: Path) -> None:
    import pandas as pd

    database = emberlog.Database(engine="local")
    with pytest.raises(EmberlogError, match="DL424"):
        database["e"] = [(half,)]
    with pytest.raises(EmberlogError, match="DL424"):
        database["e"] = pd.DataFrame({"a": [half]})
    for literal in (half, ascii(half)[1:-1]):
        with pytest.raises(EmberlogError, match="DL106"):
            database.datalog(f'q("{literal}").')
    (tmp_path / "e.json").write_text(f'{{"a": "{ascii(half)[1:-1]}"}}\n')
    with pytest.raises(EmberlogError, match="DL424"):
        database["e"] = tmp_path / "e.json"
    (tmp_path / "e.csv").write_text(f'"[""{ascii(half)[1:-1]}""]"\n')
    with pytest.raises(EmberlogError, match="DL404"):
        read_facts(tmp_path / "e.csv", [Column("a", list_of(STRING))])


def test_two_halves_are_a_character() -> None:
    database = emberlog.Database(engine="local")
    assert database.datalog(r'q("\ud83d\ude00").')["q"].collect() == [("😀",)]


def test_a_header_is_noticed_once(tmp_path: Path) -> None:
    database = emberlog.Database(engine="local")
    (tmp_path / "e.csv").write_text("name\n1\n")
    database["e"] = tmp_path / "e.csv"
    with pytest.warns(emberlog.EmberlogWarning, match="DL490") as caught:
        for _ in range(2):
            database.datalog(ONE)
    assert len(caught) == 1
    assert caught[0].filename == __file__
