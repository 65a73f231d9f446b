"""Says in Markdown what a word of a program stands for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from emberlog.datatypes import DataType
from emberlog.editor.symbols import Symbol, SymbolKind
from emberlog.editor.view import ProgramView
from emberlog.language.registry import AGGREGATES, PROCEDURES, SCALAR_FUNCTIONS
from emberlog.logical.summary import counted, stratum_kind
from emberlog.semantics.model import Column, Relation
from emberlog.syntax import ast

ANNOTATION_MEANINGS = {
    "iterations": "`@iterations(N)`: the recursion stops after N rounds, and is legal whatever it aggregates.",
    "premappable": "`@premappable`: a promise that the rule is monotone, so its aggregate may stand in a recursion.",
}


def hover_text(view: ProgramView, symbol: Symbol, rows: str | None = None) -> str | None:
    """Returns what an editor shows beside a word; `rows`, what is known of the data of a relation."""
    match symbol.kind:
        case SymbolKind.RELATION:
            return relation_text(view, symbol.name, rows)
        case SymbolKind.VARIABLE:
            found = view.type_of(symbol)
            return _code(f"{symbol.name}: {found}") + ("" if found.is_known else "\nIts type is not known yet.")
        case SymbolKind.PARAMETER if symbol.name in (branches := dict(branches_of(view.program))):
            return branches[symbol.name]
        case SymbolKind.PARAMETER:
            uses = len(view.occurrences(symbol))
            times = "once" if uses == 1 else f"{uses} times"
            return f"{_code(f'${symbol.name}')}\nA parameter, used {times}: `--param {symbol.name}=…`"
        case SymbolKind.FUNCTION | SymbolKind.AGGREGATE:
            return function_text(symbol.name)
        case SymbolKind.ANNOTATION:
            return ANNOTATION_MEANINGS.get(symbol.name)
        case _:
            return None


def branches_of(program: ast.Program) -> Iterator[tuple[str, str]]:
    """Yields the branches of the types that a program declares, and what an editor says of each."""
    for one in program.statements:
        if isinstance(one, ast.TypeDeclaration):
            for branch in one.branches:
                place = f"A branch of the type `{one.name}`, declared in line {one.name_span.begin.line}."
                yield branch.name, f"{_code(f'${branch.span.text}')}\n{place}"


def function_text(name: str) -> str | None:
    """Returns the signature and the meaning of a function, an aggregate or a procedure."""
    entry = AGGREGATES.get(name) or SCALAR_FUNCTIONS.get(name)
    if entry is not None:
        kind = "An aggregate" if name in AGGREGATES and name not in SCALAR_FUNCTIONS else "A function"
        return f"{_code(entry.signature)}\n{_sentence(entry.meaning)}\n\n{kind}; its value is {entry.precision}."
    if name in PROCEDURES:
        written, _, meaning = PROCEDURES[name].partition(": ")
        return f"{_code(written)}\n{_sentence(meaning)}"
    return None


def relation_text(view: ProgramView, name: str, rows: str | None = None) -> str:
    """Returns the columns of a relation, its documentation, where it comes from and how it is computed."""
    relation = view.examination.relations.get(name)
    parts = [_code(signature(relation) if relation else f"{name}(…)")]
    if documentation := view.documentation(name):
        parts.append(documentation)
    parts.append("  \n".join(_origin(view, name, relation, rows)))
    return "\n\n".join(part for part in parts if part)


def signature(relation: Relation) -> str:
    """Returns a relation as a declaration would write it."""
    return f"{quoted(relation.name)}({', '.join(map(_column, relation.columns))})"


def quoted(name: str) -> str:
    """Returns a name as programs write it: in backquotes where it is no plain word."""
    return name if re.fullmatch(r"[^\W\d]\w*", name) else f"`{name}`"


def _column(column: Column) -> str:
    aggregate = f" aggregate {column.aggregate}" if column.aggregate else ""
    return f"{quoted(column.name)}: {shown_type(column.type)}{aggregate}"


def shown_type(type_: DataType) -> str:
    return str(type_) if type_.is_known else "?"


def _origin(view: ProgramView, name: str, relation: Relation | None, rows: str | None) -> list[str]:
    statements = list(view.rules_of(name))
    rules = [one for one in statements if one.body is not None]
    facts = len(statements) - len(rules)
    declared = [one for one in view.program.statements if isinstance(one, ast.Declaration) and one.predicate == name]
    lines = []
    if declared:
        lines.append(f"Declared in line {declared[0].name_span.begin.line}.")
    if rules:
        places = ", ".join(str(one.span.begin.line) for one in rules[:5]) + (", …" if len(rules) > 5 else "")
        where = f"line {places}" if len(rules) == 1 else f"lines {places}"
        lines.append(f"Defined by {counted(len(rules), 'rule')}, in {where}.")
    if facts:
        first = next(one for one in statements if one.body is None)
        lines.append(f"{counted(facts, 'fact')} in the program, from line {first.span.begin.line}.")
    if not statements:
        lines.append("An input: its facts are given with the run." if relation else "It is not known yet.")
    if rows:
        lines.append(rows)
    checked = view.examination.checked
    for stratum in checked.strata if checked is not None else ():
        if name in stratum.relations and stratum.recursion is not None:
            lines.append(_sentence(f"{stratum_kind(stratum.recursion)}: {stratum.recursion.reason}"))
    return lines


def _code(text: str) -> str:
    return f"```datalog\n{text}\n```"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}".rstrip(".") + "."
