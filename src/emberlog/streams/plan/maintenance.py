"""Which relations of a stream program are computed once, which are kept up to date, and which are computed anew.

A relation is kept up to date when more facts below it can only mean more, or better, facts of its own: then a fact
holds exactly as long as one of its derivations does. Everything else is computed anew from those, slide by slide.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from emberlog.logical.statistics import NO_STATISTICS
from emberlog.optimize.rewrite_demand import rewrite_demand
from emberlog.semantics.model import (
    CheckedProgram,
    Column,
    Match,
    Relation,
    Stratum,
)
from emberlog.streams.plan.batch_program import BatchProgram, batch_program
from emberlog.streams.plan.best_tuples import with_best_tuples
from emberlog.streams.plan.expiring_program import expiring_fixpoint, with_earliest_times
from emberlog.streams.plan.monotone_strata import read_by, reasons_against
from emberlog.streams.plan.repairing import leads_everywhere
from emberlog.workers.plan.capabilities import obstacles


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
    checked: CheckedProgram
    outputs: tuple[str, ...]
    choices: Mapping[str, Choice]
    """Of every relation that the outputs need, in the order of evaluation, streams first."""

    def names(self, *methods: Method) -> tuple[str, ...]:
        return tuple(name for name, choice in self.choices.items() if choice.method in methods)


RESIDENT = (Method.KEPT, Method.REPAIRED)
"""Whose facts stay from slide to slide."""


def plan_maintenance(program: BatchProgram) -> Maintenance:
    """The maintenance of the program that computes only what its queries ask for."""
    checked = with_earliest_times(rewrite_demand(program.checked, NO_STATISTICS).checked, program.times)
    return _Planner(with_best_tuples(checked, program.streams), program.streams, program.checked.outputs).run()


def evaluation_notes(checked: CheckedProgram) -> tuple[str, ...]:
    """What incremental evaluation does with each relation, and why, a line each."""
    choices = plan_maintenance(batch_program(checked)).choices
    return tuple(f"{name}: {choice.method.value}; {choice.why}" for name, choice in choices.items())


class _Planner:
    def __init__(self, checked: CheckedProgram, streams: tuple[str, ...], outputs: tuple[str, ...]) -> None:
        self.checked = checked
        self.outputs = outputs
        self.streams = streams
        self.choices: dict[str, Choice] = {}

    def run(self) -> Maintenance:
        needed = _needed(self.checked, self.outputs)
        for name in self.checked.relations:
            if name in needed and name in self.streams:
                self.choices[name] = Choice(Method.KEPT, "a stream")
            elif name in needed and not any(name in stratum.relations for stratum in self.checked.strata):
                self.choices[name] = Choice(Method.ONCE, "it does not change")
        for stratum in self.checked.strata:
            if needed.intersection(stratum.relations):
                choice = self._choose(stratum)
                self.choices.update(dict.fromkeys(stratum.relations, choice))
        choices = {name: one for name, one in self.choices.items() if name in needed}
        return Maintenance(self.checked, self.outputs, choices)

    def _choose(self, stratum: Stratum) -> Choice:
        if all(self.choices[name].method is Method.ONCE for name in read_by(stratum) - set(stratum.relations)):
            return Choice(Method.ONCE, "no stream is below it")
        obstacle = next(self._obstacles(stratum), None)
        if obstacle is not None:
            return Choice(Method.ANEW, obstacle)
        values = [column.name for name in stratum.relations for column in _aggregated(self.checked.relations[name])]
        below = [name for name in read_by(stratum) if self._method(name) is Method.REPAIRED]
        if below or (values and stratum.recursion is not None):
            lone = [
                rule.name for rule in stratum.rules if not leads_everywhere(rule, self.checked.relations[rule.relation])
            ]
            if not lone:
                return Choice(Method.REPAIRED, "a fact is derived again when what it was derived from has expired")
            if below:
                reads = f"it reads {below[0]}, which has no values of later slides"
                return Choice(Method.ANEW, f"{reads}, and the keys of {lone[0]} do not lead there")
        if not values:
            return Choice(Method.KEPT, "a fact holds as long as its longest-lived derivation")
        return Choice(Method.KEPT, f"of {', '.join(values)} it has each value that will be the best one at some slide")

    def _obstacles(self, stratum: Stratum) -> Iterator[str]:
        """Why facts of the stratum cannot simply be kept until they expire."""
        for rule in stratum.rules:
            for literal in rule.body:
                if isinstance(literal, Match) and self._method(literal.relation) is Method.ANEW:
                    yield f"it reads {literal.relation}, which is computed anew"
        changing = frozenset(name for name, choice in self.choices.items() if choice.method is not Method.ONCE)
        yield from reasons_against(self.checked, stratum, changing)
        yield from obstacles(expiring_fixpoint(self.checked, (*self._kept(), *stratum.relations), stratum.rules))

    def _method(self, name: str) -> Method | None:
        """None for a relation of the stratum itself."""
        return self.choices[name].method if name in self.choices else None

    def _kept(self) -> list[str]:
        return [name for name, choice in self.choices.items() if choice.method in RESIDENT]


def _needed(checked: CheckedProgram, outputs: tuple[str, ...]) -> set[str]:
    needed = set(outputs)
    for stratum in reversed(checked.strata):
        if needed.intersection(stratum.relations):
            needed |= read_by(stratum) | set(stratum.relations)
    return needed


def _aggregated(relation: Relation) -> list[Column]:
    return [column for column in relation.columns if column.aggregate is not None]
