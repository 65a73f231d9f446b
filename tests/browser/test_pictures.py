"""Takes the pictures that docs/ shows: EMBERLOG_PICTURES=1 writes them there, for somebody to look at."""

from __future__ import annotations

from pathlib import Path

import pytest

import emberlog
from emberlog.config import Execution
from emberlog.logical.connection_graph import build_connection_graph
from emberlog.profile import RunProfile
from emberlog.render.pages.explanation import explanation_page
from emberlog.render.pages.profile import profile_page
from emberlog.source import Source
from emberlog.syntax.ast import Program
from emberlog.syntax.parser import parse
from tests.browser.conftest import OpenPage
from tests.browser.eyes import hard_to_read, overlaps, sticks_out

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples"
LARGEST = 120_000


def program(*, is_asked: bool) -> Program:
    text = (EXAMPLES / "fares.dl").read_text(encoding="utf-8")
    return parse(Source("fares.dl", text if is_asked else text.partition('cheapest("Berlin"')[0]))


@pytest.fixture(scope="module")
def shown() -> dict[str, str]:
    profile = RunProfile()
    db = emberlog.Database(engine="local", progress=False)
    execution = Execution(executor="cyclic", workers=2, profile=True)
    result = db.datalog(program(is_asked=False), provenance=True, listener=profile, execution=execution)
    explained = db.check(program(is_asked=True))
    graph = build_connection_graph(explained.checked)
    return {
        "explain": explanation_page(explained.checked, graph, explained.logical, explained.optimized),
        "proof": result.why("cheapest", ("Berlin", "Boston", 380)).to_html(),
        "profile": profile_page("fares.dl", profile),
    }


KINDS = {"wide": (1100, 900, "light"), "narrow": (420, 800, "light"), "dark": (1100, 900, "dark")}

IN_DOCS = ("explain-wide", "explain-narrow", "proof-dark", "proof-narrow", "profile-wide", "profile-narrow")


@pytest.mark.parametrize("name", ["explain", "proof", "profile"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_picture(
    open_page: OpenPage, pictures: Path, tmp_path: Path, shown: dict[str, str], name: str, kind: str
) -> None:
    width, height, scheme = KINDS[kind]
    page = open_page(width=width, height=height, scheme=scheme)
    page.set_content(shown[name])
    assert (sticks_out(page), overlaps(page), hard_to_read(page)) == (0, [], [])
    picture = f"{name}-{kind}"
    file = (pictures if picture in IN_DOCS else tmp_path) / f"{picture}.png"
    page.screenshot(path=file)
    assert 5_000 < file.stat().st_size < LARGEST
