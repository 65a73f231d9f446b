"""Which file holds the facts of which relation."""

from __future__ import annotations

from pathlib import Path

import pytest

from emberlog.cli.fact_files import facts_beside, files_in_folder, relation_of_file
from emberlog.diagnostics import EmberlogError


@pytest.mark.parametrize("name", ["arc.csv", "arc.tsv", "arc.facts", "arc.parquet", "arc.json", "arc.csv.gz"])
def test_the_relation_of_a_file(name: str) -> None:
    assert relation_of_file(Path("facts") / name) == "arc"


def test_a_folder(tmp_path: Path) -> None:
    for name in ("arc.csv", "node.tsv.gz", "README.md", ".hidden.csv", "_SUCCESS"):
        (tmp_path / name).touch()
    (tmp_path / "edge.parquet").mkdir()
    (tmp_path / "written").mkdir()
    (tmp_path / "written" / "part-00000.csv").touch()
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "a.png").touch()
    assert {name: path.name for name, path in files_in_folder(tmp_path).items()} == {
        "arc": "arc.csv",
        "edge": "edge.parquet",
        "node": "node.tsv.gz",
        "written": "written",
    }


def test_two_files_for_one_relation(tmp_path: Path) -> None:
    (tmp_path / "arc.csv").touch()
    (tmp_path / "arc.tsv").touch()
    with pytest.raises(EmberlogError, match=r"two files for the relation `arc`: arc\.csv and arc\.tsv"):
        files_in_folder(tmp_path)


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(EmberlogError, match="DL405"):
        files_in_folder(tmp_path / "nowhere")


def test_facts_beside_a_program(tmp_path: Path) -> None:
    program = tmp_path / "program.dl"
    assert facts_beside(program) is None
    (tmp_path / "facts").mkdir()
    assert facts_beside(program) == tmp_path / "facts"
