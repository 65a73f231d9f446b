"""Says how each object looks in a notebook: a card that is short and unfolds, and a few lines of plain text.

Nothing is computed for it but the first rows of what is there already.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from emberlog.database import Database
from emberlog.datatypes import DataType
from emberlog.diagnostics import Diagnostic, EmberlogError, EmberlogWarning, render
from emberlog.engines.local.engine import LocalEngine
from emberlog.io.local_relation import LocalRelation
from emberlog.logical.nodes import LogicalPlan
from emberlog.logical.summary import counted, program_summary
from emberlog.optimize.pipeline import Optimized
from emberlog.profile import RunProfile
from emberlog.provenance.explanation import Explanation
from emberlog.provenance.trace import Trace
from emberlog.render.answer_text import Answer, answer_text, python_text, value_text
from emberlog.render.look.components import Column, badge, card, facts, fold, paragraph, preformatted, table
from emberlog.render.look.diagnostics import diagnostics_card, diagnostics_list
from emberlog.render.look.html import Html, element, joined
from emberlog.render.look.listings import program_listing, text_listing
from emberlog.render.look.page import card_output
from emberlog.render.look.plans import plan_card
from emberlog.render.look.profiles import profile_card, time_bars
from emberlog.render.look.proofs import proof_card
from emberlog.render.plan_text import plan_text
from emberlog.render.profile_text import profile_text
from emberlog.result import Explained, Result
from emberlog.semantics.model import CheckedProgram
from emberlog.syntax import ast

ROWS_SHOWN = 10
"""Of a relation; each of several relations shows half of it."""

OPEN_RELATIONS = 4
"""Of a result with more relations, each is behind a fold."""

LINES_SHOWN = 40
"""Of a text where no HTML can be shown."""

PROGRAM_LINES = 200


@dataclass(frozen=True, slots=True)
class Face:
    text: str
    html: str


def face(shown: object) -> Face:
    """Returns how an object looks in a notebook."""
    return Face(_first_lines(text_of(shown)), card_output(card_of(shown)))


@singledispatch
def text_of(shown: object) -> str:
    """Returns the plain text, which is cut off where it is long."""
    return repr(shown)


@singledispatch
def card_of(shown: object) -> Html:
    """Returns the card alone, for a page that has the style sheet."""
    return card(type(shown).__name__, preformatted(repr(shown)))


def _first_lines(text: str) -> str:
    lines = text.split("\n")
    if len(lines) <= LINES_SHOWN:
        return text
    return "\n".join((*lines[:LINES_SHOWN], f"… {len(lines) - LINES_SHOWN:,} more lines; print it to see all"))


# --- data -------------------------------------------------------------------------------------------------------------


@card_of.register(Database)
def _database(shown: Database[Any]) -> Html:
    rows = []
    for name in shown:
        known = shown._glance(name)
        columns = [f"{one.name}: {one.type}" if one.type.is_known else one.name for one in known.columns or ()]
        told = ", ".join(columns) if known.columns is not None else "as programs and files say"
        rows.append((element("code", name), told, "" if known.rows is None else f"{known.rows:,}"))
    where = badge("in this process" if isinstance(shown._engine, LocalEngine) else "on Spark", "green")
    body = (
        table(("relation", "columns", "rows"), rows, numbers=(2,))
        if rows
        else paragraph(Html('no data yet: <code>db["arc"] = [(1, 2), (2, 3)]</code>'), is_faint=True)
    )
    return card("Database", body, badges=[where], note=counted(len(rows), "relation"))


@card_of.register
def relation_card(shown: LocalRelation) -> Html:
    return card(
        "LocalRelation", first_facts(shown), badges=[badge(counted(len(shown), "row"), "blue")], note=shown.header
    )


def first_facts(relation: LocalRelation, most: int = ROWS_SHOWN) -> Html:
    """Shows the columns and the first rows."""
    rows = [[None if value is None else python_text(value) for value in row] for row in relation.some(most)]
    columns = zip(relation.columns, relation.types, strict=True)
    return _facts(columns, rows, len(relation), "to_pandas() has them all")


def _facts(
    columns: Iterable[tuple[str, DataType]], rows: Sequence[Sequence[str | None]], total: int, hint: str
) -> Html:
    return facts([Column(name, str(type_), type_.is_numeric) for name, type_ in columns], rows, total, hint=hint)


# --- programs ---------------------------------------------------------------------------------------------------------


@card_of.register(Result)
def _result(shown: Result[Any]) -> Html:
    checked = shown.explained.checked
    relations = [_answer(shown, name, is_open=len(shown) <= OPEN_RELATIONS) for name in shown]
    folds = [fold("plan", plan_card(shown.plan)), _program_fold(checked)]
    if shown.timing:
        folds.append(fold(f"time: {sum(shown.timing.values()):,.2f} s", time_bars(shown.timing)))
    return card(
        checked.program.source.name,
        *_warnings(checked.warnings),
        *relations,
        *folds,
        badges=[badge("closed", "red")] if shown.is_closed else [],
        note=counted(len(shown), "relation"),
    )


def _answer(result: Result[Any], name: str, *, is_open: bool) -> Html:
    read = next((one for one in result._read if one.relation == name), None)
    here = None if result.is_closed else result._at_hand(name)
    title = name
    if read is not None:
        title, note, inside = read.title, counted(read.total, "fact"), _read_facts(result, read)
    elif here is not None:
        note, inside = counted(len(here), "fact"), first_facts(here, ROWS_SHOWN // 2)
    else:
        reads = f'result["{name}"] is a DataFrame; show() reads it'
        note, inside, is_open = result._header(name), paragraph(reads, is_faint=True), False
    told = joined((element("code", title), "  ", element("span", note, class_="em-faint")))
    return fold(told, inside, is_open=is_open)


def _read_facts(result: Result[Any], read: Answer) -> Html:
    columns = ((one.name, one.type) for one in result.explained.checked.relations[read.relation].columns)
    rows = [
        [None if cell is None else value_text(cell, type_) for cell, type_ in zip(fact, read.types, strict=True)]
        for fact in read.first
    ]
    return _facts(columns, rows, read.total, f'result["{read.relation}"] has them all')


@text_of.register(Result)
def _answers_in_words(shown: Result[Any]) -> str:
    return "\n".join(map(answer_text, shown._read)) or repr(shown)


def _warnings(found: Sequence[Diagnostic]) -> Iterable[Html]:
    return [fold(counted(len(found), "warning"), diagnostics_list(found))] if found else []


def _program_fold(checked: CheckedProgram) -> Html:
    return fold(f"program: {program_summary(checked)}", program_listing(checked, PROGRAM_LINES))


@card_of.register
def _explained(shown: Explained) -> Html:
    checked = shown.checked
    choices = "\n".join(shown.choices)
    return card(
        checked.program.source.name,
        *_warnings(checked.warnings),
        _program_fold(checked),
        fold("plan", plan_card(shown.optimized.plan), is_open=True),
        *([fold("how it runs", preformatted(choices))] if choices else []),
        note=program_summary(checked),
    )


@card_of.register
def _program(shown: ast.Program) -> Html:
    return card(
        shown.source.name, text_listing(shown.source, PROGRAM_LINES), note=counted(len(shown.statements), "statement")
    )


@card_of.register
def _checked(shown: CheckedProgram) -> Html:
    listing = program_listing(shown, PROGRAM_LINES)
    return card(shown.program.source.name, *_warnings(shown.warnings), listing, note=program_summary(shown))


@card_of.register
def _plan(shown: LogicalPlan) -> Html:
    return plan_card(shown)


@card_of.register
def _optimized(shown: Optimized) -> Html:
    return plan_card(shown.plan)


@text_of.register
def _plan_in_words(shown: LogicalPlan) -> str:
    return plan_text(shown)


@text_of.register
def _optimized_in_words(shown: Optimized) -> str:
    return plan_text(shown.plan)


@card_of.register
def _profile(shown: RunProfile) -> Html:
    return profile_card(shown)


@text_of.register
def _profile_in_words(shown: RunProfile) -> str:
    return profile_text(shown)


# --- provenance and mistakes ------------------------------------------------------------------------------------------


@card_of.register
def _explanation(shown: Explanation) -> Html:
    return proof_card(shown.outline)


@card_of.register
def _trace(shown: Trace) -> Html:
    rows = [(when, element("code", fact), element("code", before), by) for when, fact, before, by in shown.lines()]
    return card(shown.title, table(("when", "fact", "before", "derived by"), rows))


@card_of.register(EmberlogError)
def _error(shown: EmberlogError) -> Html:
    return diagnostics_card(shown.diagnostics)


@card_of.register(EmberlogWarning)
def _warning(shown: EmberlogWarning) -> Html:
    return diagnostics_card((shown.diagnostic,))


@card_of.register
def _diagnostic(shown: Diagnostic) -> Html:
    return diagnostics_card((shown,))


@text_of.register(EmberlogError)
@text_of.register(EmberlogWarning)
def _mistake_in_words(shown: Exception) -> str:
    return str(shown)


@text_of.register
def _diagnostic_in_words(shown: Diagnostic) -> str:
    return render((shown,))
