"""Proposes what can stand at a place of a program."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from emberlog.editor.hover import ANNOTATION_MEANINGS, branches_of, quoted, shown_type, signature
from emberlog.editor.symbols import SymbolKind
from emberlog.editor.view import ProgramView
from emberlog.language.registry import AGGREGATES, PROCEDURES, SCALAR_FUNCTIONS
from emberlog.syntax.lexer import Token, TokenKind
from emberlog.syntax.vocabulary import ANNOTATIONS

TYPES = ("int", "float", "string", "bool", "date", "timestamp", "duration", "decimal(2)")
_DECLARING = ("declare", "relation", "stream")
_BODY_WORDS = ("not", "in", "between", "like", "div", "mod", "null", "true", "false")


@dataclass(frozen=True, slots=True)
class Proposal:
    """A word that can stand at the place."""

    kind: SymbolKind
    label: str
    detail: str = ""
    documentation: str = ""
    snippet: str | None = None
    """What is written, with `$1` and `${1:name}` for places to go on at; the label itself if there is none."""


def proposals(view: ProgramView, offset: int) -> list[Proposal]:
    """Returns what can stand at the place. The editor leaves out what does not agree with the letters typed."""
    if view.is_in_comment_or_text(offset):
        return []
    before = [one for one in view.tokens if one.span.end < offset and one.kind is not TokenKind.END]
    touching = [one for one in view.tokens if one.span.start < offset <= one.span.end]
    if touching and touching[-1].kind is TokenKind.SYMBOL:
        before += touching
        touching = []
    if (touching and touching[-1].kind is TokenKind.PARAMETER) or view.text[offset - 1 : offset] == "$":
        return list(_parameters(view))
    statement = _statement_of(before)
    last = before[-1] if before else None
    if last is not None and last.is_symbol("@"):
        return list(_annotations())
    if statement and statement[0].is_word(*_DECLARING):
        if last is not None and last.is_word("aggregate"):
            return list(_aggregates())
        if last is not None and last.is_symbol(":"):
            return [Proposal(SymbolKind.TYPE, one) for one in TYPES]
        return [Proposal(SymbolKind.KEYWORD, "aggregate")] if len(statement) > 2 else list(_relations(view))
    if not statement:
        return [*_relations(view), *_statement_words()]
    is_in_head = not any(one.is_symbol(":-", "<-") for one in statement)
    found = [*_variables(view, offset)]
    if is_in_head:
        found += _aggregates()
    elif last is not None and last.is_symbol(":-", "<-", ",", ";", "!", "("):
        found += _relations(view)
    found += _functions()
    if not is_in_head:
        found += (Proposal(SymbolKind.KEYWORD, one) for one in _BODY_WORDS)
    return found


def _statement_of(before: list[Token]) -> list[Token]:
    """Returns the words of the statement that is being written, up to the place."""
    end = max((index for index, one in enumerate(before) if one.is_symbol(".", "?")), default=-1)
    return before[end + 1 :]


def _variables(view: ProgramView, offset: int) -> Iterator[Proposal]:
    statement = view.stretch_at(offset)
    seen: set[str] = set()
    for one in view.symbols:
        is_here = one.statement == statement and not one.span.start < offset <= one.span.end
        if one.kind is SymbolKind.VARIABLE and is_here and one.name not in seen:
            seen.add(one.name)
            yield Proposal(SymbolKind.VARIABLE, one.name, shown_type(view.type_of(one)))


def _relations(view: ProgramView) -> Iterator[Proposal]:
    for name, relation in view.examination.relations.items():
        if relation.is_written and not name.endswith(" (data)"):
            columns = ", ".join(
                f"${{{index}:{_escaped(column.name[:1].upper() + column.name[1:])}}}"
                for index, column in enumerate(relation.columns, start=1)
            )
            label = quoted(name)
            yield Proposal(
                SymbolKind.RELATION,
                label,
                signature(relation),
                view.documentation(name),
                f"{_escaped(label)}({columns})",
            )


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("$", "\\$").replace("}", "\\}")


def _functions() -> Iterator[Proposal]:
    for name, function in SCALAR_FUNCTIONS.items():
        yield Proposal(SymbolKind.FUNCTION, name, function.signature, function.meaning, f"{name}($1)")
    for name, description in PROCEDURES.items():
        written, _, meaning = description.partition(": ")
        yield Proposal(SymbolKind.FUNCTION, name, written, meaning, f"{name}($1)")


def _aggregates() -> Iterator[Proposal]:
    for name, aggregate in AGGREGATES.items():
        yield Proposal(SymbolKind.AGGREGATE, name, aggregate.signature, aggregate.meaning, f"{name}<$1>")


def _annotations() -> Iterator[Proposal]:
    for name, count in ANNOTATIONS.items():
        written = f"{name}(${{1:20}})" if count else name
        yield Proposal(SymbolKind.ANNOTATION, name, f"@{name}", ANNOTATION_MEANINGS[name], written)


def _parameters(view: ProgramView) -> Iterator[Proposal]:
    branches = dict(branches_of(view.program))
    for name, text in branches.items():
        yield Proposal(SymbolKind.PARAMETER, f"${name}", "a branch of a type", text)
    for name in dict.fromkeys(one.name for one in view.symbols if one.kind is SymbolKind.PARAMETER):
        if name in branches:
            continue
        yield Proposal(SymbolKind.PARAMETER, f"${name}", "a parameter")


def _statement_words() -> Iterator[Proposal]:
    yield Proposal(SymbolKind.KEYWORD, "declare", snippet="declare ${1:name}(${2:column}: ${3:int}).")
    yield Proposal(SymbolKind.KEYWORD, "type", snippet="type ${1:Name} = ${2:Branch}(${3:field}: ${4:int}).")
    yield Proposal(SymbolKind.KEYWORD, "query", snippet="query ${1:relation}(${2:X}).")
    yield Proposal(SymbolKind.KEYWORD, "STREAM", snippet="STREAM ${1:name}(${2:Ts}: timestamp, ${3:column}: ${4:int}).")
    yield Proposal(SymbolKind.KEYWORD, "RELATION", snippet="RELATION ${1:name}(${2:column}: ${3:int}).")
