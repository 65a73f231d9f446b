"""A real browser for what people see: Debian's chromium, or whichever EMBERLOG_BROWSER names, through Playwright's
client. It reaches nothing but this machine, and a test fails when its page complains."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

OPTIONS = (
    "--no-sandbox",  # which a browser of root, as in a container, does not start with
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1, EXCLUDE [::1]",
)

HERE = ("localhost", "127.0.0.1", "::1")
WITHOUT_HOST = ("file", "data", "blob", "about")


def browser_binary() -> str | None:
    """Returns the browser that EMBERLOG_BROWSER names, or the first one on the path; None where there is none."""
    named = os.environ.get("EMBERLOG_BROWSER")
    return shutil.which(named) if named else next(filter(None, map(shutil.which, NAMES)), None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = why_not()
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)
            if missing:
                item.add_marker(pytest.mark.skip(reason=missing))


def why_not() -> str:
    """Says what is missing for tests in a browser; empty if nothing is."""
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "there is no Playwright: pip install playwright"
    return "" if browser_binary() else "there is no chromium on the path; EMBERLOG_BROWSER=… names another one"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser for the tests of a module. Longer it must not live: while it does, its thread has a running event loop,
    and other tests want their own."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_binary(), args=list(OPTIONS))
        yield browser
        browser.close()


OpenPage = Callable[..., "Page"]


@pytest.fixture
def open_page(browser: Browser) -> Iterator[OpenPage]:
    """Opens pages that are watched: `open_page(width=420, scheme="dark")`. The test fails if one of them says an error
    on its console, or asks for something that is not on this machine."""
    complaints: list[str] = []
    contexts = []

    def guard(route: Route) -> None:
        address = urlsplit(route.request.url)
        if address.scheme in WITHOUT_HOST or address.hostname in HERE:
            route.continue_()
        else:
            complaints.append(f"asked for {route.request.url}")
            route.abort()

    def open_one(*, width: int = 1280, height: int = 900, scheme: str = "light", scripts: bool = True) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if scheme == "dark" else "light",
            java_script_enabled=scripts,
        )
        contexts.append(context)
        context.set_default_timeout(60_000)
        context.route("**/*", guard)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(f"failed: {error}"))
        page.on(
            "console",
            lambda message: complaints.append(f"said: {message.text}") if message.type == "error" else None,
        )
        page.on(
            "websocket",
            lambda socket: (
                None if urlsplit(socket.url).hostname in HERE else complaints.append(f"connected to {socket.url}")
            ),
        )
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def page(open_page: OpenPage) -> Page:
    """One page, wide and light."""
    return open_page()


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """The folder for pictures: docs/pictures with EMBERLOG_PICTURES=1, else one that goes away."""
    if os.environ.get("EMBERLOG_PICTURES") != "1":
        return tmp_path
    folder = Path(__file__).parents[2] / "docs" / "pictures"
    folder.mkdir(exist_ok=True)
    return folder
