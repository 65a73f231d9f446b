"""An input of a join that only says whether there is a partner is asked for that, and for nothing else.

`q(X) :- i(X), e(X, _), f(_)` needs of `e` whether it has a fact with X, and of `f` whether it has any. Joined as bags
they would give a row for every pair of facts; as sets of what they share with the rest of the body they give one. It
needs no statistics, as a row is never joined with more than one such partner afterwards, and it helps in recursions,
where a rule is evaluated in every round. What statistics promise more for has been made a relation of its own before
(see `reduce_by_semijoin`).

Correct for the same reason as there: what is above keeps one of each row anyway (a set, or an aggregate to which a
repeat adds nothing), so a row that comes once instead of many times gives the same facts. Under `count`, `sum`, `avg`
and `collect` every valuation counts, and inputs stay as they are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from emberlog.logical.nodes import (
    Aggregate,
    Definition,
    Distinct,
    Filter,
    Fixpoint,
    FixpointRelation,
    Join,
    LogicalPlan,
    Plan,
    PlannedStratum,
    Project,
    Scan,
)
from emberlog.logical.properties import is_set, takes_repeats
from emberlog.logical.traverse import children, column_names, map_strata, map_stratum_plans, walk, with_children
from emberlog.optimize.context import PassContext
from emberlog.syntax.ast import Variable


def ask_for_existence(plan: LogicalPlan, _context: PassContext) -> LogicalPlan:
    return map_strata(plan, _asked_in_stratum)


def _asked_in_stratum(stratum: PlannedStratum) -> PlannedStratum:
    match stratum.root:
        case Definition():
            return map_stratum_plans(stratum, lambda plan: _asked(plan, is_noticed=True))
        case Fixpoint(relations):
            new = tuple(map(_asked_in_relation, relations))
            return stratum if new == relations else replace(stratum, root=replace(stratum.root, relations=new))
    assert_never(stratum.root)


def _asked_in_relation(relation: FixpointRelation) -> FixpointRelation:
    is_noticed = not all(map(takes_repeats, relation.aggregates))
    seed = _asked(relation.seed, is_noticed=is_noticed)
    rules = tuple(replace(rule, plan=_asked(rule.plan, is_noticed=is_noticed)) for rule in relation.rules)
    return replace(relation, seed=seed, rules=rules)


def _asked(plan: Plan, *, is_noticed: bool) -> Plan:
    """Returns the plan with sets for what only has to be there. `is_noticed`: whether it matters how often a row
    comes."""
    match plan:
        case Distinct():
            is_noticed = False
        case Aggregate(_, _, aggregates):
            is_noticed = not all(map(takes_repeats, aggregates))
        case _:
            pass
    new = tuple(_asked(child, is_noticed=is_noticed) for child in children(plan))
    if isinstance(plan, Join) and not is_noticed:
        new = tuple(Distinct(side) if _only_has_to_be_there(side, plan) else side for side in new)
    return with_children(plan, new)


def _only_has_to_be_there(side: Plan, join: Join) -> bool:
    """Tells whether nothing but columns of the join is left of an input that reads one relation and computes
    nothing."""
    is_plain = all(map(_hands_through, walk(side)))
    return is_plain and set(column_names(side)) <= set(join.on) and not is_set(side)


def _hands_through(node: Plan) -> bool:
    match node:
        case Project(_, outputs):
            return all(isinstance(output.expression, Variable) for output in outputs)
        case _:
            return isinstance(node, Scan | Filter)
