"""Shows facts as a person reads them: a title with their number, and the first of them in columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from emberlog.datatypes import TIMESTAMP, DataType
from emberlog.language.spellings import shown_moment, spelled
from emberlog.logical.rule_text import query_text
from emberlog.logical.summary import counted
from emberlog.semantics.model import CellValue, CheckedProgram, Fact
from emberlog.text_widths import SHORTENED, table_lines

WIDEST_CELL = 60
"""Longer values are cut off, so that a line stays a line."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Holds what is shown of a relation."""

    relation: str
    title: str
    """`reach(X, Y)`, or the query that asked for it."""
    types: tuple[DataType, ...]
    first: tuple[Fact, ...]
    """The facts that are shown, in order."""
    total: int
    origins: tuple[tuple[str, str], ...] = ()
    """When each fact that is shown came, and by which rule, if that was recorded."""


def answer_of(checked: CheckedProgram, relation: str, first: Sequence[Fact], total: int) -> Answer:
    """Returns the answer of a relation, with the first of its facts."""
    columns = checked.relations[relation].columns
    anything = f"{relation}({', '.join('_' for _ in columns)})?"
    queries = [query_text(query) for query in checked.queries if query.relation == relation]
    is_said_by_query = len(queries) == 1 and queries[0] != anything
    title = queries[0].removesuffix("?") if is_said_by_query else str(checked.relations[relation])
    types = tuple(column.type for column in columns)
    return Answer(relation, title, types, tuple(first), total)


def answer_text(answer: Answer, *, hint: str = "", width: int | None = None) -> str:
    """Returns `reach(X, Y): 1,204 facts` and a line for each fact shown; `hint` says how to see the others. No line is
    longer than a `width` that is given."""
    rows = [[_cell(value, type_) for value, type_ in zip(fact, answer.types, strict=True)] for fact in answer.first]
    lines = [f"{answer.title}: {counted(answer.total, 'fact')}"]
    are_numbers = [type_.is_numeric for type_ in answer.types]
    if answer.origins:
        rows = [[*row, *origin] for row, origin in zip(rows, answer.origins, strict=True)]
        are_numbers += [False, False]
    shown, is_cut = table_lines(rows, are_numbers, width=width, margin="  ")
    lines += shown
    if rows and len(rows) < answer.total:
        behind = f"; {hint}" if hint else ""
        lines.append(f"  …  ({len(rows):,} of {answer.total:,} shown{behind})")
    if is_cut:
        lines.append(f"  ({SHORTENED})")
    return "\n".join(lines)


def value_text(value: CellValue, type_: DataType) -> str:
    """Returns a value as people read it, on one line."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return "".join(character if character.isprintable() else repr(character)[1:-1] for character in value)
        case tuple():
            parts = zip(value, type_.types_of(value), strict=True)
            inside = ", ".join(value_text(element, part) for element, part in parts)
            return f"[{inside}]" if type_.name == "list" else f"({inside})"
        case int() if type_ == TIMESTAMP:
            return shown_moment(value)
        case int() if type_.is_told_by_type:
            return spelled(value, type_)
        case _:
            return repr(value)


def python_text(value: object) -> str:
    """Returns a value of Python's own types as people read it; moments, durations and pairs are those of Python."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case datetime():
            return value.isoformat(sep=" ")
        case date():
            return value.isoformat()
        case timedelta():
            return str(value)
        case dict():
            return f"({', '.join(map(python_text, value.values()))})"
        case tuple():
            return f"({', '.join(map(python_text, value))})"
        case list():
            return f"[{', '.join(map(python_text, value))}]"
        case _:
            return str(value)


def _cell(value: CellValue, type_: DataType) -> str:
    text = value_text(value, type_)
    return text if len(text) <= WIDEST_CELL else f"{text[: WIDEST_CELL - 1]}…"
