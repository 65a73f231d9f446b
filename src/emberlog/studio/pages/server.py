"""Serves the page of the studio, and the files that a person downloads from it."""

from __future__ import annotations

import os
import socket
import tempfile
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

# NiceGUI looks for a folder to keep things in when it is imported. The studio keeps nothing there.
os.environ.setdefault("NICEGUI_STORAGE_PATH", os.path.join(tempfile.gettempdir(), "emberlog-studio-nothing"))

import uvicorn
from fastapi import FastAPI, HTTPException
from fastapi.responses import FileResponse, HTMLResponse, PlainTextResponse, Response
from nicegui import Client, ui
from starlette.background import BackgroundTask

from emberlog.diagnostics import EmberlogError, fail
from emberlog.studio.guard import LOOPBACK, Guard
from emberlog.studio.pages.studio import Studio
from emberlog.studio.session import Session

_FORMS = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}


def serve(session: Session, port: int, tell: Callable[[str], None], *, opens_browser: bool) -> None:
    """Serves a session until somebody interrupts it. `tell` hears the address with its token."""
    listener = _listener(port)
    app = application(session)
    guard = Guard(app, listener.getsockname()[1])
    config = uvicorn.Config(
        guard,
        log_level="error",
        access_log=False,
        ws_max_size=16 * 1024**2,
        ws_per_message_deflate=False,  # it takes longer than the way within this machine
        timeout_graceful_shutdown=1,
    )
    config.loaded_app = guard
    tell(guard.address)
    if opens_browser:
        threading.Timer(0.5, webbrowser.open, (guard.single_use_address(),)).start()
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listener])


def application(session: Session) -> FastAPI:
    """Returns the server without its guard."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)

    @app.get("/download/program")
    def program() -> Response:
        return PlainTextResponse(session.text, headers=_attachment(session.name))

    @app.get("/download/answer")
    def answer(name: str, form: str) -> Response:
        if form not in _FORMS or name not in session.outputs:
            raise HTTPException(404, "there is no such answer")
        try:
            path = session.export(name, form)
        except EmberlogError as error:
            raise HTTPException(400, error.diagnostics[0].message) from None
        gone = BackgroundTask(path.unlink)
        return FileResponse(path, media_type=_FORMS[form], headers=_attachment(f"{name}.{form}"), background=gone)

    @app.get("/download/proof")
    def proof() -> Response:
        if session.proof is None:
            raise HTTPException(404, "there is no proof")
        return HTMLResponse(session.proof.to_html(), headers=_attachment("proof.html"))

    @ui.page("/")
    async def page(client: Client) -> None:
        shown = Studio(session)
        await client.connected()
        await shown.begin()

    ui.run_with(
        app,
        title="Emberlog studio",
        tailwind=False,
        dark=None,
        favicon="🔥",
        show_welcome_message=False,
        gzip_middleware_factory=None,  # the guard looks into pages, and nothing goes far
    )
    return app


def _attachment(name: str) -> dict[str, str]:
    plain = "".join(one if one.isascii() and (one.isalnum() or one in "._-") else "_" for one in Path(name).name)
    return {"Content-Disposition": f'attachment; filename="{plain}"', "Cache-Control": "no-store"}


def _listener(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port))
        listener.listen()
    except OverflowError:
        raise fail("DL533", f"{port:,} is no port", None, "they go up to 65,535; without one, any is taken") from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise fail("DL533", f"port {port:,} cannot be used: {reason}", None, "take another one, or none") from None
    return listener
