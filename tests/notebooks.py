"""Runs the notebooks of the examples as a person does who opens one and runs all cells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

from tests.kernels import new_manager

FOLDER = Path(__file__).parents[1] / "examples" / "notebooks"


def read(name: str) -> Any:
    untyped: Any = nbformat
    return untyped.read(FOLDER / name, as_version=4)


def executed(name: str, *, times: int = 1) -> Any:
    """Returns the notebook with the outputs of a clean kernel, after its cells were run in order, so many times."""
    notebook = read(name)
    notebook.cells = [cell.copy() for _ in range(times) for cell in notebook.cells]
    manager = new_manager()
    client = NotebookClient(notebook, km=manager, timeout=300, resources={"metadata": {"path": str(FOLDER)}})
    try:
        client.execute()
    finally:
        kernel: Any = client.kc
        if kernel is not None:
            kernel.stop_channels()
        manager.shutdown_kernel(now=True)
    return notebook


def outputs(notebook: Any, kind: str) -> list[str]:
    """Returns what the cells show, of one kind such as `text/html`."""
    return [
        output["data"][kind]
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if kind in output.get("data", {})
    ]
