"""Lets nobody but the person who started the studio reach it: no other page, no other host name, no other machine.

The server listens on the loopback address. That alone does not keep out the pages of other sites, which a browser on
this machine shows, too: they may send requests to any address, and a name of theirs may lead to the loopback address.
So every request and every websocket has to name this very server (`Host`), must not come from another page (`Origin`,
`Sec-Fetch-Site`), and carries the cookie that only the printed address gives.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any, TypeAlias
from urllib.parse import parse_qs

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK = "127.0.0.1"
MOST_UPLOADED = 2 * 1024**3
"""Bytes of one upload."""

_SAFE = ("GET", "HEAD")
_REFUSED = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Emberlog studio</title></head>
<body><h1>This address needs its token</h1>
<p>Open the address that <code>emberlog studio</code> printed when it started.</p></body></html>
"""


class Guard:
    """Wraps the server, and hands on only what the person's own page asks for."""

    def __init__(self, app: App, port: int, token: str | None = None) -> None:
        self._app = app
        self.port = port
        self.token = secrets.token_urlsafe(32) if token is None else token
        self._single_use: set[str] = set()
        self._hosts = {f"{name}:{port}" for name in (LOOPBACK, "localhost")}
        self._origins = {f"http://{host}" for host in self._hosts}
        self._cookie = f"emberlog_studio_{port}"  # cookies know no ports, and there may be two studios

    @property
    def address(self) -> str:
        """Returns the address to open, with the token."""
        return self._address(self.token)

    def single_use_address(self) -> str:
        """Returns an address that works once, for the command that opens a browser: whoever uses this machine can read
        the arguments of its processes."""
        token = secrets.token_urlsafe(32)
        self._single_use.add(token)
        return self._address(token)

    def _address(self, token: str) -> str:
        return f"http://{LOOPBACK}:{self.port}/?token={token}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        match scope["type"]:
            case "http":
                await self._http(scope, receive, send)
            case "websocket":
                await self._websocket(scope, receive, send)
            case _:
                await self._app(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = _headers(scope)
        if not self._is_from_here(headers, needs_origin=scope["method"] not in _SAFE):
            await _answer(send, 403, "another site or another name asks: refused")
        elif self._admits(_token(scope)):
            cookie = f"{self._cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict"
            await _answer(send, 303, "", [(b"location", b"/"), (b"set-cookie", cookie.encode())])
        elif not self._knows(self._cookie_of(headers)):
            await _answer(send, 403, _REFUSED, kind="text/html")
        elif _length(headers) > MOST_UPLOADED:
            await _answer(send, 413, f"at most {MOST_UPLOADED:,} bytes can be uploaded; --facts reads larger files")
        else:
            nonce = secrets.token_urlsafe(16)
            await self._app(scope, receive, _Shielded(send, nonce))

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = _headers(scope)
        if self._is_from_here(headers, needs_origin=True) and self._knows(self._cookie_of(headers)):
            await self._app(scope, receive, send)
            return
        await receive()  # the request to connect
        await send({"type": "websocket.close", "code": 1008})

    def _is_from_here(self, headers: dict[str, str], *, needs_origin: bool) -> bool:
        """Tells whether a request names this server, and comes from its own page or from the person: the line of
        addresses, or another program."""
        if headers.get("host", "") not in self._hosts:
            return False
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return False
        origin = headers.get("origin")
        return origin in self._origins if origin is not None else not needs_origin

    def _admits(self, given: str | None) -> bool:
        """Tells whether a token of an address is right. One for a single use is gone then; a set finds it by its hash,
        whose time tells nobody how much of a guess is right."""
        if given in self._single_use:
            self._single_use.discard(given)
            return True
        return self._knows(given)

    def _knows(self, given: str | None) -> bool:
        return given is not None and hmac.compare_digest(given.encode(), self.token.encode())

    def _cookie_of(self, headers: dict[str, str]) -> str | None:
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            return None
        return None if found is None else found.value


class _Shielded:
    """Adds to every answer what keeps foreign code out of it. Pages of NiceGUI have scripts of their own in them, which
    get a number that nobody else knows; so what a browser takes for a script in a text of the person does not run."""

    def __init__(self, send: Send, nonce: str) -> None:
        self._send = send
        self._nonce = nonce
        self._start: Message | None = None
        self._body = b""

    async def __call__(self, message: Message) -> None:
        match message["type"]:
            case "http.response.start":
                headers = [*message.get("headers", ()), *self._policy()]
                message = {**message, "headers": headers}
                is_page = (b"content-type", b"text/html") in ((name.lower(), value[:9]) for name, value in headers)
                if is_page:
                    self._start = message
                    return
                await self._send(message)
            case "http.response.body" if self._start is not None:
                self._body += message.get("body", b"")
                if message.get("more_body"):
                    return
                body = self._body.replace(b"<script", f'<script nonce="{self._nonce}"'.encode())
                kept = [(name, value) for name, value in self._start["headers"] if name.lower() != b"content-length"]
                length = (b"content-length", str(len(body)).encode())
                await self._send({**self._start, "headers": [*kept, length]})
                await self._send({"type": "http.response.body", "body": body})
            case _:
                await self._send(message)

    def _policy(self) -> Iterable[tuple[bytes, bytes]]:
        yield b"content-security-policy", _POLICY.replace("NONCE", self._nonce).encode()
        yield b"x-content-type-options", b"nosniff"
        yield b"referrer-policy", b"no-referrer"
        yield b"cross-origin-opener-policy", b"same-origin"
        yield b"cross-origin-resource-policy", b"same-origin"


# NiceGUI makes functions of text on its page, which is why there is unsafe-eval, and its widgets set styles.
_POLICY = (
    "default-src 'none'; script-src 'self' 'nonce-NONCE' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self'; connect-src 'self'; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)


def _headers(scope: Scope) -> dict[str, str]:
    """Returns the headers of a request. One that is there twice is what somebody tries, and counts as another value."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        separator = "; " if key == "cookie" else ", "
        found[key] = f"{found[key]}{separator}{text}" if key in found else text
    return found


def _token(scope: Scope) -> str | None:
    if scope["path"] != "/" or scope["method"] != "GET":
        return None
    given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token")
    return given[0] if given else None


def _length(headers: dict[str, str]) -> int:
    text = headers.get("content-length", "0")
    return int(text) if text.isdecimal() else 0


async def _answer(
    send: Send, status: int, text: str, headers: Iterable[tuple[bytes, bytes]] = (), kind: str = "text/plain"
) -> None:
    body = text.encode()
    told = [
        (b"content-type", f"{kind}; charset=utf-8".encode()),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"no-referrer"),
        *headers,
    ]
    await send({"type": "http.response.start", "status": status, "headers": told})
    await send({"type": "http.response.body", "body": body})
