"""Starts studios of their own, and does in their pages what a person does."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import FilePayload, Locator, Page

REACH = "reach(X, Y) :- arc(X, Y).\nreach(X, Z) :- reach(X, Y), arc(Y, Z).\n"

PATIENCE = 60.0
"""Seconds: what should be there at once may take long where much else runs."""


@dataclass
class Studio:
    address: str
    folder: Path
    pages: list[Page] = field(default_factory=list)

    @property
    def base(self) -> str:
        return self.address.partition("/?")[0]

    def open(self, page: Page, fragment: str = "") -> Page:
        self.pages.append(page)
        page.goto(self.address + fragment)
        page.wait_for_selector(".cm-content")
        page.get_by_text(re.compile("no problems|error DL|warning DL")).first.wait_for()
        return page


@contextmanager
def served(folder: Path, text: str, **facts: str) -> Iterator[Studio]:
    program = folder / "program.dl"
    program.write_text(text, encoding="utf-8")
    for name, content in facts.items():
        (folder / f"{name}.csv").write_text(content)
    command = [sys.executable, "-m", "emberlog", "studio", str(program), "--facts", str(folder), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://\S+", process.stdout.readline())
            assert found is not None
            studio = Studio(found[0], folder)
            yield studio
            for page in studio.pages:
                page.goto("about:blank")  # or it would look for the server that has gone
        finally:
            process.terminate()


def write(page: Page, text: str) -> None:
    """Replaces the program, as somebody does who pastes another one."""
    page.click(".cm-content")
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(text)


def drop(page: Page, name: str, content: bytes) -> None:
    """Drops a file on the list of relations."""
    file: FilePayload = {"name": name, "mimeType": "text/plain", "buffer": content}
    page.set_input_files("input[type=file]", file)


def run(page: Page) -> None:
    page.click(".cm-content")
    page.keyboard.press("Control+Enter")


def status(page: Page, words: str, seconds: float = PATIENCE) -> None:
    page.locator('[data-part="status"]', has_text=re.compile(words)).wait_for(timeout=seconds * 1000)


def tab(page: Page, name: str) -> None:
    page.get_by_role("tab", name=name).click()


def cells(page: Page) -> list[list[str]]:
    rows: list[list[str]] = page.evaluate(
        """[...document.querySelectorAll('.q-tab-panel:not([style*="none"]) tbody tr')].map(
             row => [...row.querySelectorAll("td")].map(cell => cell.innerText.trim()))"""
    )
    return [[cell for cell in row if cell != "why"] for row in rows]


def soon(found: Callable[[], bool], seconds: float = PATIENCE) -> None:
    until = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < until
        time.sleep(0.05)


def visible(page: Page, text: str) -> Locator:
    found = page.get_by_text(text).first
    found.wait_for()
    return found
