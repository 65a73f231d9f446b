"""How the facts of a recursive relation came and changed, iteration by iteration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from emberlog.diagnostics import fail
from emberlog.provenance.facts import FactBase, iteration_in
from emberlog.provenance.model import Goal, Step
from emberlog.provenance.proofs import Prover
from emberlog.provenance.refutations import Pattern
from emberlog.render.wording import pattern_text
from emberlog.semantics.model import Fact, RecursionCase, Relation

MOST_ROWS = 200_000
"""That a trace looks at."""


@dataclass(frozen=True, slots=True)
class Change:
    """A fact that came, and the one that it replaced in its group; or one that went."""

    fact: Fact
    replaced: Fact | None = None
    is_gone: bool = False
    step: Step | None = None
    """That derived it."""


@dataclass(frozen=True, slots=True)
class IterationChanges:
    iteration: int | None
    """None where there is no recursion."""
    changes: tuple[Change, ...]
    """Some of them, in the order of facts."""
    count: int
    """How many there are."""


@dataclass(frozen=True, slots=True)
class TraceData:
    pattern: Pattern
    iterations: tuple[IterationChanges, ...]


def traced(base: FactBase, pattern: Pattern, *, limit: int) -> TraceData:
    """What came and changed of the facts that agree with the pattern; of each iteration at most `limit` are listed."""
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
    return TraceData(pattern, tuple(found))


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
    """A round has all its facts, and may have fewer than the one before."""
    before: Mapping[Fact, Fact] = {}
    for number in range(1, last + 1):
        after = by_round.get(number, {})
        changes = [Change(fact, before.get(key)) for key, fact in after.items() if before.get(key) != fact]
        yield number, changes + [Change(fact, is_gone=True) for key, fact in before.items() if key not in after]
        before = after


def _key(relation: Relation, fact: Fact) -> Fact:
    """The group, or the whole fact where nothing is aggregated."""
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
