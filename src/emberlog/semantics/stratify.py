"""Stratification: relations in an order in which negation and aggregation find finished relations.

Each strongly connected component of the dependencies is a stratum. Negation inside a component is an error;
aggregation inside one is decided by `recursion`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from emberlog.deadline import check_time
from emberlog.diagnostics import Diagnostics
from emberlog.semantics.dependencies import (
    Dependency,
    components,
    cycle_through,
    dependencies_of,
    describe_cycle,
    rules_by_relation,
)
from emberlog.semantics.model import Absent, CheckedQuery, CoreRule, Relation, Stratum
from emberlog.semantics.recursion import RecursionContext, decide


def stratify(
    relations: Mapping[str, Relation],
    rules: Sequence[CoreRule],
    queries: Sequence[CheckedQuery],
    iterations: int | None,
    diagnostics: Diagnostics,
) -> tuple[Stratum, ...]:
    """Returns the strata of the derived relations, in the order of evaluation."""
    dependencies = dependencies_of(rules)
    context = RecursionContext(relations, rules, queries, iterations)
    rules_of = rules_by_relation(rules)
    in_order = components(relations, dependencies)
    number_of = {name: number for number, component in enumerate(in_order) for name in component}
    recursive: dict[int, list[Dependency]] = {}
    """By component, those inside it."""
    for one in dependencies:
        if number_of[one.head] == number_of[one.body]:
            recursive.setdefault(number_of[one.head], []).append(one)
    strata: list[Stratum] = []
    for number, component in enumerate(in_order):
        check_time("finding the strata of the program")
        if not relations[component[0]].is_derived:
            continue
        own_rules = tuple(rule for name in component for rule in rules_of.get(name, ()))
        recursion = None
        if inner := recursive.get(number):
            if _negates_itself(inner, diagnostics):
                continue
            recursion = decide(component, inner, context, diagnostics)
        strata.append(Stratum(len(strata) + 1, component, own_rules, recursion))
    return tuple(strata)


def _negates_itself(inner: Iterable[Dependency], diagnostics: Diagnostics) -> bool:
    """Reports a negation among the dependencies inside a component."""
    negated = next((d for d in inner if d.is_negated), None)
    if negated is None:
        return False
    place = next(
        literal.span
        for literal in negated.rule.body
        if isinstance(literal, Absent) and literal.relation == negated.body
    )
    diagnostics.error(
        "DL230",
        f"`{negated.head}` depends on its own negation",
        place,
        f"the cycle: {describe_cycle(cycle_through(negated, inner))}",
        f"`{negated.body}` must be complete before it is negated, and here it never is",
        "compute the negated part in a relation that does not depend on this one",
    )
    return True
