"""Holds an open program as its editor has it, and turns places of its text into those of the protocol and back."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from lsprotocol import types as lsp
from pygls.uris import to_fs_path

from emberlog.editor.edits import Edit
from emberlog.editor.positions import Positions
from emberlog.editor.symbols import Symbol
from emberlog.editor.view import ProgramView
from emberlog.source import Source, Span


class Document:
    """One open program: its text as the editor has it, and what is known of it."""

    def __init__(self, uri: str, version: int, text: str, encoding: str) -> None:
        self.uri = uri
        self.encoding = encoding
        path = to_fs_path(uri)
        self.path = Path(path) if path and uri.startswith("file:") else None
        self.take(version, text)

    def take(self, version: int, text: str) -> None:
        self.version = version
        self.positions = Positions(text, self.encoding)
        self.view = ProgramView(Source(str(self.path or self.uri), text))

    def change(self, version: int, changes: Iterable[lsp.TextDocumentContentChangeEvent]) -> None:
        text, positions = self.view.text, self.positions
        for change in changes:
            if isinstance(change, lsp.TextDocumentContentChangePartial):
                start, end = self._offsets(positions, change.range)
                text = text[:start] + change.text + text[max(start, end) :]
            else:
                text = change.text
            positions = Positions(text, self.encoding)
        self.take(version, text)

    @staticmethod
    def _offsets(positions: Positions, range_: lsp.Range) -> tuple[int, int]:
        start, end = range_.start, range_.end
        return positions.offset(start.line, start.character), positions.offset(end.line, end.character)

    def offset(self, position: lsp.Position) -> int:
        return self.positions.offset(position.line, position.character)

    def range(self, span: Span) -> lsp.Range:
        return self.range_of(span.start, span.end)

    def range_of(self, start: int, end: int) -> lsp.Range:
        return lsp.Range(
            lsp.Position(*self.positions.position(start)), lsp.Position(*self.positions.position(max(start, end)))
        )

    def location(self, symbol: Symbol) -> lsp.Location:
        return lsp.Location(self.uri, self.range(symbol.span))

    def symbol_at(self, position: lsp.Position) -> Symbol | None:
        return self.view.at(self.offset(position))

    def edits(self, edits: Iterable[Edit]) -> list[lsp.TextEdit]:
        return [lsp.TextEdit(self.range_of(one.start, one.end), one.text) for one in edits]
