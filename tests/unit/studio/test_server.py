"""The studio as a command: what it serves, to whom, and that nothing of it comes from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

NASTY = '<img src=x onerror="document.title=1">'


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    program = tmp_path_factory.mktemp("studio") / "nasty.dl"
    program.write_text(f'a("{NASTY.replace(chr(34), chr(39))}").\n', encoding="utf-8")
    command = [sys.executable, "-m", "emberlog", "studio", str(program), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://\S+", process.stdout.readline())
            assert found is not None
            yield found[0]
        finally:
            process.terminate()


@pytest.fixture
def client(address: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=address.partition("/?")[0]) as made:
        assert made.get(address).status_code == 303
        yield made


def test_it_listens_on_loopback_only(address: str) -> None:
    assert address.startswith("http://127.0.0.1:")


def test_the_page_asks_for_nothing_from_elsewhere(client: httpx.Client) -> None:
    page = client.get("/")
    assert page.status_code == 200
    links = re.findall(r"(?:src|href)=\"([^\"]+)\"|url\(\"([^\"]+)\"\)", page.text)
    assert links
    assert [one for pair in links for one in pair if one.startswith(("http", "//"))] == []
    assert client.get(next(one for pair in links for one in pair if one.endswith("nicegui.js"))).status_code == 200


def test_the_program_never_becomes_html(client: httpx.Client) -> None:
    page = client.get("/").text
    assert "onerror" in page
    assert "<img src=x" not in page


def test_nothing_is_answered_without_the_cookie(client: httpx.Client) -> None:
    base = str(client.base_url).rstrip("/")
    for path in ("/", "/download/program", "/_nicegui_ws/socket.io/?EIO=4&transport=polling", "/favicon.ico"):
        assert httpx.get(base + path).status_code == 403
    assert httpx.post(base + "/_nicegui/client/x/upload/1").status_code == 403


def test_another_page_gets_no_websocket(client: httpx.Client) -> None:
    cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
    base = str(client.base_url).rstrip("/")
    socket = f"{base.replace('http', 'ws', 1)}/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
    with connect(socket, origin=Origin(base), additional_headers={"cookie": cookie}) as opened:
        assert str(opened.recv()).startswith("0{")
    for wrong in ("https://evil.example", base.replace("127.0.0.1", "127.0.0.2")):
        with (
            pytest.raises(InvalidStatus, match="403"),
            connect(socket, origin=Origin(wrong), additional_headers={"cookie": cookie}),
        ):
            pass


def test_the_program_is_downloaded_as_a_file(client: httpx.Client) -> None:
    answer = client.get("/download/program")
    assert answer.headers["content-disposition"] == 'attachment; filename="nasty.dl"'
    assert answer.text.startswith("a(")
    assert client.get("/download/answer?name=a&form=csv").status_code == 404
    assert client.get("/download/proof").status_code == 404


@pytest.mark.parametrize("arguments", [["missing.dl"], ["--port", "1"], ["--port", "65536"], ["--facts", "missing"]])
def test_what_cannot_be_served_is_told(arguments: list[str], tmp_path: Path) -> None:
    if arguments == ["--port", "1"] and os.geteuid() == 0:
        pytest.skip("the superuser may use this port")
    command = [sys.executable, "-m", "emberlog", "studio", "--no-browser", *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert re.match(r"error\[DL(405|533)\]", done.stderr)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from emberlog.__main__ import main
    from emberlog.cli import studio

    monkeypatch.setattr(studio, "find_spec", lambda _name: None)
    assert main(["studio"]) == 1
    told = capsys.readouterr().err
    assert "error[DL530]" in told
    assert "pip install 'emberlog[studio]'" in told
