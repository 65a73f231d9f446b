"""Pages and notebook cards in a real browser: light, dark, narrow, on paper, by keyboard, without scripts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.conftest import OpenPage
from tests.browser.eyes import hard_to_read, overlaps, sticks_out
from tests.browser.made import HOSTILE, PAGES, written

if TYPE_CHECKING:
    from playwright.sync_api import Page

every_page = pytest.mark.parametrize("name", PAGES)


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("pages")
    return {name: written(name, folder) for name in PAGES}


def open_everything(page: Page) -> None:
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")


@every_page
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 420])
def test_everything_can_be_read(
    open_page: OpenPage, addresses: dict[str, str], name: str, scheme: str, width: int
) -> None:
    page = open_page(width=width, scheme=scheme)
    page.goto(addresses[name])
    open_everything(page)
    assert sticks_out(page) == 0
    assert overlaps(page) == []
    if name != "notebook" or scheme == "light":  # around its cards, that page is always white
        assert hard_to_read(page) == []


def test_these_eyes_see(page: Page) -> None:
    page.set_content(
        "<p style='color: #999; background: #fff'>pale</p><p>plain</p><p style='margin-top: -1.4em'>on it</p>"
        "<div style='width: 3000px'>wide</div>"
    )
    assert hard_to_read(page) == ["pale: 2.85"]
    assert overlaps(page) == ["plain | on it"]
    assert sticks_out(page) > 1000


@every_page
def test_texts_that_look_like_html_are_texts(page: Page, addresses: dict[str, str], name: str) -> None:
    page.goto(addresses[name])
    open_everything(page)
    assert page.evaluate("window.broken") is None
    assert page.locator("img").count() == 0
    if name not in ("profile", "refutation"):
        assert HOSTILE.partition("<img")[0] in page.locator("body").inner_text()


@every_page
def test_a_page_asks_for_nothing(page: Page, addresses: dict[str, str], name: str) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(addresses[name])
    assert asked == [addresses[name]]


@every_page
def test_it_folds_without_scripts(open_page: OpenPage, addresses: dict[str, str], name: str) -> None:
    page = open_page(scripts=False)
    page.goto(addresses[name])
    summary = page.locator("summary").first
    below = page.locator("details").first.locator(":scope > :not(summary)").first
    assert summary.count() == 1
    was_open = below.is_visible()
    summary.click()
    assert below.is_visible() is not was_open


def test_it_works_by_keyboard(page: Page, addresses: dict[str, str]) -> None:
    page.goto(addresses["explanation"])
    reached = []
    for _ in range(60):
        page.keyboard.press("Tab")
        tag, outline, name = page.evaluate(
            "[document.activeElement.tagName, getComputedStyle(document.activeElement).outlineStyle,"
            " document.activeElement.innerText ?? '']"
        )
        if tag == "BODY":
            break
        assert outline == "solid", name  # one sees where one is
        reached.append(tag)
        if name.strip() == "as pictures":
            page.keyboard.press("Enter")
            assert page.locator("details:has(> summary:text-is('as pictures')) svg").first.is_visible()
    assert {"A", "BUTTON", "SUMMARY", "PRE", "FIGURE"} <= set(reached)


def test_on_paper_everything_is_open_and_light(open_page: OpenPage, addresses: dict[str, str]) -> None:
    page = open_page(scheme="dark")
    page.goto(addresses["profile"])
    inside = page.locator("details:not([open]) table").first
    assert not inside.is_visible()
    page.emulate_media(media="print")
    assert inside.evaluate("one => one.checkVisibility() && one.getBoundingClientRect().height > 20")
    assert page.locator("button").first.is_hidden()
    assert hard_to_read(page) == []
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(29, 36, 44)"


@pytest.mark.parametrize(
    ("around", "paper"),
    [
        ('<body data-theme="dark">', "dark"),
        ('<body data-theme="light">', "light"),
        ('<body data-jp-theme-light="false">', "dark"),
        ('<body data-jp-theme-light="true">', "light"),
        ('<body class="vscode-dark">', "dark"),
        ('<body class="vscode-light">', "light"),
        ('<body class="body--dark">', "dark"),
    ],
)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_is_around_says_whether_it_is_dark(
    open_page: OpenPage, addresses: dict[str, str], around: str, paper: str, scheme: str
) -> None:
    page = open_page(scheme=scheme)
    text = Path(addresses["notebook"].removeprefix("file://")).read_text(encoding="utf-8")
    page.set_content(text.replace("<body>", around))
    colours = {"light": "rgb(255, 255, 255)", "dark": "rgb(26, 30, 35)"}
    assert page.locator(".em-card").first.evaluate("one => getComputedStyle(one).backgroundColor") == colours[paper]
    code = page.locator(".em-title code").first
    assert code.evaluate("one => getComputedStyle(one).backgroundColor") == "rgba(0, 0, 0, 0)"


def test_the_button_turns_light_into_dark_and_back(open_page: OpenPage, addresses: dict[str, str]) -> None:
    page = open_page(scheme="dark")
    page.goto(addresses["proof"])
    seen = [page.evaluate("getComputedStyle(document.body).backgroundColor")]
    for _ in range(2):
        page.get_by_role("button", name="light or dark").click()
        seen.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert seen == ["rgb(20, 23, 27)", "rgb(251, 251, 250)", "rgb(20, 23, 27)"]


def test_a_proof_opens_and_closes(page: Page, addresses: dict[str, str]) -> None:
    page.goto(addresses["proof"])
    rows = page.locator(".em-tree li")
    assert rows.first.is_visible()
    page.get_by_role("button", name="close all").click()
    assert page.locator(".em-tree").first.locator("li:visible").count() == 1
    page.get_by_role("button", name="open all").click()
    assert all(one.is_visible() for one in rows.all())
    page.get_by_role("button", name="close all").click()
    onward = page.locator("a:text-is('continued below')").first
    page.goto(f"{addresses['proof']}{onward.get_attribute('href')}")
    assert page.locator(onward.get_attribute("href") or "").is_visible()


def test_a_link_opens_what_it_leads_to(page: Page, addresses: dict[str, str]) -> None:
    page.goto(addresses["refutation"])
    again = page.locator("a:text-is('as above')").first
    target = page.locator(again.get_attribute("href") or "")
    page.get_by_role("button", name="close all").click()
    assert not target.is_visible()
    page.goto(f"{addresses['refutation']}{again.get_attribute('href')}")
    assert target.is_visible()


def test_pointing_at_a_rule_marks_what_comes_from_it(page: Page, addresses: dict[str, str]) -> None:
    page.goto(addresses["explanation"])
    page.locator('.em-listing tr[data-rule="r2"]').first.hover()
    marked = page.locator(".em-marked")
    assert marked.count() >= 3
    assert set(marked.evaluate_all("all => all.map(one => one.dataset.rule.split('.')[0])")) == {"r2"}


def test_bars_stand_beside_their_labels_where_there_is_room(open_page: OpenPage, addresses: dict[str, str]) -> None:
    def places(width: int) -> tuple[float, float]:
        page = open_page(width=width)
        page.goto(addresses["profile"])
        first = page.locator(".em-bars > li").first
        boxes = [first.locator(kind).bounding_box() for kind in (".em-label", ".em-track")]
        assert boxes[0] and boxes[1]
        return boxes[1]["y"] - boxes[0]["y"], boxes[1]["width"]

    beside, below = places(1280), places(420)
    assert abs(beside[0]) < 10 < below[0]
    assert below[1] > 300  # a bar takes the width there is
