"""A rule over several atoms as a sequence of rules, each evaluated where its data lives (Datalography, Algorithm 3).

A relation of the recursion lives by the value of one column, its home, and where a rule looks it up by others by a copy
partitioned by one of these. So a valuation is at the worker that owns the value of some variable, which is a property
of each step of a rule; a `Send` stands exactly where the next step's data is at another variable. What is in front of
it is a rule of its own, whose facts, with no more columns than what follows reads, are what is exchanged. A relation
that a rule looks up by nothing is joined where each of its parts is, with valuations that are sent to every worker.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from emberlog.logical.rule_text import atom_text
from emberlog.syntax.ast import Variable
from emberlog.workers.plan.compile import CyclicProgram
from emberlog.workers.plan.rules import (
    Assign,
    Probe,
    Refute,
    RuleChain,
    Send,
    Start,
    Step,
    binds,
    needed_after,
    reads,
    step_text,
)
from emberlog.workers.plan.static_placement import NO_HOME, home_variable


@dataclass(frozen=True, slots=True)
class Split:
    """A rule with the moves between its parts, and the copies that these need."""

    chain: RuleChain
    copies: tuple[tuple[str, int], ...]
    """Relations of the recursion, with a column that is not their home and that they have to be found by."""


def split_rule_by_location(
    chain: RuleChain, program: CyclicProgram, homes: Mapping[str, int], spread: Mapping[str, int] | None = None
) -> Split:
    """Returns the rule with its moves. `spread` are relations that do not change and are too large to be everywhere,
    with the column that they are looked up by: valuations move to them."""
    spread = spread or {}
    names = {relation.name for relation in program.relations}
    steps: list[Step] = []
    copies: dict[tuple[str, int], None] = {}
    at: str | None = None
    bound: set[str] = set()
    for step, needed in zip(chain.steps, needed_after(chain), strict=True):
        match step:
            case Start(atom):
                at = home_variable(atom, homes)
            case Probe(atom, keys) if atom.relation in names and keys:
                column = _probe_column(atom.relation, keys, program, homes)
                if column != homes[atom.relation]:
                    copies[atom.relation, column] = None
                if at != atom.variables[column]:
                    at = atom.variables[column]
                    steps.append(Send(at))
            case Probe(atom, ()) if atom.relation in names:
                # Each worker has a part of the relation. To send it what is to be joined costs as much as to send it
                # the other parts of the relation, and no memory.
                steps.append(Send(min(bound & needed or bound), to_all=True))
                at = None
            case Probe(atom, keys) if spread.get(atom.relation) in keys:
                if at != (owner := atom.variables[spread[atom.relation]]):
                    at = owner
                    steps.append(Send(at))
            case Refute(relation, keys, variables) if spread.get(relation) in keys:
                if at != (owner := variables[keys.index(spread[relation])]):
                    at = owner
                    steps.append(Send(at))
            case _:
                pass
        steps.append(step)
        bound |= binds(step)
    return Split(replace(chain, steps=tuple(steps)), tuple(copies))


@dataclass(frozen=True, slots=True)
class Landing:
    """A rule that derives facts where they belong: in front of the join that says where that is, valuations go to all
    workers, each of which has the rows of the values that it owns."""

    chain: RuleChain
    relation: str
    """The one that is joined."""
    column: int
    """The one that has to spread it."""


def landing(chain: RuleChain, program: CyclicProgram, homes: Mapping[str, int]) -> Landing | None:
    """Returns a rule that has its moves already as one that lands; None where the home of its head does not come from a
    join with a relation that does not change, or where valuations move behind it."""
    home = homes[chain.relation]
    value = None if home == NO_HOME else chain.head[program.relation(chain.relation).columns[home].lane]
    if not isinstance(value, Variable):
        return None
    place = next((place for place, step in enumerate(chain.steps) if value.name in binds(step)), 0)
    join = chain.steps[place]
    if not isinstance(join, Probe) or join.atom.relation not in program.static_types:
        return None
    # What may have to wait for the join, because it fails for valuations that find nothing, does not move.
    begin = next((early for early, step in enumerate(chain.steps[:place]) if _is_early(step)), place)
    members = {relation.name for relation in program.relations}
    if any(isinstance(step, Send) or _reads_one_of(step, members) for step in chain.steps[begin:]):
        return None
    carried = frozenset().union(*map(binds, chain.steps[:begin])) & needed_after(chain)[begin]
    if not carried:  # what only has to be there is met once, and not by every valuation that says so
        return None
    send = Send(min(carried), to_all=True, lands_at=value.name)
    steps = (*chain.steps[:begin], send, *chain.steps[begin:])
    return Landing(replace(chain, steps=steps), join.atom.relation, join.atom.variables.index(value.name))


def _reads_one_of(step: Step, relations: set[str]) -> bool:
    return isinstance(step, Probe) and step.atom.relation in relations


def _is_early(step: Step) -> bool:
    return isinstance(step, Assign) and step.is_early


def _probe_column(name: str, keys: tuple[int, ...], program: CyclicProgram, homes: Mapping[str, int]) -> int:
    """Returns the column by which the rows to be found are partitioned: the home if it is among the keys."""
    relation = program.relation(name)
    usable = [key for key in keys if relation.columns[key].lane < relation.keys]
    return homes[name] if homes[name] in usable else usable[0]


@dataclass(frozen=True, slots=True)
class LocatedRule:
    """A part of a rule that is evaluated without exchange."""

    at: str | None
    """The variable whose value says on which worker; None where every worker has a share."""
    head: str
    body: tuple[str, ...]
    is_for_all: bool = False
    """Whether its facts go to every worker."""

    def __str__(self) -> str:
        where = "anywhere" if self.at is None else f"where {self.at} is"
        return f"{where}: {self.head} :- {', '.join(self.body)}."


def located_rules(chain: RuleChain, homes: Mapping[str, int]) -> Iterator[LocatedRule]:
    """Yields the rules that a split rule is, one after the other; the heads of all but the last are exchanged."""
    needed = needed_after(chain)
    at = _begin(chain, homes)
    number, body, bound = 1, list[str](), set[str]()
    for place, step in enumerate(chain.steps):
        if isinstance(step, Send):
            carried = tuple(Variable(name) for name in sorted(bound & needed[place] | reads(step)))
            head = atom_text(f"{chain.name}.{number}", carried)
            yield LocatedRule(at, head, tuple(body), step.to_all)
            at, number, body = step.lands_at if step.to_all else step.variable, number + 1, [head]
        else:
            body.append(step_text(step))
            bound |= binds(step)
    yield LocatedRule(at, atom_text(chain.relation, chain.head), tuple(body))


def _begin(chain: RuleChain, homes: Mapping[str, int]) -> str | None:
    match chain.steps[:1]:
        case (Start(atom),):
            return home_variable(atom, homes)
        case _:
            return None
