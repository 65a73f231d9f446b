"""Nobody but the person's own page gets through: not another site, not another name, not without the token."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator

import httpx
import pytest
import uvicorn
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from emberlog.studio.guard import MOST_UPLOADED, Guard, Message, Receive, Scope, Send

PAGE = b"<html><script>own()</script><p>&lt;script&gt;</p></html>"


async def answers(scope: Scope, receive: Receive, send: Send) -> None:
    """An app that says yes to everything."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        await send({"type": "websocket.send", "text": "inside"})
        return
    if scope["type"] == "http":
        headers = [(b"content-type", b"text/html; charset=utf-8"), (b"content-length", b"%d" % len(PAGE))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": PAGE})


@pytest.fixture(scope="module")
def guard() -> Iterator[Guard]:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    made = Guard(answers, listener.getsockname()[1])
    server = uvicorn.Server(uvicorn.Config(made, log_level="error", lifespan="off", ws="websockets-sansio"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield made
    server.should_exit = True
    thread.join()


def headers(guard: Guard, **others: str) -> dict[str, str]:
    own = {"cookie": f"emberlog_studio_{guard.port}={guard.token}", "origin": f"http://127.0.0.1:{guard.port}"}
    return own | {name.replace("_", "-"): value for name, value in others.items()}


def status(guard: Guard, method: str = "GET", path: str = "/", **others: str) -> int:
    given = {name: value for name, value in headers(guard, **others).items() if value}
    return httpx.request(method, f"http://127.0.0.1:{guard.port}{path}", headers=given).status_code


def test_the_address_gives_a_cookie_once_and_takes_the_token_out_of_sight(guard: Guard) -> None:
    answer = httpx.get(guard.address)
    assert answer.status_code == 303
    assert answer.headers["location"] == "/"
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert httpx.get(guard.address, follow_redirects=False).text == ""


def test_the_address_that_a_browser_is_started_with_works_once(guard: Guard) -> None:
    address = guard.single_use_address()
    assert guard.token not in address
    answer = httpx.get(address)
    assert (answer.status_code, guard.token in answer.headers["set-cookie"]) == (303, True)
    assert httpx.get(address).status_code == 403
    assert httpx.get(guard.address).status_code == 303


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "OPTIONS"])
def test_the_own_page_is_let_in(guard: Guard, method: str) -> None:
    assert status(guard, method) == 200


@pytest.mark.parametrize(
    "others",
    [
        {"cookie": ""},
        {"cookie": "emberlog_studio=x"},
        {"host": "evil.example"},
        {"host": "localhost:1"},
        {"host": "127.0.0.1"},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
    ],
    ids=str,
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_others_are_not(guard: Guard, method: str, others: dict[str, str]) -> None:
    assert status(guard, method, **others) == 403


def test_a_wrong_token_is_refused(guard: Guard) -> None:
    assert httpx.get(f"http://127.0.0.1:{guard.port}/?token={guard.token}x").status_code == 403
    assert httpx.get(f"http://127.0.0.1:{guard.port}/?token=").status_code == 403
    assert httpx.get(f"http://127.0.0.1:{guard.port}/other?token={guard.token}").status_code == 403


def test_what_changes_something_says_where_it_comes_from(guard: Guard) -> None:
    assert status(guard, "POST", origin="") == 403
    assert status(guard, "GET", origin="") == 200


def test_a_rebound_name_does_not_even_get_a_cookie(guard: Guard) -> None:
    answer = httpx.get(guard.address, headers={"host": f"evil.example:{guard.port}"})
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_the_websocket_is_guarded_too(guard: Guard) -> None:
    address = f"ws://127.0.0.1:{guard.port}/_nicegui_ws/socket.io/"
    own = headers(guard)
    cookie, origin = own["cookie"], own["origin"]
    with connect(address, origin=Origin(origin), additional_headers={"cookie": cookie}) as socket_:
        assert socket_.recv() == "inside"
    for wrong in ("https://evil.example", "http://127.0.0.1:1", None):
        with (
            pytest.raises(InvalidStatus, match="403"),
            connect(
                address,
                origin=None if wrong is None else Origin(wrong),
                additional_headers={"cookie": cookie},
            ),
        ):
            pass
    with pytest.raises(InvalidStatus, match="403"), connect(address, origin=Origin(origin)):
        pass


def test_a_websocket_to_another_name_is_refused() -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    guard = Guard(answers, 8000, "secret")
    own = [(b"cookie", b"emberlog_studio_8000=secret"), (b"origin", b"http://127.0.0.1:8000")]
    for host, expected in ((b"evil.example:8000", "websocket.close"), (b"127.0.0.1:8000", "websocket.accept")):
        sent.clear()
        scope = {"type": "websocket", "path": "/", "headers": [*own, (b"host", host)]}
        asyncio.run(guard(scope, receive, send))
        assert sent[0]["type"] == expected


def test_a_header_that_is_there_twice_is_not_taken_for_one_of_them(guard: Guard) -> None:
    own = headers(guard)
    twice = [*own.items(), ("origin", "https://evil.example")]
    assert httpx.get(f"http://127.0.0.1:{guard.port}/", headers=twice).status_code == 403


def test_pages_run_only_their_own_scripts(guard: Guard) -> None:
    first, second = (httpx.get(f"http://127.0.0.1:{guard.port}/", headers=headers(guard)) for _ in range(2))
    policy = first.headers["content-security-policy"]
    nonce = policy.split("'nonce-")[1].split("'")[0]
    assert f'<script nonce="{nonce}">own()' in first.text
    assert nonce not in second.text
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "'unsafe-inline'" not in policy.split("script-src")[1].split(";")[0]
    assert first.headers["x-content-type-options"] == "nosniff"


def test_too_large_an_upload_is_told(guard: Guard) -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        raise AssertionError("nothing is read")

    own = [(name.encode(), value.encode()) for name, value in headers(guard).items()]
    host = (b"host", f"127.0.0.1:{guard.port}".encode())
    length = (b"content-length", str(MOST_UPLOADED + 1).encode())
    scope = {"type": "http", "method": "POST", "path": "/", "headers": [*own, host, length]}
    asyncio.run(guard(scope, receive, send))
    assert sent[0]["status"] == 413
    assert f"{MOST_UPLOADED:,}".encode() in sent[1]["body"]
