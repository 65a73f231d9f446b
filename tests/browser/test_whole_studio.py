"""The studio in a real browser: everything else that a person does there, which takes minutes: the task `browser`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from tests.browser.conftest import OpenPage
from tests.browser.studios import REACH, cells, drop, run, served, soon, status, tab, visible, write

if TYPE_CHECKING:
    from playwright.sync_api import FilePayload, Page

pytestmark = pytest.mark.slow

ENDLESS = "n(0).\nn(Y) :- n(X), Y = X + 1.\n"
STREAM = """\
STREAM edge(t: timestamp, x: int, y: int).
reach(T, X, Y) :- edge(T, X, Y).
reach(T, X, Z) :- reach(T1, X, Y), edge(T2, Y, Z), larger(T, T1, T2).
query reach(_, X, Y), WINDOW(2, 1).
"""


def test_dropped_files_become_relations_on_both_engines(tmp_path: Path, page: Page) -> None:
    with served(tmp_path, REACH) as studio:
        studio.open(page)
        visible(page, "input without data")
        drop(page, "arc.csv", b"1,2\n2,3\n3,4\n")
        visible(page, "arc(c1: int, c2: int)")
        run(page)
        status(page, "done in .* this process")
        soon(lambda: len(cells(page)) == 6)
        page.get_by_label("runs", exact=True).click()
        page.get_by_role("option", name="on Spark").click()
        run(page)
        status(page, "done in .* Spark", 240)
        soon(lambda: len(cells(page)) == 6)
        page.get_by_role("button", name="why row 2").click()
        page.locator('[data-part="proof"] .em-tree').wait_for(timeout=60_000)
        page.get_by_role("tab", name="Answers").click()
        drop(page, "arc.exe", b"x")
        visible(page, "not a kind of file that is known")


def test_iterations_are_seen_while_a_run_goes_on_and_it_is_stopped(tmp_path: Path, page: Page) -> None:
    with served(tmp_path, ENDLESS) as studio:
        studio.open(page)
        tab(page, "Run")
        run(page)
        status(page, "runs in this process")
        listed = page.locator('[data-part="iterations"] tbody tr')
        soon(lambda: listed.count() > 3)
        first = listed.first.inner_text()
        soon(lambda: listed.first.inner_text() != first)
        page.keyboard.press("Escape")
        status(page, "stopped after")
        write(page, "a(1). b(X) :- a(X).\n")
        visible(page, "no problems")
        run(page)
        status(page, "done in")
        tab(page, "Answers")
        soon(lambda: cells(page) == [["1"]])


LENGTHS = "way(X, 0) :- arc(X, _).\nway(Y, L) :- way(X, M), arc(X, Y), L = M + 1.\n"
DERIVED_IN_DRIVER = 4_000_000
"""Facts beyond which a recursion on Spark is a job of workers."""


def test_a_job_of_spark_is_seen_and_stopped_and_the_next_run_works(tmp_path: Path, page: Page) -> None:
    arcs = "".join(f"{one},{(one + 1) % 20_000}\n" for one in range(20_000))  # in a circle, so it has no end
    with served(tmp_path, LENGTHS, arc=arcs) as studio:
        studio.open(page)
        page.get_by_label("runs", exact=True).click()
        page.get_by_role("option", name="on Spark").click()
        tab(page, "Run")
        run(page)
        status(page, "runs on Spark")
        listed = page.locator('[data-part="iterations"] tbody tr')

        def facts() -> int:
            row = listed.first.locator("td").all_inner_texts() if listed.count() else []
            return int(row[3].replace(",", "")) if len(row) > 3 else 0

        soon(lambda: facts() > DERIVED_IN_DRIVER, 240)
        before = facts()
        soon(lambda: facts() > before)
        page.get_by_role("button", name="Stop").click()
        status(page, "stopped after .* on Spark", 5)
        write(page, "a(1). b(X) :- a(X).\n")
        visible(page, "no problems")
        run(page)
        status(page, "done in .* on Spark")
        tab(page, "Answers")
        soon(lambda: cells(page) == [["1"]])


def test_several_files_are_dropped_at_once_looked_at_and_taken_away(tmp_path: Path, page: Page) -> None:
    rows = b"".join(b"%d,%d\n" % (one, one + 1) for one in range(200_000))
    files: list[FilePayload] = [
        {"name": f"{name}.csv", "mimeType": "text/plain", "buffer": content}
        for name, content in (("tiny", b"1,2\n"), ("big", rows), ("large", rows))
    ]
    with served(tmp_path, "all(X) :- tiny(X, _). all(X) :- big(X, _). all(X) :- large(X, _).\n") as studio:
        studio.open(page)
        page.set_input_files("input[type=file]", files)
        for one in ("tiny", "big", "large"):
            visible(page, f"{one}(c1: int, c2: int)")
        soon(lambda: page.locator(".q-uploader__file").count() == 0)
        run(page)
        visible(page, "200,000 facts")
        page.get_by_label("look: tiny").click()
        soon(lambda: cells(page) == [["1", "2"]])
        page.get_by_role("button", name="Back to the answers").click()
        visible(page, "200,000 facts")
        page.get_by_label("remove: tiny").click()
        visible(page, "input without data")


def test_the_program_is_saved_or_the_page_says_why_not(tmp_path: Path, page: Page) -> None:
    with served(tmp_path, "a(1).\n") as studio:
        studio.open(page)
        write(page, "a(2).\n")
        program = tmp_path / "program.dl"
        program.unlink()
        program.mkdir()
        page.keyboard.press("Control+s")
        visible(page, "cannot write")
        saved = page.get_by_text(re.compile("^saved "))
        assert saved.count() == 0
        program.rmdir()
        page.keyboard.press("Control+s")
        saved.first.wait_for()
        assert program.read_text() == "a(2).\n"


def test_a_million_rows_are_sorted_and_filtered_on_the_server(tmp_path: Path, page: Page) -> None:
    count = 1_000_000
    numbers = [(one * 7_919) % count for one in range(count)]
    parquet.write_table(
        pa.table({"a": numbers, "b": [f"name {one % 1000}" for one in numbers]}), tmp_path / "big.parquet"
    )
    with served(tmp_path, "all(A, B) :- big(A, B).\n") as studio:
        studio.open(page)
        run(page)
        status(page, "done in")
        visible(page, "1,000,000 facts")
        shown = len(cells(page))
        assert shown == 25
        page.locator("th", has_text="A").first.click()
        soon(lambda: [row[0] for row in cells(page)[:3]] == ["0", "1", "2"])
        page.locator("th", has_text="A").first.click()
        soon(lambda: cells(page)[0][0] == "999999")
        page.get_by_role("button", name="Next page").click()
        soon(lambda: cells(page)[0][0] == "999974")
        page.get_by_label("A: int").fill("10..20")
        visible(page, "11 of 1,000,000 facts")
        page.get_by_label("B: string").fill("= name 12")
        visible(page, "1 of 1,000,000 facts")
        page.get_by_label("A: int").fill("many")
        visible(page, "`many` is not an int")
        assert page.evaluate("document.querySelectorAll('tbody tr').length") < 200


def test_a_plan_folds_and_has_rows_counted(tmp_path: Path, page: Page) -> None:
    with served(tmp_path, REACH, arc="1,2\n2,3\n") as studio:
        studio.open(page)
        tab(page, "Plan")
        page.get_by_role("button", name="Count rows").click()
        plan = page.locator('[data-part="plan"]')
        soon(lambda: "counted" in plan.inner_text())
        fold = plan.locator(".em-fold").first
        inside = fold.locator(".em-tree").first
        assert inside.is_visible()
        assert fold.locator("summary").first.evaluate("one => getComputedStyle(one).display") == "list-item"
        fold.locator("summary").first.click()
        assert not inside.is_visible()
        page.keyboard.press("Enter")
        inside.wait_for()


def test_a_profile_tells_where_the_time_went(tmp_path: Path, page: Page) -> None:
    with served(tmp_path, REACH, arc="1,2\n2,3\n") as studio:
        studio.open(page)
        page.get_by_text("count by rule").click()
        run(page)
        status(page, "done in")
        tab(page, "Profile")
        profile = page.locator('[data-part="profile"]')
        soon(lambda: "planning" in profile.inner_text().lower())
        assert "reach" in profile.inner_text()


def test_reloading_finds_the_program_the_data_and_the_answers(tmp_path: Path, page: Page) -> None:
    with served(tmp_path, REACH) as studio:
        studio.open(page)
        drop(page, "arc.csv", b"1,2\n2,3\n")
        visible(page, "arc(c1: int, c2: int)")
        write(page, REACH + "// mine\n")
        run(page)
        soon(lambda: len(cells(page)) == 3)
        page.reload()
        page.wait_for_selector(".cm-content")
        assert "// mine" in page.inner_text(".cm-content")
        visible(page, "arc(c1: int, c2: int)")
        soon(lambda: len(cells(page)) == 3)
        with page.expect_download() as download:
            page.get_by_text("download csv").click()
        assert sorted(Path(download.value.path()).read_text().split()) == ["1,2", "1,3", "2,3", "X,Y"]


def test_a_link_brings_a_program_and_runs_nothing(tmp_path: Path, page: Page) -> None:
    with served(tmp_path, ENDLESS) as studio:
        studio.open(page)
        page.get_by_role("button", name="More").click()
        page.get_by_text("Copy a link").click()
        soon(lambda: "#program=" in page.evaluate("location.hash"))
        fragment = str(page.evaluate("location.hash"))
        page.goto("about:blank")
        studio.open(page)
        write(page, "a(1).\n")
        visible(page, "no problems")
        page.goto("about:blank")
        studio.open(page, fragment)
        page.get_by_role("button", name="Open it").click()
        soon(lambda: "n(Y) :- n(X)" in page.inner_text(".cm-content"))
        soon(lambda: page.evaluate("location.hash") == "")
        assert "runs" not in page.inner_text('[data-part="status"]')
        assert not page.get_by_role("button", name="Stop").is_enabled()
        page.reload()
        page.wait_for_selector(".cm-content")
        assert "n(Y) :- n(X)" in page.inner_text(".cm-content")


def test_texts_and_names_never_become_html(tmp_path: Path, page: Page) -> None:
    nasty = "<img src=x onerror=document.title='hit'>"
    program = f'a("{nasty}", 1).\nb(X, `<b>`) :- a(X, `<b>`), X != "</script><script>document.title=1</script>".\n'
    with served(tmp_path, "a(1).\n") as studio:
        studio.open(page)
        write(page, f'a("{nasty}", 1).\nb(X, Y) :- a(X, Y), X != "<script>document.title=1</script>".\n')
        visible(page, "no problems")
        run(page)
        soon(lambda: cells(page) == [[nasty, "1"]])
        page.get_by_role("button", name="why row 1").click()
        page.locator('[data-part="proof"] .em-tree').first.wait_for()
        tab(page, "Plan")
        page.get_by_role("button", name="Show the plan").click()
        page.locator('[data-part="plan"] .em-tree').first.wait_for()
        write(page, program)
        page.locator('[data-part="problem"]').first.wait_for()
        drop(page, f"{nasty}.csv".replace("/", ""), b"1,2\n")
        page.wait_for_timeout(1000)
        assert page.evaluate("document.querySelectorAll('img[src=x]').length") == 0
        assert "hit" not in page.title()


def test_a_stream_is_advanced_slide_by_slide(tmp_path: Path, page: Page) -> None:
    with served(tmp_path, STREAM, edge="1,1,2\n2,2,3\n4,3,4\n") as studio:
        studio.open(page)
        tab(page, "Stream")
        page.get_by_role("button", name="Advance", exact=True).click()
        told = page.locator('[data-part="slide"]')
        soon(lambda: "slide 1" in told.inner_text())
        page.get_by_role("button", name="Advance", exact=True).click()
        soon(lambda: "slide 2" in told.inner_text())
        changed = page.locator(".st-changes")
        soon(lambda: re.search(r"\+ reach\(.*1, 3\)", changed.inner_text()) is not None)
        changed.get_by_role("button", name="why", exact=True).first.click()
        proof = page.locator('[data-part="proof"]')
        soon(lambda: "holds until" in proof.inner_text())
        page.get_by_label("a fact").fill("reach(_, 3, 1)")
        page.get_by_role("button", name="Why not").click()
        soon(lambda: "no fact matches it" in proof.inner_text())
        tab(page, "Stream")
        page.get_by_label("rows to add").fill("edge(1, 9, 9)\nedge(3, 3, 5)")
        page.get_by_role("button", name="Add rows").click()
        soon(lambda: "1 came too late" in told.inner_text())
        page.get_by_role("button", name="Advance 10").click()
        soon(lambda: "nothing is left" in told.inner_text())
        assert "0 (+0 −" in page.locator('[data-part="slides"] tbody tr').first.inner_text()


def test_sessions_of_a_stream_end_one_by_one_and_are_asked_about(tmp_path: Path, page: Page) -> None:
    sessions = STREAM.replace("WINDOW(2, 1)", "SESSION(2, x)")
    with served(tmp_path, sessions, edge="1,1,2\n2,1,3\n9,1,4\n") as studio:
        studio.open(page)
        tab(page, "Stream")
        told = page.locator('[data-part="slide"]')
        facts = page.locator(".st-changes")
        page.get_by_role("button", name="Advance", exact=True).click()
        soon(lambda: "window 1 to 2" in told.inner_text())
        soon(lambda: "reach: 2 facts" in facts.inner_text())
        page.get_by_role("button", name="Advance", exact=True).click()
        soon(lambda: "window 9 to 9" in told.inner_text())
        assert "reach: 1 fact" in facts.inner_text()
        facts.get_by_role("button", name="why", exact=True).first.click()
        proof = page.locator('[data-part="proof"]')
        soon(lambda: "session that ended at 9" in proof.inner_text())
        page.get_by_label("a fact").fill("reach(_, 1, 2)")  # of the session before
        page.get_by_role("button", name="Why not").click()
        soon(lambda: "edge(1, 2)" in proof.inner_text())
        tab(page, "Stream")
        page.get_by_role("button", name="Advance", exact=True).click()
        soon(lambda: "nothing is left" in told.inner_text())
        assert page.locator('[data-part="slides"] tbody tr').count() == 2


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 420])
def test_it_reads_well_wide_and_narrow_in_light_and_dark(
    tmp_path: Path, open_page: OpenPage, width: int, scheme: str
) -> None:
    with served(tmp_path, REACH, arc="1,2\n2,3\n3,4\n") as studio:
        page = studio.open(open_page(width=width, scheme=scheme))
        run(page)
        soon(lambda: len(cells(page)) == 6)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", paper)[:3])) < 300) == (scheme == "dark")


FARES = """\
// The cheapest way between any two places.
cheapest(A, B, min<F>) :- flight(A, B, F).
cheapest(A, C, min<F>) :- cheapest(A, B, F1),
                          flight(B, C, F2), F = F1 + F2.
