"""Decides which relations of a stream program are computed once, which are kept up to date, and which computed anew.

A relation is kept up to date when more facts below it can only mean more, or better, facts of its own: then a fact
holds exactly as long as one of its derivations does. Everything else is computed anew from those, slide by slide.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from emberlog.language.registry import AGGREGATES
from emberlog.logical.statistics import NO_STATISTICS
from emberlog.optimize.rewrite_demand import rewrite_demand
from emberlog.semantics.model import (
    Absent,
    CheckedProgram,
    Contribution,
    CoreRule,
    Match,
    RecursionCase,
    Relation,
    Stratum,
)
from emberlog.semantics.monotonicity import non_monotone_step
from emberlog.streams.plan.batch_program import BatchProgram, batch_program
from emberlog.streams.plan.best_tuples import with_best_tuples
from emberlog.streams.plan.expiring_program import expiring_fixpoint, leads_everywhere, with_earliest_times
from emberlog.streams.plan.needed_columns import needed_columns
from emberlog.streams.plan.windows import slides_in_window
from emberlog.workers.plan.capabilities import MEETS, obstacles_to_keeping

MANY_SLIDES = 1_000
"""In a window of so many, less changes from slide to slide than is worth computing anew."""

_TAKEN_BACK = frozenset({"count", "countd", "sum", "avg", "min", "max", "argmin", "argmax"})
"""Aggregates from which a contribution can be taken back."""


class Method(Enum):
    ONCE = "computed once"
    KEPT = "kept up to date"
    REPAIRED = "repaired at every slide"
    ANEW = "computed anew at every slide"


@dataclass(frozen=True, slots=True)
class Choice:
    method: Method
    why: str


@dataclass(frozen=True, slots=True)
class Maintenance:
    """Holds what is done with each relation from slide to slide. `explain` shows it, and incremental evaluation
    compiles it."""

    program: BatchProgram
    checked: CheckedProgram
    """The rules of the program, rewritten for incremental evaluation."""
    unread: Mapping[str, frozenset[int]]
    """The columns of each input, as it arrives, that no rule reads: there a null does nothing."""
    choices: Mapping[str, Choice]
    """The choice for every relation that the outputs need, in the order of evaluation, streams first."""
    slides: float
    """How many slides a tuple is in."""

    @property
    def outputs(self) -> tuple[str, ...]:
        return self.program.checked.outputs

    @property
    def notes(self) -> tuple[str, ...]:
        """Says what is done with each relation, and why, a line each."""
        by_tuples = self.why_by_tuples
        if by_tuples is not None:
            anew = self.names(Method.ANEW)
            return tuple(
                f"{name}: follows its changes tuple by tuple; {by_tuples}"
                if name in anew
                else f"{name}: {choice.method.value}; {choice.why}"
                for name, choice in self.choices.items()
            )
        return tuple(f"{name}: {choice.method.value}; {choice.why}" for name, choice in self.choices.items())

    @property
    def why_by_tuples(self) -> str | None:
        """Says why the program is evaluated as a live view, tuple by tuple, where nothing forbids that: what would be
        computed anew at each slide follows the few tuples that come and go. None if that would be slower."""
        anew = self.names(Method.ANEW)
        aggregates = {column.aggregate for name in anew for column in self.checked.relations[name].columns}
        strata = [stratum for stratum in self.checked.strata if self.choices.keys() & set(stratum.relations)]
        if not anew or aggregates - _TAKEN_BACK - {None} or any(stratum.recursion for stratum in strata):
            return None
        if self.slides < MANY_SLIDES:
            return None
        return "nothing leaves" if math.isinf(self.slides) else f"a tuple is in {self.slides:,.0f} slides"

    @property
    def why_one_partition(self) -> str | None:
        """Says what keeps all facts in one place; None if nothing does."""
        if anew := self.names(Method.ANEW):
            return f"{', '.join(anew)} computed anew from all facts at each slide"
        fixed = [name for name in self.checked.outputs if self.choices[name].method not in RESIDENT]
        return f"{', '.join(fixed)} not derived from a stream" if fixed else None

    def names(self, *methods: Method) -> tuple[str, ...]:
        return tuple(name for name, choice in self.choices.items() if choice.method in methods)


RESIDENT = (Method.KEPT, Method.REPAIRED)
"""The methods that keep facts from slide to slide."""


def plan_maintenance(checked: CheckedProgram) -> Maintenance:
    """Plans the maintenance of a program over streams; only what its queries ask for is computed."""
    program = batch_program(checked)
    asked = with_earliest_times(rewrite_demand(program.checked, NO_STATISTICS).checked, program.times)
    unread = {
        name: frozenset(range(checked.relations[name].arity)) - needed
        for name, needed in needed_columns(checked).items()
    }
    return _Planner(program, with_best_tuples(asked, program.streams), unread, slides_in_window(checked)).plan()


class _Planner:
    def __init__(
        self, program: BatchProgram, checked: CheckedProgram, unread: Mapping[str, frozenset[int]], slides: float
    ) -> None:
        self.program = program
        self.slides = slides
        self.unread = unread
        self.checked = checked
        self.choices: dict[str, Choice] = {}

    def plan(self) -> Maintenance:
        needed = set(self.program.checked.outputs)
        for stratum in reversed(self.checked.strata):
            if needed.intersection(stratum.relations):
                needed |= read_by(stratum) | set(stratum.relations)
        for name in self.checked.relations:
            if name in needed and name in self.program.streams:
                self.choices[name] = Choice(Method.KEPT, "a stream")
            elif name in needed and not any(name in stratum.relations for stratum in self.checked.strata):
                self.choices[name] = Choice(Method.ONCE, "it does not change")
        for stratum in self.checked.strata:
            if needed.intersection(stratum.relations):
                choice = self._choose(stratum)
                self.choices.update(dict.fromkeys(stratum.relations, choice))
        choices = {name: one for name, one in self.choices.items() if name in needed}
        return Maintenance(self.program, self.checked, self.unread, choices, self.slides)

    def _choose(self, stratum: Stratum) -> Choice:
        relations = self.checked.relations
        if all(self.choices[name].method is Method.ONCE for name in read_by(stratum) - set(stratum.relations)):
            return Choice(Method.ONCE, "no stream is below it")
        obstacle = next(self._obstacles(stratum), None)
        if obstacle is not None:
            return Choice(Method.ANEW, obstacle)
        values = [one.name for name in stratum.relations for one in relations[name].columns if one.aggregate]
        below = [name for name in read_by(stratum) if self._method(name) is Method.REPAIRED]
        if below or (values and stratum.recursion is not None):
            lone = [rule.name for rule in stratum.rules if not leads_everywhere(rule, relations[rule.relation])]
            if not lone:
                return Choice(Method.REPAIRED, "a fact is derived again when what it was derived from has expired")
            if below:
                reads = f"it reads {below[0]}, which has no values of later slides"
                return Choice(Method.ANEW, f"{reads}, and the keys of {lone[0]} do not lead there")
        if not values:
            return Choice(Method.KEPT, "a fact holds as long as its longest-lived derivation")
        return Choice(Method.KEPT, f"of {', '.join(values)} it has each value that will be the best one at some slide")

    def _obstacles(self, stratum: Stratum) -> Iterator[str]:
        """Says why facts of the stratum cannot simply be kept until they expire."""
        for rule in stratum.rules:
            for literal in rule.body:
                if isinstance(literal, Match) and self._method(literal.relation) is Method.ANEW:
                    yield f"it reads {literal.relation}, which is computed anew"
        changing = frozenset(name for name, choice in self.choices.items() if choice.method is not Method.ONCE)
        yield from reasons_against(self.checked, stratum, changing)
        kept = [name for name, choice in self.choices.items() if choice.method in RESIDENT]
        yield from obstacles_to_keeping(expiring_fixpoint(self.checked, (*kept, *stratum.relations), stratum.rules))

    def _method(self, name: str) -> Method | None:
        """Returns the method of a relation; None for one of the stratum that is being decided on."""
        return self.choices[name].method if name in self.choices else None


def reasons_against(checked: CheckedProgram, stratum: Stratum, changing: frozenset[str]) -> Iterator[str]:
    """Says why more facts below a stratum can mean other facts of its own than more, or better, ones. `changing` are
    the relations below it whose facts come and go."""
    relations = checked.relations
    for rule in stratum.rules:
        for literal in rule.body:
            if isinstance(literal, Absent) and literal.relation in changing:
                yield f"it negates {literal.relation}, whose facts come and go"
    if stratum.recursion is not None and stratum.recursion.case in (RecursionCase.BOUNDED, RecursionCase.STAGED):
        yield f"its recursion is a case of {stratum.recursion.case.value}"
    for name in stratum.relations:
        for column in relations[name].columns:
            if column.aggregate is not None and column.aggregate not in MEETS:
                yield f"{name} is aggregated with {column.aggregate}"
        if not _has_one_order(relations[name], [rule for rule in stratum.rules if rule.relation == name]):
            yield f"{name} has several aggregates that do not win together"
    for rule in stratum.rules:
        if rule.premappable:
            yield f"{rule.name} is @premappable, which is a promise about the end of a recursion only"
        step = non_monotone_step(rule, changing.union(stratum.relations), relations)
        if step is not None:
            yield f"{rule.name}: {step.reason}"


def read_by(stratum: Stratum) -> set[str]:
    """Lists the relations that the rules of a stratum read."""
    return {literal.relation for rule in stratum.rules for literal in rule.body if isinstance(literal, Match | Absent)}


def _has_one_order(relation: Relation, rules: list[CoreRule]) -> bool:
    """Tells whether the contributions to a key can be put in one order, so that the best one is best in every column:
    all columns go by the same values, and one at most has a choice that goes with them."""
    aggregated = [place for place, column in enumerate(relation.columns) if column.aggregate is not None]
    if len(aggregated) <= 1:
        return True
    functions = [AGGREGATES.get(relation.columns[place].aggregate or "") for place in aggregated]
    known = [function for function in functions if function is not None]
    if len({function.direction for function in known}) > 1 or sum(function.by_cost for function in known) > 1:
        return False
    for rule in rules:
        contributions = [rule.head[place] for place in aggregated]
        if len({one.arguments[0] for one in contributions if isinstance(one, Contribution)}) > 1:
            return False
    return True
