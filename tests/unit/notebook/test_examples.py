"""The notebooks of the examples: as they lie in the repository, and the one without Spark as it runs."""

from __future__ import annotations

import pytest

from tests.notebooks import FOLDER, executed, outputs, read

NAMES = sorted(path.name for path in FOLDER.glob("*.ipynb"))


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_kept_without_outputs(name: str) -> None:
    cells = read(name).cells
    assert all(not cell.get("outputs") and cell.get("execution_count") is None for cell in cells)
    assert (FOLDER / name).stat().st_size < 20_000
    assert any("%%datalog" in cell.source for cell in cells)
    assert f"[{name}](notebooks/{name})" in (FOLDER.parent / "README.md").read_text(encoding="utf-8")


def test_the_story_in_one_process_and_again() -> None:
    notebook = executed("flight_fares.ipynb", times=2)
    texts = "\n".join(outputs(notebook, "text/plain"))
    assert "in this process · 2 relations (1 input, 1 derived)" in texts
    assert 'cheapest("Berlin", To, Fare): 4 facts\n  Berlin  Boston     380\n' in texts
    assert 'cheapest("Berlin", "Boston", 380)' in texts
    pages = outputs(notebook, "text/html")
    assert len(pages) > 10 and all("iframe" not in page for page in pages)
