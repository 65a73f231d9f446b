"""Traces how facts came and changed, iteration by iteration, and shows it as a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import assert_never

from emberlog.diagnostics import fail
from emberlog.provenance.facts import FactBase, iteration_in
from emberlog.provenance.model import Combination, Goal, InputFact, RuleStep, Step, WrittenFact, applications
from emberlog.provenance.proof_outline import WRITTEN
from emberlog.provenance.proofs import Prover
from emberlog.provenance.refutations import Pattern
from emberlog.render.outline_json import plain
from emberlog.render.wording import Meaning, fact_text, pattern_text, when_text
from emberlog.semantics.model import CheckedProgram, Fact, RecursionCase, Relation
from emberlog.shown import Shown
from emberlog.text_widths import SHORTENED, table_lines

MOST_ROWS = 200_000
"""The most rows that a trace looks at."""


@dataclass(frozen=True, slots=True)
class Change:
    """Holds a fact that came, and the one that it replaced in its group; or one that went."""

    fact: Fact
    replaced: Fact | None = None
    is_gone: bool = False
    step: Step | None = None
    """The step that derived it."""


@dataclass(frozen=True, slots=True)
class IterationChanges:
    """Holds what came and went in one iteration."""

    iteration: int | None
    """None where there is no recursion."""
    changes: tuple[Change, ...]
    """Some of them, in the order of facts."""
    count: int
    """How many there are, those that are not listed included."""


def traced(base: FactBase, pattern: Pattern, *, limit: int) -> tuple[IterationChanges, ...]:
    """Finds what came and changed of the facts that agree with the pattern; of each iteration at most `limit` are
    listed."""
    prover = Prover(base, contributions=3)
    relation = base.relation(pattern.relation)
    found: list[IterationChanges] = []
    for iteration, all_changes in _changes(base, pattern, relation):
        changes = sorted(all_changes, key=lambda change: repr(change.fact))
        listed = tuple(
            change
            if change.is_gone
            else Change(change.fact, change.replaced, step=prover.step(Goal(relation.name, change.fact, iteration)))
            for change in changes[:limit]
        )
        if changes:
            found.append(IterationChanges(iteration, listed, len(changes)))
    return tuple(found)


def _changes(base: FactBase, pattern: Pattern, relation: Relation) -> Iterator[tuple[int | None, list[Change]]]:
    recursion = base.recursion(relation.name)
    wanted = {column: value for column, value in enumerate(pattern.values) if value is not None}
    if recursion is None:
        yield None, [Change(fact) for fact in _few(pattern, base.find(relation.name, wanted).facts)]
        return
    if recursion.case is RecursionCase.STAGED:
        column = recursion.stage_columns[relation.name]
        rows = [(*fact, fact[column]) for fact in _few(pattern, base.find(relation.name, wanted).facts)]
    else:
        rows = list(_few(pattern, base.history(relation.name, wanted).facts))
    rounds = groupby(sorted(rows, key=iteration_in), key=iteration_in)
    by_iteration = {iteration: {_key(relation, row): row[:-1] for row in group} for iteration, group in rounds}
    if recursion.case is RecursionCase.BOUNDED:
        yield from _changes_of_rounds(by_iteration, base.last_round(relation.name))
        return
    current: dict[Fact, Fact] = {}
    for iteration, after in by_iteration.items():
        yield iteration, [Change(fact, current.get(key)) for key, fact in after.items()]
        current |= after


def _changes_of_rounds(
    by_round: Mapping[int, Mapping[Fact, Fact]], last: int
) -> Iterator[tuple[int | None, list[Change]]]:
    """Yields the changes of rounds. A round has all its facts, and may have fewer than the one before."""
    before: Mapping[Fact, Fact] = {}
    for number in range(1, last + 1):
        after = by_round.get(number, {})
        changes = [Change(fact, before.get(key)) for key, fact in after.items() if before.get(key) != fact]
        yield number, changes + [Change(fact, is_gone=True) for key, fact in before.items() if key not in after]
        before = after


def _key(relation: Relation, fact: Fact) -> Fact:
    """Returns the group of a fact, or the whole fact where nothing is aggregated."""
    return tuple(fact[column] for column in relation.group)


def _few(pattern: Pattern, rows: Iterable[Fact]) -> Iterator[Fact]:
    for number, row in enumerate(rows):
        if number == MOST_ROWS:
            raise fail(
                "DL444",
                f"more than {MOST_ROWS:,} facts agree with {pattern_text(pattern.relation, pattern.values)}",
                None,
                "ask for fewer, or look at history(…), which has them all with their iterations",
            )
        if all(value is None or row[column] == value for column, value in enumerate(pattern.values)):
            yield row


# --- as people see it -------------------------------------------------------------------------------------------------

Line = tuple[str, str, str, str]
"""When, the fact, what it was before, and what it was derived from."""


class Trace(Shown):
    """Tells how facts came and changed, iteration by iteration. Printed, it is a table of plain text."""

    def __init__(self, pattern: Pattern, iterations: tuple[IterationChanges, ...], checked: CheckedProgram) -> None:
        self.iterations = iterations
        self.checked = checked
        self._meaning = Meaning(checked)
        self._pattern = pattern
        strata = (stratum for stratum in checked.strata if pattern.relation in stratum.relations)
        self._recursion = next((stratum.recursion for stratum in strata), None)

    def to_text(self, width: int | None = None) -> str:
        """Returns a table of plain text, whose lines are no longer than a width that is given."""
        lines = list(self.lines())
        used = [place for place in range(4) if any(line[place] for line in lines)]
        rows = [[line[place] for place in used] for line in lines]
        shown, is_cut = table_lines(rows, [False] * len(used), width=width, between="   ")
        return "\n".join((self.title, *shown, *([SHORTENED] if is_cut else [])))

    def __str__(self) -> str:
        return self.to_text()

    __repr__ = __str__

    def to_json(self) -> dict[str, object]:
        """Returns an object of plain values, for programs; docs/provenance.md describes it."""
        return {
            "version": 1,
            "relation": self._pattern.relation,
            "iterations": [
                {
                    "iteration": one.iteration,
                    "count": one.count,
                    "changes": [self._change_object(change) for change in one.changes],
                }
                for one in self.iterations
            ],
        }

    @property
    def title(self) -> str:
        """Returns what was asked."""
        pattern = self._pattern
        title = f"trace of {pattern_text(pattern.relation, self._meaning.fact(pattern.relation, pattern.values))}"
        return title if self.iterations else f"{title}: no such fact"

    def lines(self) -> Iterator[Line]:
        """Yields the rows of the table."""
        relation = self._pattern.relation
        for one in self.iterations:
            when = when_text(one.iteration, self._recursion)
            for number, change in enumerate(one.changes):
                was = f"was {self._fact(relation, change.replaced)}" if change.replaced is not None else ""
                fact = self._fact(relation, change.fact)
                yield (
                    when if number == 0 else "",
                    fact,
                    "gone" if change.is_gone else was,
                    self._derivation(change.step),
                )
            if one.count > len(one.changes):
                yield "", f"… {one.count - len(one.changes):,} more", "", ""

    def _fact(self, relation: str, fact: Fact) -> str:
        return fact_text(relation, self._meaning.fact(relation, fact))

    def _derivation(self, step: Step | None) -> str:
        match step:
            case None:
                return ""
            case InputFact():
                return "input"
            case WrittenFact():
                return WRITTEN
            case RuleStep() | Combination():
                used = applications(step)
                return "; ".join(self._application(one) for one in used) if used else WRITTEN
            case _:
                assert_never(step)

    def _application(self, step: RuleStep) -> str:
        facts = ", ".join(self._fact(goal.relation, goal.fact) for goal in step.premises if isinstance(goal, Goal))
        return f"{step.rule} from {facts}" if facts else step.rule

    def _change_object(self, change: Change) -> dict[str, object]:
        relation = self._pattern.relation
        one: dict[str, object] = {"fact": [plain(value) for value in self._meaning.fact(relation, change.fact)]}
        if change.replaced is not None:
            one["replaced"] = [plain(value) for value in self._meaning.fact(relation, change.replaced)]
        if change.is_gone:
            one["gone"] = True
        if change.step is not None:
            one["by"] = self._derivation(change.step)
        return one
