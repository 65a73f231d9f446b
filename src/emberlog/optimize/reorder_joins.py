"""Puts the joins of a body into the order whose intermediate results are smallest, by the statistics of the data.

Correct because joins are bags of pairs that agree: any order gives the same rows. Only joins, conditions that cannot
fail and projections that leave columns out change places. What can fail is computed for the same rows as before, as
it stands above or below all of them; a column that is int here and float there keeps its joins in place.
"""

from __future__ import annotations

from emberlog.logical.expressions import columns_of
from emberlog.logical.nodes import Aggregate, LogicalPlan, Plan, PlannedStratum, Project
from emberlog.logical.statistics import Statistics
from emberlog.logical.traverse import children, column_names, map_strata, map_stratum_plans, with_children
from emberlog.optimize.cardinality import NotKnown, estimate
from emberlog.optimize.context import PassContext
from emberlog.optimize.derived_statistics import with_relations_of
from emberlog.optimize.join_order import best_order
from emberlog.optimize.join_region import exactly, has_one_type_each, put_together, region_of


def reorder_joins(plan: LogicalPlan, _context: PassContext) -> LogicalPlan:
    if not plan.statistics:
        return plan
    known = plan.statistics

    def in_turn(stratum: PlannedStratum) -> PlannedStratum:
        nonlocal known
        known = with_relations_of(stratum, known)
        return reordered(stratum, known)

    return map_strata(plan, in_turn)


def reordered(stratum: PlannedStratum, statistics: Statistics) -> PlannedStratum:
    """Returns one stratum, by what is known when its turn has come; its own relations have to be in the statistics,
    too."""
    return map_stratum_plans(stratum, lambda plan: _reordered(plan, statistics))


def _reordered(plan: Plan, statistics: Statistics, wanted: frozenset[str] | None = None) -> Plan:
    """Returns the plan with its joins in order. Where `wanted` is given, other columns may be left out, and their order
    does not matter."""
    region = region_of(plan)
    if len(region.inputs) == 1:
        read = _columns_read(plan)
        return with_children(plan, tuple(_reordered(child, statistics, read) for child in children(plan)))
    inputs = tuple(_reordered(one, statistics) for one in region.inputs)
    if all(new is old for new, old in zip(inputs, region.inputs, strict=True)):
        changed = plan
    else:
        changed = _with_inputs(plan, dict(zip(map(id, region.inputs), inputs, strict=True)))
        region = region_of(changed)
    if len(region.inputs) == 2:  # the same either way round
        return changed
    try:
        estimates = [estimate(one, statistics) for one in region.inputs]
    except NotKnown:
        return changed
    order = best_order(estimates, region.conditions)
    if order.inputs == tuple(range(len(estimates))) or not has_one_type_each(region):
        return changed
    if wanted is not None:
        return put_together(region, order.inputs, wanted)
    return exactly(put_together(region, order.inputs, set(column_names(plan))), plan.columns)


def _columns_read(plan: Plan) -> frozenset[str] | None:
    """Returns what a node that names the columns it reads needs of its input; None where it takes all of them."""
    match plan:
        case Project(_, outputs):
            return frozenset(name for output in outputs for name in columns_of(output.expression))
        case Aggregate(_, keys, aggregates):
            return frozenset((*keys, *(name for column in aggregates for name in column.arguments)))
        case _:
            return None


def _with_inputs(plan: Plan, new: dict[int, Plan]) -> Plan:
    """Returns the plan with some of its parts replaced, which are given by identity."""
    if id(plan) in new:
        return new[id(plan)]
    return with_children(plan, tuple(_with_inputs(child, new) for child in children(plan)))
