"""The language server: answers of this folder in the words of the Language Server Protocol, by pygls."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import re
import sys
from collections.abc import Callable, Mapping
from operator import attrgetter
from pathlib import Path
from typing import IO, BinaryIO, cast

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer

from emberlog import __version__
from emberlog.diagnostics import Diagnostic, EmberlogError, Severity
from emberlog.editor.completion import proposals
from emberlog.editor.data_files import rows_text
from emberlog.editor.document import Document
from emberlog.editor.edits import RENAMED, actions, formatted, renamed
from emberlog.editor.hover import hover_text
from emberlog.editor.messages import (
    DEFINITION,
    LEGEND,
    LIBRARY,
    completion_item,
    outline,
    packed_words,
    parameter_range,
)
from emberlog.editor.symbols import Symbol, SymbolKind

DELAY = 0.01
"""Seconds after a key before a program is checked: keys that follow at once are waited for."""

FactFiles = Callable[[Path], Mapping[str, Path]]
"""Gives the files with the facts of a program, by relation."""

Explanations = Callable[[], Mapping[str, str]]
"""Gives the address where each code of a diagnostic is explained."""


class EmberlogServer(LanguageServer):
    """Answers an editor; all programs that are open are in `documents`."""

    def __init__(self, fact_files: FactFiles, explanations: Explanations) -> None:
        super().__init__("emberlog", __version__, text_document_sync_kind=lsp.TextDocumentSyncKind.Incremental)
        self.documents: dict[str, Document] = {}
        self.fact_files = fact_files
        self.explanations = explanations
        self._checks: dict[str, asyncio.Task[None]] = {}
        self._due: dict[str, float] = {}
        """When a program is checked, by the clock of the loop."""
        self._addresses: Mapping[str, str] | None = None

    # --- documents ----------------------------------------------------------------------------------------------------

    def document(self, uri: str) -> Document:
        try:
            return self.documents[uri]
        except KeyError:
            raise JsonRpcInvalidParams(f"{uri} is not open") from None

    def open(self, item: lsp.TextDocumentItem) -> None:
        self.documents[item.uri] = Document(item.uri, item.version, item.text, self._encoding_name())
        self.check_soon(item.uri, 0.0)

    def _encoding_name(self) -> str:
        found = self.server_capabilities.position_encoding
        return found.value if isinstance(found, lsp.PositionEncodingKind) else str(found or "utf-16")

    def close(self, uri: str) -> None:
        if self.documents.pop(uri, None) is not None:
            self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))

    # --- checking -----------------------------------------------------------------------------------------------------

    def check_soon(self, uri: str, delay: float) -> None:
        """Checks a program after a delay, unless it is changed again before."""
        loop = asyncio.get_running_loop()
        self._due[uri] = loop.time() + delay
        running = self._checks.get(uri)
        if running is None or running.done():
            self._checks[uri] = loop.create_task(self._check(uri))

    async def _check(self, uri: str) -> None:
        """Checks a program until what was told is of its last version: one check at a time, none of what is outdated
        already."""
        loop = asyncio.get_running_loop()
        told: tuple[Document, int] | None = None
        while (document := self.documents.get(uri)) is not None and told != (document, document.version):
            if (wait := self._due[uri] - loop.time()) > 0:
                await asyncio.sleep(wait)
                continue
            version, view = document.version, document.view
            try:
                found = await loop.run_in_executor(None, attrgetter("diagnostics"), view)
            except Exception as error:  # a mistake of ours: the next text may be checked all the same
                message = f"{document.view.source.name} could not be checked: {error!r}"
                self.window_log_message(lsp.LogMessageParams(lsp.MessageType.Error, message))
                found = ()
            if self.documents.get(uri) is document and document.version == version:
                shown = [self._diagnostic(document, one) for one in found]
                self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, shown, version))
                told = document, version

    def _diagnostic(self, document: Document, found: Diagnostic) -> lsp.Diagnostic:
        hints = [note.text for note in found.notes if note.span is None]
        places = [note for note in found.notes if note.span is not None]
        related = [
            lsp.DiagnosticRelatedInformation(lsp.Location(document.uri, document.range(note.span)), note.text)
            for note in places
            if note.span is not None
        ]
        is_error = found.severity is Severity.ERROR
        return lsp.Diagnostic(
            range=document.range(found.span) if found.span else document.range_of(0, 0),
            message="\n".join([found.message, *hints]),
            severity=lsp.DiagnosticSeverity.Error if is_error else lsp.DiagnosticSeverity.Warning,
            code=found.code,
            code_description=self._link(found.code),
            source="emberlog",
            related_information=related or None,
            tags=[lsp.DiagnosticTag.Unnecessary] if found.code == "DL290" else None,
        )

    def _link(self, code: str) -> lsp.CodeDescription | None:
        """Returns where the code is explained."""
        if self._addresses is None:
            self._addresses = self.explanations()
        address = self._addresses.get(code)
        return lsp.CodeDescription(address) if address else None

    # --- what is known of a program -----------------------------------------------------------------------------------

    def rows(self, document: Document, symbol: Symbol) -> str | None:
        """Says how many rows the data of a relation has, if it lies beside the program."""
        if symbol.kind is not SymbolKind.RELATION or document.path is None:
            return None
        try:
            file = self.fact_files(document.path).get(symbol.name)
        except EmberlogError:
            return None
        return rows_text(file, document.path.parent) if file is not None else None


def make_server(fact_files: FactFiles, explanations: Explanations) -> EmberlogServer:
    """Returns a server with all its features."""
    server = EmberlogServer(fact_files, explanations)

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: lsp.DidOpenTextDocumentParams) -> None:
        server.open(params.text_document)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: lsp.DidChangeTextDocumentParams) -> None:
        document = server.documents.get(params.text_document.uri)
        if document is not None:
            document.change(params.text_document.version, params.content_changes)
            server.check_soon(document.uri, DELAY)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: lsp.DidCloseTextDocumentParams) -> None:
        server.close(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hover(params: lsp.HoverParams) -> lsp.Hover | None:
        document = server.document(params.text_document.uri)
        symbol = document.symbol_at(params.position)
        if symbol is None:
            return None
        text = hover_text(document.view, symbol, server.rows(document, symbol))
        if text is None:
            return None
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, text), document.range(symbol.span))

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def definition(params: lsp.DefinitionParams) -> list[lsp.Location]:
        document = server.document(params.text_document.uri)
        symbol = document.symbol_at(params.position)
        return [document.location(one) for one in document.view.definitions(symbol)] if symbol else []

    @server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
    def references(params: lsp.ReferenceParams) -> list[lsp.Location]:
        document = server.document(params.text_document.uri)
        symbol = document.symbol_at(params.position)
        if symbol is None:
            return []
        found = document.view.occurrences(symbol)
        if not params.context.include_declaration:
            left_out = document.view.definitions(symbol)
            found = [one for one in found if one not in left_out]
        return [document.location(one) for one in found]

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
    def highlight(params: lsp.DocumentHighlightParams) -> list[lsp.DocumentHighlight]:
        document = server.document(params.text_document.uri)
        symbol = document.symbol_at(params.position)
        kinds = {True: lsp.DocumentHighlightKind.Write, False: lsp.DocumentHighlightKind.Read}
        found = document.view.occurrences(symbol) if symbol else []
        return [lsp.DocumentHighlight(document.range(one.span), kinds[one.is_definition]) for one in found]

    @server.feature(lsp.TEXT_DOCUMENT_PREPARE_RENAME)
    def prepare_rename(params: lsp.PrepareRenameParams) -> lsp.PrepareRenamePlaceholder | None:
        document = server.document(params.text_document.uri)
        symbol = document.symbol_at(params.position)
        if symbol is None or symbol.kind not in RENAMED:
            return None
        return lsp.PrepareRenamePlaceholder(document.range(symbol.span), symbol.span.text)

    @server.feature(lsp.TEXT_DOCUMENT_RENAME, lsp.RenameOptions(prepare_provider=True))
    def rename(params: lsp.RenameParams) -> lsp.WorkspaceEdit | None:
        document = server.document(params.text_document.uri)
        symbol = document.symbol_at(params.position)
        if symbol is None:
            return None
        try:
            edits = renamed(document.view, symbol, params.new_name)
        except EmberlogError as error:
            raise JsonRpcInvalidParams(error.diagnostics[0].message) from None
        versioned = lsp.OptionalVersionedTextDocumentIdentifier(document.uri, document.version)
        return lsp.WorkspaceEdit(document_changes=[lsp.TextDocumentEdit(versioned, document.edits(edits))])

    @server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=["@", "$", "<"]))
    def completion(params: lsp.CompletionParams) -> lsp.CompletionList:
        document = server.document(params.text_document.uri)
        found = proposals(document.view, document.offset(params.position))
        client = server.client_capabilities.text_document
        options = client.completion.completion_item if client and client.completion else None
        has_snippets = bool(options and options.snippet_support)
        items = [completion_item(one, has_snippets=has_snippets) for one in found]
        for item in items:
            if item.label.startswith("$"):  # which is a part of a word for some editors only
                item.text_edit = lsp.TextEdit(parameter_range(document, params.position), item.label)
        return lsp.CompletionList(False, items)

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def document_symbols(params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        return list(outline(server.document(params.text_document.uri)))

    @server.feature(lsp.TEXT_DOCUMENT_FORMATTING)
    def formatting(params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit]:
        document = server.document(params.text_document.uri)
        return document.edits(formatted(document.view.source))

    @server.feature(
        lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix])
    )
    def code_actions(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        document = server.document(params.text_document.uri)
        start, end = document.offset(params.range.start), document.offset(params.range.end)
        versioned = lsp.OptionalVersionedTextDocumentIdentifier(document.uri, document.version)
        return [
            lsp.CodeAction(
                one.title,
                lsp.CodeActionKind.QuickFix,
                [server._diagnostic(document, one.diagnostic)],
                is_preferred=one.is_preferred or None,
                edit=lsp.WorkspaceEdit(document_changes=[lsp.TextDocumentEdit(versioned, document.edits([one.edit]))]),
            )
            for one in actions(document.view, start, end)
        ]

    @server.feature(
        lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, lsp.SemanticTokensLegend(list(LEGEND), [DEFINITION, LIBRARY])
    )
    def semantic_tokens(params: lsp.SemanticTokensParams) -> lsp.SemanticTokens:
        return lsp.SemanticTokens(packed_words(server.document(params.text_document.uri)))

    return server


# --- running --------------------------------------------------------------------------------------------------------

_HEADER = re.compile(rb"content-length[ \t]*:[ \t]*(\d+)[ \t]*\r?\n?$", re.IGNORECASE)


class TolerantReader:
    """Standard input that gets back into step: a header counts wherever it stands in its line. A stray byte before one,
    or a message that is longer than it says, would else make the reader miss all that follow."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def readline(self) -> bytes:
        line = self._stream.readline()
        header = _HEADER.search(line)
        return b"Content-Length: %s\r\n" % header.group(1) if header else line

    def read(self, count: int) -> bytes:
        return self._stream.read(count)


def serve(fact_files: FactFiles, explanations: Explanations) -> None:
    """Answers on standard input and output until the editor says goodbye."""
    server = make_server(fact_files, explanations)
    gc.collect()
    gc.freeze()  # what is loaded stays: no need to look through it while somebody types
    # What anything prints must not come between two messages.
    output = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    with contextlib.redirect_stdout(sys.stderr):
        server.start_io(cast(BinaryIO, TolerantReader(sys.stdin.buffer)), output)
