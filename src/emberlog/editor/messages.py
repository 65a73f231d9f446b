"""Says in the words of the protocol what is known of a program: entries of completion, the outline, coloured words."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lsprotocol import types as lsp

from emberlog.editor.completion import Proposal
from emberlog.editor.document import Document
from emberlog.editor.symbols import SymbolKind
from emberlog.source import Span
from emberlog.syntax import ast

_ITEM_KINDS = {
    SymbolKind.RELATION: lsp.CompletionItemKind.Class,
    SymbolKind.VARIABLE: lsp.CompletionItemKind.Variable,
    SymbolKind.PARAMETER: lsp.CompletionItemKind.Constant,
    SymbolKind.FUNCTION: lsp.CompletionItemKind.Function,
    SymbolKind.AGGREGATE: lsp.CompletionItemKind.Method,
    SymbolKind.ANNOTATION: lsp.CompletionItemKind.Property,
    SymbolKind.TYPE: lsp.CompletionItemKind.TypeParameter,
    SymbolKind.KEYWORD: lsp.CompletionItemKind.Keyword,
}

_SORTED = (SymbolKind.VARIABLE, SymbolKind.RELATION, SymbolKind.AGGREGATE, SymbolKind.FUNCTION)


def completion_item(one: Proposal, *, has_snippets: bool) -> lsp.CompletionItem:
    """Returns what can stand at a place as an entry of the editor's list."""
    rank = _SORTED.index(one.kind) if one.kind in _SORTED else len(_SORTED)
    is_snippet = has_snippets and one.snippet is not None
    return lsp.CompletionItem(
        one.label,
        kind=_ITEM_KINDS[one.kind],
        detail=one.detail or None,
        documentation=lsp.MarkupContent(lsp.MarkupKind.Markdown, one.documentation) if one.documentation else None,
        sort_text=f"{rank}{one.label}",
        insert_text=one.snippet if is_snippet else None,
        insert_text_format=lsp.InsertTextFormat.Snippet if is_snippet else None,
    )


def parameter_range(document: Document, position: lsp.Position) -> lsp.Range:
    """Returns the place of the parameter that is being written, with its sign."""
    offset = document.offset(position)
    written = re.search(r"\$\w*$", document.view.text[:offset])
    return document.range_of(written.start() if written else offset, offset)


def outline(document: Document) -> Iterable[lsp.DocumentSymbol]:
    """Yields the statements, each with the word that it is about."""
    for statement in document.view.program.statements:
        match statement:
            case ast.Rule():
                kind = lsp.SymbolKind.Function if statement.body is not None else lsp.SymbolKind.Constant
                for head in statement.heads:
                    detail = statement.label or ("" if statement.body is not None else "fact")
                    yield _outlined(document, head.span.text, kind, statement.span, head.name_span, detail)
            case ast.Query(atom):
                yield _outlined(document, f"{atom.span.text}?", lsp.SymbolKind.Event, statement.span, atom.name_span)
            case ast.Declaration():
                detail = statement.kind.value
                place = statement.name_span
                name = document.view.text[place.start : statement.span.end].removesuffix(".")
                yield _outlined(document, name, lsp.SymbolKind.Class, statement.span, place, detail)
            case ast.Subsumption(worse):
                name = statement.span.text.removesuffix(".")
                yield _outlined(document, name, lsp.SymbolKind.Function, statement.span, worse.name_span, "subsumption")
            case ast.TypeDeclaration(name=name, name_span=place):
                yield _outlined(document, name, lsp.SymbolKind.Enum, statement.span, place, "type")
            case ast.ProgramOption(annotation):
                place = annotation.span
                yield _outlined(document, place.text, lsp.SymbolKind.Property, statement.span, place)


def _outlined(
    document: Document, name: str, kind: lsp.SymbolKind, whole: Span, place: Span, detail: str = ""
) -> lsp.DocumentSymbol:
    # The range of a word has to lie within that of its statement, or editors refuse the whole outline.
    start, end = min(whole.start, place.start), max(whole.end, place.end)
    shown = re.sub(r"\s+", " ", name)
    return lsp.DocumentSymbol(shown, kind, document.range_of(start, end), document.range(place), detail or None)


DEFINITION, LIBRARY = "definition", "defaultLibrary"
LEGEND = {
    "class": SymbolKind.RELATION,
    "variable": SymbolKind.VARIABLE,
    "parameter": SymbolKind.PARAMETER,
    "function": SymbolKind.FUNCTION,
    "macro": SymbolKind.AGGREGATE,
    "decorator": SymbolKind.ANNOTATION,
    "property": SymbolKind.COLUMN,
    "type": SymbolKind.TYPE,
    "keyword": SymbolKind.KEYWORD,
    "label": SymbolKind.LABEL,
}


def packed_words(document: Document) -> list[int]:
    """Returns the words as the protocol packs them: five numbers each, places relative to the word before."""
    kinds = {kind: index for index, kind in enumerate(LEGEND.values())}
    packed: list[int] = []
    last_line = last_start = 0
    for one in document.view.symbols:
        if one.kind not in kinds:
            continue
        (line, start), (last, end) = (
            document.positions.position(one.span.start),
            document.positions.position(one.span.end),
        )
        if line != last:
            continue
        modifiers = (1 if one.is_definition else 0) | (
            2 if one.kind in (SymbolKind.FUNCTION, SymbolKind.AGGREGATE) else 0
        )
        packed += (line - last_line, start - last_start if line == last_line else start, end - start)
        packed += (kinds[one.kind], modifiers)
        last_line, last_start = line, start
    return packed
