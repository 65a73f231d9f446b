"""The arcs that a recursion walks: pairs of columns that lead from where a fact lives to where the next one will."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from emberlog.syntax.ast import Variable
from emberlog.workers.plan.compile import CyclicProgram
from emberlog.workers.plan.placement import Placement
from emberlog.workers.plan.rules import Atom, Probe, RuleChain, Start
from emberlog.workers.plan.static_placement import NO_HOME


@dataclass(frozen=True, slots=True)
class Walk:
    relation: str
    origin: int
    target: int


def walks_of(
    program: CyclicProgram, placement: Placement, definitions: Mapping[str, CyclicProgram] | None = None
) -> tuple[Walk, ...]:
    """Arcs in relations that the job reads; `definitions` are those that it computes before the recursion."""
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
    """The shortest way from one variable to another, an arc for each atom on it."""
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
    """The same arcs in relations that are read: `edge(Y, X) :- arc(X, Y).` has those of `arc` the other way round."""
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
