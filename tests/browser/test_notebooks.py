"""What an executed notebook shows, in a real browser: light, dark and narrow.

Its outputs stand one below the other on a plain page, as every front end of notebooks shows them, in the way of the
richest form that each has.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import OpenPage
from tests.browser.eyes import hard_to_read, overlaps, sticks_out
from tests.notebooks import executed

pytestmark = pytest.mark.slow

PAGE = """\
<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>notebook</title>
<style>body { font-family: system-ui, sans-serif; max-width: 60rem; margin: 1rem auto; padding: 0 1rem;
background: light-dark(#fff, #111); color: light-dark(#111, #eee) } pre { overflow-x: auto }
.output { overflow-x: auto; margin: 0.5rem 0 } .source { padding: 0.5rem; border: 1px solid #8888 }</style>
</head><body><main>%s</main></body></html>
"""


def shown(output: Any) -> str:
    data = output.get("data", {})
    if "text/html" in data:
        return f'<div class="output">{data["text/html"]}</div>'
    text = data.get("text/plain", output.get("text", ""))
    return f'<div class="output" tabindex="0"><pre>{escape(text)}</pre></div>' if text else ""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    notebook = executed("flight_fares.ipynb")
    parts = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            parts.append(f'<pre class="source" tabindex="0">{escape(cell.source)}</pre>')
            parts += map(shown, cell.outputs)
    file = tmp_path_factory.mktemp("notebook") / "notebook.html"
    file.write_text(PAGE % "\n".join(parts), encoding="utf-8")
    return file.as_uri()


@pytest.mark.parametrize(("width", "scheme"), [(1100, "light"), (1100, "dark"), (420, "light"), (420, "dark")])
def test_a_notebook_can_be_read(open_page: OpenPage, address: str, tmp_path: Path, width: int, scheme: str) -> None:
    page = open_page(width=width, scheme=scheme)
    page.goto(address)
    cards = page.locator(".ember")
    assert cards.count() > 6
    assert page.get_by_text("in this process").count() >= 2
    assert page.get_by_text('cheapest("Berlin", To, Fare)').first.is_visible()
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    assert sticks_out(page) == 0
    assert overlaps(page) == []
    assert [one for one in hard_to_read(page) if "dataframe" not in one] == []
    page.screenshot(path=tmp_path / f"{width}-{scheme}.png", full_page=True)
