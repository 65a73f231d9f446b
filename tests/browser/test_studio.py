"""The studio in a real browser, in short: a mistake and its mending, a proof, and who is kept out. The task `browser`
runs the rest."""

from __future__ import annotations

import re
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

from tests.browser.conftest import OpenPage
from tests.browser.studios import REACH, cells, run, served, soon, status, visible, write

if TYPE_CHECKING:
    from playwright.sync_api import Page


def test_an_error_is_told_while_one_types_and_goes_when_it_is_mended(tmp_path: Path, page: Page) -> None:
    with served(tmp_path, "a(1).\nb(X) :- a(X).\n") as studio:
        studio.open(page)
        write(page, "a(1).\nb(X, Total) :- a(X), Totl > 0.\n")
        problem = page.locator('[data-part="problem"]').first
        problem.wait_for()
        assert "error DL" in problem.inner_text()
        assert "line 2" in problem.inner_text()
        assert page.locator(".cm-content .st-error").count() >= 1
        problem.click()
        # The server answers the click, so the editor has the focus a moment later.
        soon(lambda: page.evaluate("document.activeElement.classList.contains('cm-content')"))
        soon(lambda: page.locator(".cm-activeLine").inner_text().startswith("b(X, Total)"))
        write(page, "a(1).\nb(X, Total) :- a(X), Total = 2 * X.\n")
        visible(page, "no problems")
        assert page.locator(".cm-content .st-error").count() == 0
        run(page)
        status(page, "done in")
        soon(lambda: cells(page) == [["1", "2"]])


def test_a_click_on_a_fact_is_a_proof_and_a_missing_one_is_explained(tmp_path: Path, page: Page) -> None:
    with served(tmp_path, REACH, arc="1,2\n2,3\n3,4\n") as studio:
        studio.open(page)
        run(page)
        soon(lambda: len(cells(page)) == 6)
        page.locator("tbody tr", has_text=re.compile(r"1\s*4")).first.click()
        proof = page.locator('[data-part="proof"]')
        proof.locator(".em-tree").first.wait_for()
        assert "arc(3, 4)" in proof.inner_text()
        with page.expect_download() as download:
            page.get_by_text("download this as a page").click()
        assert "arc(3, 4)" in Path(download.value.path()).read_text()
        page.get_by_label("a fact").fill("reach(4, 1)")
        page.get_by_role("button", name="Why not").click()
        soon(lambda: "reach(4, 1)" in proof.inner_text())
        page.get_by_label("a fact").fill("nonsense(")
        page.get_by_role("button", name="Why", exact=True).click()
        soon(lambda: "DL441" in proof.inner_text())


def test_another_site_can_neither_call_nor_show_the_studio(tmp_path: Path, open_page: OpenPage) -> None:
    """A page of another port is of another origin, but of the same site: its requests bring the cookie."""
    with served(tmp_path, "a(1).\n") as studio:
        page = open_page()
        studio.open(page)

        class Evil(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("content-type", "text/html")
                self.end_headers()
                self.wfile.write(b"<!DOCTYPE html><title>other</title>")

            def log_message(self, *_: object) -> None:
                return

        server = HTTPServer(("127.0.0.1", 0), Evil)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        other = page.context.new_page()
        other.goto(f"http://127.0.0.1:{server.server_port}/")
        ask = """async ([address, mode]) => {
            try { const answer = await fetch(address, {mode, credentials: "include"}); return await answer.text(); }
            catch (error) { return "refused"; }
        }"""
        assert other.evaluate(ask, [f"{studio.base}/download/program", "cors"]) == "refused"
        assert other.evaluate(ask, [f"{studio.base}/download/program", "no-cors"]) == ""
        socket = """address => new Promise(resolve => {
            const one = new WebSocket(address);
            one.onopen = () => resolve("open"); one.onerror = () => resolve("refused");
        })"""
        path = "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
        assert other.evaluate(socket, studio.base.replace("http", "ws", 1) + path) == "refused"
        assert page.evaluate(socket, studio.base.replace("http", "ws", 1) + path) == "open"
        frame = """address => new Promise(resolve => {
            const one = document.createElement("iframe"); one.src = address;
            one.onload = () => resolve(one.contentDocument === null ? "closed" : one.contentDocument.title);
            document.body.append(one);
        })"""
        assert other.evaluate(frame, studio.base) == "closed"
        assert "reach" not in other.content()
        other.close()
        server.shutdown()
        server.server_close()
