"""Has what stands below a cell beside its answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from emberlog.database import Database
from emberlog.diagnostics import Diagnostic, render
from emberlog.engines.local.engine import LocalEngine
from emberlog.logical.summary import program_summary
from emberlog.render.look.components import paragraph
from emberlog.render.look.diagnostics import diagnostics_card
from emberlog.render.look.page import card_output
from emberlog.result import Result


def is_local(database: Database[Any]) -> bool:
    return isinstance(database._engine, LocalEngine)


def place_of(database: Database[Any]) -> str:
    """Returns where the runs of a database are: `Spark 4.3.0 local[2]`, or this process."""
    if is_local(database):
        return "in this process"
    session = database.spark
    try:
        return f"Spark {session.version} {session.sparkContext.master}"
    except Exception:  # a session of Spark Connect does not tell
        return f"Spark {session.version}, over Spark Connect"


class RunNote:
    """Shows what was run, where, and how long it took."""

    def __init__(self, place: str, result: Result[Any], seconds: float) -> None:
        self._text = f"{place} · {program_summary(result.explained.checked)} · {seconds:,.2f} s"

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return card_output(paragraph(self._text, is_faint=True))


class WarningsNote:
    """Shows the warnings of a run."""

    def __init__(self, found: Iterable[Diagnostic]) -> None:
        self._found = tuple(found)

    def __repr__(self) -> str:
        return render(self._found)

    def _repr_html_(self) -> str:
        return card_output(diagnostics_card(self._found))
