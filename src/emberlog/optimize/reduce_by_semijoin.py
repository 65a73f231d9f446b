"""Joins with each row that matters once, where nobody counts: an input that only says whether there is a partner, or
that repeats what is left of it, is made a set before it is joined.

Correct because what is above keeps one of each row anyway (a set, or an aggregate to which a repeat adds nothing): a
row that is joined once instead of many times gives the same rows, each perhaps less often.
"""

from __future__ import annotations

from emberlog.logical.nodes import Aggregate, Distinct, Join, LogicalPlan, Plan, Scan
from emberlog.logical.properties import takes_repeats
from emberlog.logical.traverse import children, with_children
from emberlog.optimize.context import PassContext
from emberlog.optimize.repeated_inputs import SideRelations, with_side_relations


def reduce_by_semijoin(plan: LogicalPlan, _context: PassContext) -> LogicalPlan:
    return with_side_relations(plan, lambda one, beside: _reduced(one, beside, is_noticed=True))


def _reduced(plan: Plan, beside: SideRelations, *, is_noticed: bool) -> Plan:
    """`is_noticed`: whether it makes a difference above how often a row is there."""
    match plan:
        case Distinct():
            is_noticed = False
        case Aggregate(_, _, aggregates):
            is_noticed = not all(map(takes_repeats, aggregates))
        case _:
            pass
    new = []
    for child in children(plan):
        reduced = _reduced(child, beside, is_noticed=is_noticed)
        # A relation has columns: nobody can keep rows of nothing.
        if isinstance(plan, Join) and not is_noticed and reduced.columns and beside.is_worthwhile(reduced):
            reduced = Scan(beside.add(Distinct(reduced)).relation, reduced.columns)
        new.append(reduced)
    return with_children(plan, tuple(new))
