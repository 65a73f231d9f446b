"""Measures what a person waits for in the studio, in a real browser: from a key to the marks of what is wrong, and from
the end of a run to the first page of its answer."""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
from playwright.sync_api import Page, sync_playwright

from benchmarks.editor import program

_COPIES = "copy(Y, X) :- number(X, Y).\n"

_WATCH_KEYS = """() => {
  window.waits = [];
  let pressed = 0;
  document.addEventListener("keydown", () => { pressed = performance.now(); }, true);
  const told = () => { if (pressed) { window.waits.push(performance.now() - pressed); pressed = 0; } };
  const region = document.querySelector('[aria-label="problems"]');
  new MutationObserver(told).observe(region, {childList: true, subtree: true, characterData: true});
}"""

_WATCH_ANSWER = """() => {
  window.ended = window.shown = 0;
  new MutationObserver(() => {
    const status = document.querySelector('[data-part="status"]').innerText;
    if (!window.ended && status.startsWith("done in")) window.ended = performance.now();
    if (!window.shown && document.querySelector("tbody tr td")) window.shown = performance.now();
  }).observe(document.body, {childList: true, subtree: true, characterData: true});
}"""


def keys(sizes: Sequence[int], count: int) -> Iterator[str]:
    """Yields the lines of a table: milliseconds from a key to what is wrong, as the page shows it."""
    yield "| rules | key to diagnostics | slowest key |"
    yield "| ---: | ---: | ---: |"
    for rules in sizes:
        with _opened(program(rules)) as page:
            page.evaluate(_WATCH_KEYS)
            page.click(".cm-content")
            for one in ("Control+End", "ArrowUp", "End"):
                page.keyboard.press(one)
            page.wait_for_timeout(1000)
            waits: list[float] = []
            for number in range(2 * count):  # one key makes a mistake, the next mends it
                page.evaluate("window.waits = []")
                page.keyboard.press("Backspace" if number % 2 else "x")
                page.wait_for_function("window.waits.length > 0")
                waits += page.evaluate("window.waits")
                page.wait_for_timeout(200)
        yield f"| {rules:,} | {statistics.median(waits):,.0f} | {max(waits):,.0f} |"


def first_page(facts: int) -> Iterator[str]:
    """Yields how long an answer of so many facts lets a person wait for its first page, once it is computed."""
    with tempfile.TemporaryDirectory() as folder:
        numbers = np.arange(facts)
        parquet.write_table(pa.table({"x": numbers, "y": numbers % 1000}), Path(folder) / "number.parquet")
        with _opened(_COPIES, Path(folder)) as page:
            page.evaluate(_WATCH_ANSWER)
            page.get_by_role("button", name="Run").click()
            page.wait_for_function("window.ended && window.shown", timeout=600_000)
            waited = page.evaluate("window.shown - window.ended")
            told = page.locator('[data-part="told"]').inner_text()
            status = page.locator('[data-part="status"]').inner_text()
    yield f"{told.partition(';')[0]}: {status}; first page {waited:,.0f} ms later"


@contextmanager
def _opened(text: str, facts: Path | None = None) -> Iterator[Page]:
    """Opens a studio of its own in a browser."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "program.dl"
        file.write_text(text)
        command = [sys.executable, "-m", "emberlog", "studio", str(file), "--no-browser"]
        command += [] if facts is None else ["--facts", str(facts)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process, sync_playwright() as playwright:
            assert process.stdout is not None
            address = re.search(r"http://\S+", process.stdout.readline())
            assert address is not None
            chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
            try:
                page = browser.new_page()
                page.goto(address[0])
                page.get_by_text("no problems").first.wait_for(timeout=60_000)
                yield page
            finally:
                browser.close()
                process.terminate()
