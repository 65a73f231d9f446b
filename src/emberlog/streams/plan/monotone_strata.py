"""Whether more facts below a stratum can only mean more, or better, facts of its own.

Then a fact holds exactly as long as one of its derivations does.
"""

from __future__ import annotations

from collections.abc import Iterator

from emberlog.language.registry import AGGREGATES
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
from emberlog.workers.plan.capabilities import MEETS


def reasons_against(checked: CheckedProgram, stratum: Stratum, changing: frozenset[str]) -> Iterator[str]:
    """Why not. `changing` are the relations below it whose facts come and go."""
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
    return {literal.relation for rule in stratum.rules for literal in rule.body if isinstance(literal, Match | Absent)}


def _has_one_order(relation: Relation, rules: list[CoreRule]) -> bool:
    """Whether the contributions to a key can be put in one order, so that the best one is best in every column: all
    columns go by the same values, and one at most has a choice that goes with them."""
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