"""
FLIGHTS = """\
from,to,fare
Berlin,Vienna,89
Berlin,Lisbon,120
Vienna,Dubai,310
Dubai,Sydney,540
Lisbon,Boston,260
Boston,Tokyo,610
Tokyo,Sydney,380
Vienna,Tokyo,590
"""


@pytest.mark.parametrize(
    ("name", "width", "height", "scheme"),
    [("wide", 1180, 700, "light"), ("narrow", 420, 860, "light"), ("dark", 1180, 700, "dark")],
)
def test_its_pictures(
    tmp_path: Path, open_page: OpenPage, pictures: Path, name: str, width: int, height: int, scheme: str
) -> None:
    with served(tmp_path, FARES, flight=FLIGHTS) as studio:
        page = studio.open(open_page(width=width, height=height, scheme=scheme))
        run(page)
        soon(lambda: len(cells(page)) == 16)
        if name != "wide":
            page.get_by_role("button", name="why row 4").click()
            page.locator('[data-part="proof"] .em-tree').first.wait_for()
        if name == "narrow":
            page.evaluate("scrollTo(0, document.querySelector('.st-main').offsetTop - 320)")
        page.mouse.move(4, 4)
        page.wait_for_timeout(700)
        picture = pictures / f"studio-{name}.png"
        page.screenshot(path=picture)
        assert picture.stat().st_size < 120_000


def test_everything_is_reached_by_keyboard(tmp_path: Path, page: Page) -> None:
    with served(tmp_path, REACH, arc="1,2\n") as studio:
        studio.open(page)
        run(page)
        soon(lambda: len(cells(page)) == 1)
        page.keyboard.press("Escape")  # leaves the editor, in which Tab indents
        reached: list[str] = []
        for _ in range(60):
            page.keyboard.press("Tab")
            reached.append(
                page.evaluate(
                    "document.activeElement.getAttribute('aria-label') || document.activeElement.innerText || ''"
                )
            )
        told = "\n".join(reached)
        for name in ("Answers", "why row 1", "download csv"):
            assert name in told, reached
