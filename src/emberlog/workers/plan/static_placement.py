"""Where the relations live that a recursion reads and does not change.

One that is always looked up by the value which decides where a valuation is can be spread by that value: each
worker then keeps, and indexes, only its part. Any other is needed whole by every worker.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from emberlog.workers.plan.rules import Atom, Probe, Refute, RuleChain, Send, Start, binds

EVERYWHERE = None

NO_HOME = -1
"""The home of a relation without keys, which one worker has alone."""


def spread_statics(
    statics: Mapping[str, int],
    homes: Mapping[str, int],
    rules: Iterable[RuleChain],
    seeds: Iterable[RuleChain],
    preferred: Mapping[str, int | None],
) -> dict[str, int | None]:
    """By relation the column that spreads it, or EVERYWHERE. `statics` have their numbers of columns; a preferred
    column is taken where it may be."""
    allowed = {name: set(range(width)) for name, width in statics.items()}
    for chain in rules:
        for relation, columns in _looked_up(chain, homes):
            if relation in allowed:  # not one of the recursion itself
                allowed[relation] &= columns
    spread = {name: _chosen(columns, preferred.get(name, -1)) for name, columns in allowed.items()}
    # Seeds come last: they run once, so they take what the rounds need.
    changed = True
    while changed:
        changed = False
        for chain in seeds:
            for relation, columns in _looked_up(chain, spread):
                if spread[relation] is not EVERYWHERE and spread[relation] not in columns:
                    spread[relation] = EVERYWHERE
                    changed = True
    return spread


def common_columns(
    relations: Collection[str], rules: Iterable[RuleChain], preferred: Mapping[str, int | None]
) -> dict[str, int]:
    """By relation the column that all rules look it up by, among others, if there is one: the preferred one, or the one
    that most valuations are already at, or could be."""
    votes: dict[str, dict[int, int]] = {}
    allowed: dict[str, set[int]] = {}
    for chain in rules:
        for step in chain.steps:
            match step:
                case Probe(Atom(relation=relation), keys) | Refute(relation, keys) if relation in relations:
                    allowed[relation] = allowed.get(relation, set(keys)) & set(keys)
                    for key in keys:
                        counted = votes.setdefault(relation, {})
                        counted[key] = counted.get(key, 0) + 1
                case _:
                    pass
    return {
        name: max(sorted(columns), key=lambda column: (column == preferred.get(name, -1), votes[name][column]))
        for name, columns in allowed.items()
        if columns
    }


def home_variable(atom: Atom, homes: Mapping[str, int | None]) -> str | None:
    """Returns the variable whose value says on which worker a row of the atom is; None where none does."""
    home = homes.get(atom.relation)
    return None if home is None or home == NO_HOME else atom.variables[home]


def _chosen(allowed: set[int], preferred: int | None) -> int | None:
    if preferred is EVERYWHERE or not allowed:
        return EVERYWHERE
    return preferred if preferred in allowed else min(allowed)


def _looked_up(chain: RuleChain, homes: Mapping[str, int | None]) -> Iterable[tuple[str, set[int]]]:
    """Yields each static relation that a rule looks up, with the columns whose value says where the valuation is."""
    at: str | None = None
    bound: set[str] = set()
    for step in chain.steps:
        match step:
            case Start(atom):
                at = home_variable(atom, homes)
            case Send(variable, to_all, lands_at=lands_at):
                at = lands_at if to_all else variable
            case Probe(atom, keys):
                # The join behind which a valuation is where it is to be finds it by a column that is no key.
                columns = range(len(atom.variables)) if at is not None and at not in bound else keys
                yield atom.relation, {column for column in columns if atom.variables[column] == at}
            case Refute(relation, keys, variables):
                yield relation, {key for key, variable in zip(keys, variables, strict=True) if variable == at}
            case _:
                pass
        bound |= binds(step)
