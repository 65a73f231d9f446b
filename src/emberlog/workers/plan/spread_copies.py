"""Copies of a relation that is too large to be whole on every worker, each spread by another column.

A relation is spread by one column, and found without an exchange by its value. Where rules look it up by different
columns, each of them reads a copy that is spread by its own: two copies together take `2 / N` of the relation on each
of `N` workers, where one on every worker takes all of it. A copy is a relation of its own to everything that runs; only
who feeds it knows whose rows it has.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from emberlog.workers.plan.compile import CyclicProgram
from emberlog.workers.plan.rules import Atom, Probe, Refute, RuleChain, Start, Step

Columns = Mapping[str, Sequence[int]]
"""By relation the columns that spread it and its copies."""


def with_spread_copies(
    programs: Sequence[CyclicProgram], large: Collection[str]
) -> tuple[list[CyclicProgram], dict[str, int]]:
    """Returns the programs with copies of these relations, where rules look them up by different columns, and the
    column by which each relation and each copy should be spread."""
    columns = _columns(programs, large)
    copied = [_copied(one, columns) for one in programs]
    return copied, {
        _named(name, place, chosen): chosen[place] for name, chosen in columns.items() for place in range(len(chosen))
    }


def _columns(programs: Sequence[CyclicProgram], large: Collection[str]) -> Columns:
    """Finds the fewest columns, or nearly so, one of which each lookup has among its keys. A relation that a rule looks
    up by nothing is needed whole, and so is one that a rule without exchange looks up by another value than that which
    says where its valuations are."""
    wanted: dict[str, list[tuple[int, ...]]] = {name: [] for name in large}
    for program in programs:  # what is joined without an exchange has to be spread alike
        for chain in program.seeds:
            wanted.update((name, []) for name, _ in _found_in_place(chain, large, program).values())
    for program in programs:
        for chain in program.rules:
            for relation, keys in _lookups(chain):
                if relation in wanted:
                    wanted[relation].append(keys)
        for chain in program.seeds:
            for relation, column in _found_in_place(chain, large, program).values():
                wanted[relation].append(() if column is None else (column,))
    return {name: _chosen(keys) for name, keys in wanted.items() if keys and all(keys)}


def _chosen(wanted: Sequence[tuple[int, ...]]) -> list[int]:
    chosen: list[int] = []
    while missing := [keys for keys in wanted if not set(keys) & set(chosen)]:
        votes = [column for keys in missing for column in keys]
        chosen.append(max(sorted(set(votes)), key=votes.count))
    return chosen


def _lookups(chain: RuleChain) -> Iterator[tuple[str, tuple[int, ...]]]:
    for step in chain.steps:
        match step:
            case Probe(Atom(relation=relation), keys) | Refute(relation, keys):
                yield relation, keys
            case _:
                pass


Placed = Mapping[int, tuple[str, int | None]]
"""By the place of a step the relation that it reads, and the column that has to spread it; None where it is needed
whole."""


def _found_in_place(chain: RuleChain, large: Collection[str], program: CyclicProgram) -> Placed:
    """Returns how a rule that runs without an exchange needs relations to be spread, if it looks up large ones: the one
    that it begins with, and these."""
    looked_up = {place: step for place, step in enumerate(chain.steps) if _relation_of(step) in large}
    first = chain.steps[0] if looked_up else None
    if isinstance(first, Start) and first.atom.relation in program.static_types:
        for column, variable in enumerate(first.atom.variables):
            keys = {place: _column_with(variable, step) for place, step in looked_up.items()}
            if None not in keys.values():
                found = {place: (_relation_of(looked_up[place]), key) for place, key in keys.items()}
                return {0: (first.atom.relation, column), **found}
    return {place: (_relation_of(step), None) for place, step in looked_up.items()}


def _relation_of(step: Step) -> str:
    """Returns the relation that a step looks up; nothing for other steps."""
    match step:
        case Probe(Atom(relation=relation)) | Refute(relation):
            return relation
        case _:
            return ""


def _column_with(variable: str, step: Step) -> int | None:
    """Returns a column that a step looks up by the value of this variable."""
    match step:
        case Probe(atom, keys):
            return next((key for key in keys if atom.variables[key] == variable), None)
        case Refute(_, keys, variables):
            return next((key for key, one in zip(keys, variables, strict=True) if one == variable), None)
        case _:
            return None


def _named(relation: str, place: int, columns: Sequence[int]) -> str:
    """Returns the name of a copy; the first is the relation itself."""
    return relation if place == 0 else f"{relation}[{columns[place] + 1}]"


def _copied(program: CyclicProgram, columns: Columns) -> CyclicProgram:
    copies: dict[str, str] = {}

    def name_of(relation: str, keys: Collection[int]) -> str:
        chosen = columns.get(relation, ())
        place = next((place for place, column in enumerate(chosen) if column in keys), 0)
        if place == 0:  # the relation itself is spread by the first
            return relation
        name = _named(relation, place, chosen)
        copies[name] = relation
        return name

    def in_rule(step: Step) -> Step:
        match step:
            case Probe(atom, keys):
                return replace(step, atom=replace(atom, relation=name_of(atom.relation, keys)))
            case Refute(relation, keys):
                return replace(step, relation=name_of(relation, keys))
            case _:
                return step

    def in_seed(chain: RuleChain) -> RuleChain:
        found = _found_in_place(chain, columns, program)

        def step_of(place: int, step: Step) -> Step:
            relation, column = found.get(place, ("", None))
            if column is None:
                return step
            name = name_of(relation, (column,))
            match step:
                case Start(atom) | Probe(atom, _):
                    return replace(step, atom=replace(atom, relation=name))
                case Refute():
                    return replace(step, relation=name)
                case _:
                    return step

        return replace(chain, steps=tuple(step_of(place, step) for place, step in enumerate(chain.steps)))

    rules = tuple(replace(chain, steps=tuple(map(in_rule, chain.steps))) for chain in program.rules)
    seeds = tuple(map(in_seed, program.seeds))
    if not copies:
        return program
    return replace(
        program,
        rules=rules,
        seeds=seeds,
        statics=(*program.statics, *copies),
        static_types={**program.static_types, **{name: program.static_types[one] for name, one in copies.items()}},
        copied=copies,
    )
