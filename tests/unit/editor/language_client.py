"""Drives `python -m emberlog lsp` over standard input and output, as an editor does, with pygls' own client."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable
from pathlib import Path
from typing import TypeVar

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

T = TypeVar("T")

SOURCES = Path(__file__).parents[3] / "src"
PATIENCE = 60.0


def units(text: str) -> int:
    """Counts as the protocol does, in UTF-16."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


class Editor:
    """One editor with one server. Its documents are known by their address."""

    def __init__(self, folder: Path, encodings: list[lsp.PositionEncodingKind | str] | None = None) -> None:
        self.folder = folder
        self.loop = asyncio.new_event_loop()
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.published: list[lsp.PublishDiagnosticsParams] = []
        self.messages: list[str] = []
        self.client = LanguageClient("a test", "1")
        self.client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(lambda params: self.published.append(params))
        self.client.feature(lsp.WINDOW_SHOW_MESSAGE)(lambda params: self.messages.append(params.message))
        self.encodings = encodings
        self.answer = self.ask(self._start())

    async def _start(self) -> lsp.InitializeResult:
        environment = {**os.environ, "PYTHONPATH": str(SOURCES), "XDG_CACHE_HOME": str(self.folder / "cache")}
        await self.client.start_io(sys.executable, "-m", "emberlog", "lsp", "--stdio", env=environment)
        completion = lsp.CompletionClientCapabilities(
            completion_item=lsp.ClientCompletionItemOptions(snippet_support=True)
        )
        capabilities = lsp.ClientCapabilities(
            text_document=lsp.TextDocumentClientCapabilities(completion=completion),
            general=lsp.GeneralClientCapabilities(position_encodings=self.encodings),
        )
        answer = await self.client.initialize_async(lsp.InitializeParams(capabilities=capabilities))
        self.client.initialized(lsp.InitializedParams())
        return answer

    def ask(self, question: Awaitable[T]) -> T:
        return self.loop.run_until_complete(asyncio.wait_for(question, PATIENCE))

    def close(self) -> int | None:
        """Says goodbye; returns the exit code of the server."""
        server = self.process
        self.ask(self.client.shutdown_async(None))
        self.client.exit(None)
        self.ask(server.wait())
        self.ask(self.client.stop())  # type: ignore[no-untyped-call]
        self.loop.close()
        return server.returncode

    @property
    def process(self) -> asyncio.subprocess.Process:
        assert self.client._server is not None
        return self.client._server

    # --- documents ----------------------------------------------------------------------------------------------------

    def open(self, text: str, name: str = "") -> str:
        """Opens a program under a name of its own: what is told of it is of no other."""
        uri = (self.folder / (name or f"program{len(self.texts)}.dl")).as_uri()
        self.texts[uri], self.versions[uri] = text, 1
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, "datalog", 1, text)))
        return uri

    def type(self, uri: str, old: str, new: str) -> None:
        """Replaces the first `old` by `new`, and tells the server only that."""
        text = self.texts[uri]
        start = text.index(old)
        change = lsp.TextDocumentContentChangePartial(self.range(uri, start, start + len(old)), new)
        self.texts[uri] = text[:start] + new + text[start + len(old) :]
        self.versions[uri] += 1
        self.client.text_document_did_change(
            lsp.DidChangeTextDocumentParams(
                lsp.VersionedTextDocumentIdentifier(uri=uri, version=self.versions[uri]), [change]
            )
        )

    def diagnostics(self, uri: str) -> list[lsp.Diagnostic]:
        """Waits for what is wrong with the text as it is now."""

        async def wait() -> list[lsp.Diagnostic]:
            while True:
                for params in self.published:
                    if params.uri == uri and params.version == self.versions[uri]:
                        return list(params.diagnostics)
                await asyncio.sleep(0.005)

        return self.ask(wait())

    # --- places -------------------------------------------------------------------------------------------------------

    def position(self, uri: str, offset: int) -> lsp.Position:
        before = self.texts[uri][:offset].split("\n")
        return lsp.Position(len(before) - 1, units(before[-1]))

    def range(self, uri: str, start: int, end: int) -> lsp.Range:
        return lsp.Range(self.position(uri, start), self.position(uri, end))

    def place(self, uri: str, needle: str, ahead: int = 0) -> lsp.Position:
        """Returns the place of the first `needle`, some characters ahead of its beginning."""
        return self.position(uri, self.texts[uri].index(needle) + ahead)

    def covered(self, uri: str, range_: lsp.Range) -> str:
        """Returns the text in a range."""
        return self.texts[uri][self._offset(uri, range_.start) : self._offset(uri, range_.end)]

    def _offset(self, uri: str, position: lsp.Position) -> int:
        lines = self.texts[uri].split("\n")
        line = lines[position.line]
        character = next(i for i in range(len(line) + 1) if units(line[:i]) == position.character)
        return sum(len(one) + 1 for one in lines[: position.line]) + character

    def edited(self, uri: str, edits: list[lsp.TextEdit]) -> str:
        """Returns the text with the edits made."""
        text = self.texts[uri]
        places = [(self._offset(uri, one.range.start), self._offset(uri, one.range.end), one.new_text) for one in edits]
        for start, end, new in sorted(places, reverse=True):
            text = text[:start] + new + text[end:]
        return text

    def changed(self, uri: str, edit: lsp.WorkspaceEdit | None) -> str:
        """Returns the text with the changes of the workspace made, which are to be for this text and version."""
        assert edit is not None and edit.document_changes is not None
        (document,) = edit.document_changes
        assert isinstance(document, lsp.TextDocumentEdit)
        assert (document.text_document.uri, document.text_document.version) == (uri, self.versions[uri])
        edits = [one for one in document.edits if isinstance(one, lsp.TextEdit)]
        assert len(edits) == len(document.edits)
        return self.edited(uri, edits)
