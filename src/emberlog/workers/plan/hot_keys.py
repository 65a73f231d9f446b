"""Which relations may have the rows of a frequent key on all workers, and what rules then do.

A relation that is spread by a column has all rows of a value on one worker, however many they are. If one value has
very many (`workers/store/hot_keys.py` finds out), its rows are divided among all workers, and a valuation that looks
them up goes to all of them: each finds other rows, so nothing is found twice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from emberlog.workers.plan.rules import Probe, Refute, RuleChain, Send, Start, Step
from emberlog.workers.plan.static_placement import home_variable


def splittable(
    spread: Mapping[str, int | None], rules: Collection[RuleChain], seeds: Iterable[RuleChain]
) -> frozenset[str]:
    """Returns the relations that do not change whose rows may be anywhere if their key is hot: rules look them up for
    their rows, not for whether there is one, and what runs without exchange does not rely on where they are."""
    found = {_probed(step) for chain in rules for step in chain.steps if isinstance(step, Probe)}
    for chain in rules:
        lands_at: str | None = None
        for step in chain.steps:
            match step:
                case Refute(relation):
                    found.discard(relation)
                case Probe(atom) if atom.asks:
                    found.discard(atom.relation)
                case Start(atom):
                    found.discard(atom.relation)
                case Send():
                    lands_at = step.lands_at
                case Probe(atom) if lands_at in atom.variables:
                    found.discard(atom.relation)  # where its rows are says where the head is
                case _:
                    pass
    for chain in seeds:
        located = [step for step in chain.steps if _is_located(step, spread)]
        if located:
            found -= {_probed(step) for step in chain.steps}
    return frozenset(name for name in found if spread.get(name) is not None)


def with_hot_keys(
    chain: RuleChain, homes: Mapping[str, int], spread: Mapping[str, int | None], split: Collection[str]
) -> RuleChain:
    """Returns a rule that has its moves already, with those that relations with hot keys make necessary."""
    members = frozenset(homes)
    steps: list[Step] = []
    planned: str | None = None
    """The variable at whose worker a valuation is by the plan."""
    is_there = True
    for step in chain.steps:
        match step:
            case Start(atom):
                planned = home_variable(atom, homes)
            case Send(variable, to_all):
                planned, is_there = None if to_all else variable, True
            case Probe(atom) if atom.relation in split:
                column = spread[atom.relation]
                assert column is not None
                variable = atom.variables[column]
                is_sent = bool(steps) and isinstance(steps[-1], Send) and steps[-1].variable == variable
                if is_sent:
                    steps.pop()
                at_home = is_there and planned == variable and not is_sent
                steps.append(Send(variable, meets=atom.relation, at_home=at_home))
                is_there = False
            case _ if not is_there and planned is not None and _is_located(step, spread, members):
                steps.append(Send(planned))
                is_there = True
            case _:
                pass
        steps.append(step)
    return replace(chain, steps=tuple(steps))


def _is_located(step: Step, spread: Mapping[str, int | None], members: frozenset[str] = frozenset()) -> bool:
    """Tells whether a step finds the right rows only on the right worker."""
    match step:
        case Probe(atom, keys):
            return bool(keys) and (atom.relation in members or spread.get(atom.relation) is not None)
        case Refute(relation):
            return spread.get(relation) is not None
        case _:
            return False


def _probed(step: Step) -> str:
    match step:
        case Probe(atom) | Start(atom):
            return atom.relation
        case Refute(relation):
            return relation
        case _:
            return ""
