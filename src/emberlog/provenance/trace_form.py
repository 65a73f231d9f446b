"""What `trace` gives to people: a table of iterations, facts, and what each was derived from."""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import assert_never

from emberlog.provenance.model import Combination, Goal, InputFact, RuleStep, Step, WrittenFact, applications
from emberlog.provenance.proof_outline import WRITTEN
from emberlog.provenance.trace import Change, IterationChanges, TraceData
from emberlog.render.outline_json import plain
from emberlog.render.wording import fact_text, pattern_text, when_text
from emberlog.semantics.model import CheckedProgram

Line = tuple[str, str, str, str]
"""When, the fact, what it was before, and what it was derived from."""


class Trace:
    """How facts came and changed, iteration by iteration. Printed, it is a table of plain text."""

    def __init__(self, data: TraceData, checked: CheckedProgram) -> None:
        self.data = data
        self.checked = checked
        strata = (stratum for stratum in checked.strata if data.pattern.relation in stratum.relations)
        self._recursion = next((stratum.recursion for stratum in strata), None)

    @property
    def iterations(self) -> tuple[IterationChanges, ...]:
        return self.data.iterations

    def __str__(self) -> str:
        lines = list(self._lines())
        widths = [max((len(line[column]) for line in lines), default=0) for column in range(4)]
        shown = (
            "   ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True) if width) for line in lines
        )
        return "\n".join((self._title, *(line.rstrip() for line in shown)))

    __repr__ = __str__

    def to_json(self) -> dict[str, object]:
        """An object of plain values, for programs; docs/provenance.md describes it."""
        return {
            "version": 1,
            "relation": self.data.pattern.relation,
            "iterations": [
                {
                    "iteration": one.iteration,
                    "count": one.count,
                    "changes": [_change_object(change) for change in one.changes],
                }
                for one in self.iterations
            ],
        }

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in line)}</tr>" for line in self._lines()
        )
        head = "".join(f"<th>{title}</th>" for title in ("when", "fact", "before", "derived by"))
        return f"<p>{html.escape(self._title)}</p><table><tr>{head}</tr>{rows}</table>"

    @property
    def _title(self) -> str:
        pattern = self.data.pattern
        title = f"trace of {pattern_text(pattern.relation, pattern.values)}"
        return title if self.iterations else f"{title}: no such fact"

    def _lines(self) -> Iterator[Line]:
        relation = self.data.pattern.relation
        for one in self.iterations:
            when = when_text(one.iteration, self._recursion)
            for number, change in enumerate(one.changes):
                was = f"was {fact_text(relation, change.replaced)}" if change.replaced is not None else ""
                fact = fact_text(relation, change.fact)
                yield when if number == 0 else "", fact, "gone" if change.is_gone else was, _derivation(change.step)
            if one.count > len(one.changes):
                yield "", f"… {one.count - len(one.changes):,} more", "", ""


def _derivation(step: Step | None) -> str:
    match step:
        case None:
            return ""
        case InputFact():
            return "input"
        case WrittenFact():
            return WRITTEN
        case RuleStep() | Combination():
            used = applications(step)
            return "; ".join(_application(one) for one in used) if used else WRITTEN
        case _:
            assert_never(step)


def _application(step: RuleStep) -> str:
    facts = ", ".join(fact_text(goal.relation, goal.fact) for goal in step.premises if isinstance(goal, Goal))
    return f"{step.rule} from {facts}" if facts else step.rule


def _change_object(change: Change) -> dict[str, object]:
    one: dict[str, object] = {"fact": [plain(value) for value in change.fact]}
    if change.replaced is not None:
        one["replaced"] = [plain(value) for value in change.replaced]
    if change.is_gone:
        one["gone"] = True
    if change.step is not None:
        one["by"] = _derivation(change.step)
    return one
