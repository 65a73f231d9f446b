"""Chooses how the values of a recursion are divided among its workers, and says why."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from emberlog.config import Execution
from emberlog.diagnostics import fail
from emberlog.logical.statistics import NO_STATISTICS, Statistics
from emberlog.syntax.ast import Variable
from emberlog.workers.kernels.tuning import MOST_DEALT
from emberlog.workers.plan.compile import CyclicProgram
from emberlog.workers.plan.mode import Mode
from emberlog.workers.plan.placement import Placement
from emberlog.workers.plan.rules import Atom, Probe, RuleChain, Start
from emberlog.workers.plan.static_placement import NO_HOME

# The arcs that a recursion walks: pairs of columns that lead from where a fact lives to where the next one will.


@dataclass(frozen=True, slots=True)
class Walk:
    relation: str
    origin: int
    target: int


def walks_of(
    program: CyclicProgram, placement: Placement, definitions: Mapping[str, CyclicProgram] | None = None
) -> tuple[Walk, ...]:
    """Returns the arcs in relations that the job reads; `definitions` are those that it computes before the
    recursion."""
    found: dict[Walk, None] = {}
    for chain in program.rules:
        first = chain.steps[0]
        assert isinstance(first, Start)
        head = placement.homes[chain.relation]
        start = placement.homes[first.atom.relation]
        if NO_HOME in (head, start):
            continue
        value = chain.head[program.relation(chain.relation).columns[head].lane]
        if isinstance(value, Variable):
            for walk in _path(first.atom.variables[start], value.name, _static_atoms(chain, program)):
                found.update(dict.fromkeys(_read(walk, definitions or {})))
    return tuple(found)


def _static_atoms(chain: RuleChain, program: CyclicProgram) -> list[Atom]:
    atoms = [step.atom for step in chain.steps if isinstance(step, Probe)]
    return [atom for atom in atoms if atom.relation in program.static_types]


def _path(origin: str, target: str, atoms: Iterable[Atom]) -> tuple[Walk, ...]:
    """Returns the shortest way from one variable to another, an arc for each atom on it."""
    ways: dict[str, tuple[Walk, ...]] = {origin: ()}
    waiting = [origin]
    for variable in waiting:
        for atom in atoms:
            if variable not in atom.variables:
                continue
            place = atom.variables.index(variable)
            for column, other in enumerate(atom.variables):
                if other not in ways:
                    ways[other] = (*ways[variable], Walk(atom.relation, place, column))
                    waiting.append(other)
    return ways.get(target, ())


def _read(walk: Walk, definitions: Mapping[str, CyclicProgram]) -> Iterator[Walk]:
    """Yields the same arcs in relations that are read: `edge(Y, X) :- arc(X, Y).` has those of `arc` the other way
    round."""
    if walk.relation not in definitions:
        # Which way an arc goes does not matter to where its ends should be.
        yield Walk(walk.relation, min(walk.origin, walk.target), max(walk.origin, walk.target))
        return
    program = definitions[walk.relation]
    columns = program.relation(walk.relation).columns
    for chain in program.seeds:
        origin, target = (chain.head[columns[place].lane] for place in (walk.origin, walk.target))
        for step in chain.steps:
            if isinstance(step, Start | Probe) and isinstance(origin, Variable) and isinstance(target, Variable):
                variables = step.atom.variables
                if origin.name in variables and target.name in variables:
                    places = variables.index(origin.name), variables.index(target.name)
                    yield from _read(Walk(step.atom.relation, *places), definitions)
                    break


class Kind(Enum):
    HASH = "hash"
    RANGE = "range"
    LOCALITY = "locality"
    TURNS = "turns"
    """Dealt out in small groups: hashes of few values leave some workers with many of them. Nobody asks for it."""


@dataclass(frozen=True, slots=True)
class PartitionChoice:
    kind: Kind
    walks: tuple[Walk, ...]
    """The arcs that it is computed from; none for hashes."""
    why: str
    is_asked_for: bool = False
    values: float = 0.0
    """About how many values there are, at least; known where they are to be dealt out."""

    def kind_for(self, workers: int) -> Kind:
        """Returns how values are placed on so many workers."""
        is_even_by_hash = self.kind is Kind.TURNS and self.values >= most_dealt(workers)
        return Kind.HASH if workers == 1 or is_even_by_hash else self.kind


def most_dealt(workers: int) -> float:
    """Returns the number of values from which on hashes spread them about evenly. With `v` values for each of `N`
    workers, the fullest has about `1 + √(2 ln N / v)` times the mean; here that is 1.5."""
    return 8 * workers * math.log(workers)


def choose_partitioning(
    program: CyclicProgram,
    placement: Placement,
    execution: Execution,
    definitions: Mapping[str, CyclicProgram] | None = None,
    statistics: Statistics = NO_STATISTICS,
) -> PartitionChoice:
    """`definitions` are the relations that the job computes before the recursion. An error if execution asks for the
    impossible."""
    if not program.rules:
        return PartitionChoice(Kind.HASH, (), "there is no recursion")  # whatever is asked for is meant for one
    walks = walks_of(program, placement, definitions)
    asked_for = None if execution.partitioning == "auto" else Kind(execution.partitioning)
    if asked_for in (Kind.RANGE, Kind.LOCALITY):
        if placement.mode is Mode.DECOMPOSED:
            raise fail(
                "DL335", f"values cannot be placed by {asked_for.value}: nothing is exchanged in mode decomposed"
            )
        if not walks:
            raise fail("DL335", f"values cannot be placed by {asked_for.value}: the rules walk no arcs of a relation")
        return PartitionChoice(asked_for, walks, "asked for", is_asked_for=True)
    if asked_for is Kind.HASH:
        return PartitionChoice(Kind.HASH, (), "asked for")
    if placement.mode is Mode.ASYNC and walks:
        return PartitionChoice(
            Kind.LOCALITY, walks, "what is linked together is derived together, without any exchange"
        )
    if placement.mode is Mode.ASYNC:
        return PartitionChoice(Kind.HASH, (), "the rules walk no arcs of a relation")
    if placement.mode is Mode.DECOMPOSED:
        return PartitionChoice(Kind.HASH, (), "nothing is exchanged")
    values = _values_of(walks, statistics)
    if walks and values is not None and values <= MOST_DEALT:
        why = f"about {values:,.0f} values, dealt out where so few would not be even by hash"
        return PartitionChoice(Kind.TURNS, walks, why, values=values)
    return PartitionChoice(Kind.HASH, (), "in rounds every worker waits for all others, wherever values are")


def _values_of(walks: Iterable[Walk], statistics: Statistics) -> float | None:
    """Returns how many values the ends of arcs have, at least; None where that is not known."""
    found = [0.0]
    for walk in walks:
        if walk.relation not in statistics:
            return None
        columns = statistics[walk.relation].columns
        found += (columns[walk.origin].distinct, columns[walk.target].distinct)
    return max(found)
