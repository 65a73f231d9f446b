"""Cells of %%datalog in a real JupyterLab: its own, from PATH, or the one that EMBERLOG_JUPYTERLAB names. It is not
among the packages of this project, which it would double."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.studios import soon

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

LAB = shutil.which(os.environ.get("EMBERLOG_JUPYTERLAB", "jupyter-lab"))
EXTENSION = Path(__file__).parents[2] / "editors" / "jupyterlab"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(LAB is None, reason="there is no jupyter-lab on the path; EMBERLOG_JUPYTERLAB=… names one"),
]

RULES = '%%datalog ways\n// all ways\nway(X, "x") :- arc(X, 12), X is not null.\n'
PYTHON = "for way in [1, 2]:  # all\n    print(way)\n"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server with one notebook and one program."""
    folder = tmp_path_factory.mktemp("lab")
    cells: list[dict[str, object]] = [
        {"cell_type": "code", "source": one, "metadata": {}, "outputs": [], "execution_count": None}
        for one in (PYTHON, RULES)
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    notebook = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 4}
    (folder / "work").mkdir()
    (folder / "work" / "a.ipynb").write_text(json.dumps(notebook))
    (folder / "work" / "p.dl").write_text(RULES.partition("\n")[2])
    (folder / "data" / "labextensions").mkdir(parents=True)
    (folder / "data" / "labextensions" / "emberlog").symlink_to(EXTENSION)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert LAB is not None
    options = [f"--ServerApp.port={port}", "--IdentityProvider.token=t", "--no-browser", "--allow-root"]
    environment = {**os.environ, "JUPYTER_PATH": str(folder / "data"), "JUPYTER_CONFIG_DIR": str(folder / "config")}
    command = [LAB, "--ServerApp.ip=127.0.0.1", *options, "--LabApp.news_url=", "--LabApp.check_for_updates_class=None"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, cwd=folder / "work", env=environment, stdout=log, stderr=log)
    try:
        address = f"http://127.0.0.1:{port}"
        soon(lambda: _answers(f"{address}/api?token=t"))
        yield address
    finally:
        process.terminate()
        process.wait(30)


def _answers(address: str) -> bool:
    time.sleep(0.2)
    try:
        with urllib.request.urlopen(address, timeout=5):
            return True
    except (urllib.error.URLError, ConnectionError):
        return False


def coloured(editor: Locator) -> dict[str, str]:
    """Returns the words that stand in elements of their own, with their colours."""
    found: dict[str, str] = editor.evaluate(
        """one => Object.fromEntries([...one.querySelectorAll(".cm-line span")].map(
             word => [word.innerText.trim(), getComputedStyle(word).color]))"""
    )
    return found


def test_cells_of_rules_have_the_colours_of_datalog(lab: str, page: Page) -> None:
    page.goto(f"{lab}/lab/tree/a.ipynb?token=t")
    python, rules = (page.locator(".jp-CodeCell .cm-content").nth(place) for place in (0, 1))
    soon(lambda: "for" in coloured(python))  # the kernel has told its language, which all cells were given
    soon(lambda: "// all ways" in coloured(rules))
    words = coloured(rules)
    assert {"%%datalog ways", "// all ways", '"x"', "12", "null"} <= words.keys(), words
    assert len({words["// all ways"], words['"x"'], words["12"], words["null"]}) == 4
    assert "is" not in words  # which Python has a colour for
    # What is typed decides.
    rules.click()
    page.keyboard.press("Control+Home")
    page.keyboard.press("Delete")
    soon(lambda: "is" in coloured(rules))
    page.keyboard.type("%")
    soon(lambda: "// all ways" in coloured(rules))


def test_programs_have_the_colours_of_datalog(lab: str, page: Page) -> None:
    page.goto(f"{lab}/lab/tree/p.dl?token=t")
    editor = page.locator(".jp-FileEditor .cm-content")
    soon(lambda: {"// all ways", '"x"'} <= coloured(editor).keys())
