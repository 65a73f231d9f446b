"""Counts what a join would repeat before it is joined: an input of which few columns are needed is grouped by them, and
its rows come with their number. What is counted above is then the sum of the products of these numbers.

Correct because a valuation of the body is a choice of one row of each input: those whose rows agree in all columns that
are needed stay or go together, and there are as many as the product of the numbers says. Other aggregates beside the
count have to be such that a repeat adds nothing to them. A count of nothing at all is 0, which a sum is not: a row with
the number 0 is added where the group has no variables.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from emberlog.datatypes import INT
from emberlog.logical.expressions import columns_of
from emberlog.logical.nodes import (
    Aggregate,
    AggregateColumn,
    Field,
    LogicalPlan,
    Output,
    Plan,
    Project,
    Scan,
    Union,
    Values,
)
from emberlog.logical.properties import takes_repeats
from emberlog.logical.traverse import column_names, with_children
from emberlog.optimize.context import PassContext
from emberlog.optimize.join_region import put_together, region_of
from emberlog.optimize.repeated_inputs import SideRelations, with_side_relations
from emberlog.syntax.ast import Binary, BinaryOperator, Expression, Variable

NUMBER = "number"
"""Of the rows that an input has for one: no variable of a program has a name with a dot in it."""


def aggregate_eagerly(plan: LogicalPlan, _context: PassContext) -> LogicalPlan:
    return with_side_relations(plan, _eager)


def _eager(plan: Plan, beside: SideRelations) -> Plan:
    """A count of a join, perhaps with its columns put in order."""
    match plan:
        case Project(Aggregate() as inner):
            return with_children(plan, (_eager(inner, beside),))
        case Aggregate(Project(body, outputs, rule), keys, aggregates):
            counts = [one for one in aggregates if _is_count(one)]
            if not counts or not all(one in counts or takes_repeats(one) for one in aggregates):
                return plan
            counted = _counted(body, frozenset(name for one in outputs for name in columns_of(one.expression)), beside)
            if counted is None:
                return plan
            weighted, weight = counted
            number = Field(f"{NUMBER}.of", INT)
            head = Project(weighted, (*outputs, Output(number, weight)), rule)
            is_zero_for_nothing = not keys and len(counts) == len(aggregates)
            return Aggregate(
                _with_nothing(head) if is_zero_for_nothing else head,
                keys,
                tuple(
                    replace(one, function="sum", arguments=(number.name,)) if one in counts else one
                    for one in aggregates
                ),
            )
        case _:
            return plan


def _is_count(aggregate: AggregateColumn) -> bool:
    """Of valuations, whatever is in them: a count of a variable leaves its nulls out."""
    return aggregate.function == "count" and not aggregate.arguments


def _counted(body: Plan, wanted: frozenset[str], beside: SideRelations) -> tuple[Plan, Expression] | None:
    """The body with inputs grouped that have mostly repeats, and how many valuations a row of it stands for."""
    region = region_of(body)
    if len(region.inputs) < 2 or not any(map(beside.is_worthwhile, region.inputs)):
        return None
    inputs: list[Plan] = []
    numbers: list[str] = []
    for place, one in enumerate(region.inputs):
        if not beside.is_worthwhile(one):
            inputs.append(one)
            continue
        number = Field(f"{NUMBER}.{place + 1}", INT)
        count = AggregateColumn(Field(NUMBER, INT), "count", ())
        grouped = beside.add(Aggregate(one, column_names(one), (count,)))
        inputs.append(Scan(grouped.relation, (*one.columns, number)))
        numbers.append(number.name)
    joined = put_together(replace(region, inputs=tuple(inputs)), range(len(inputs)), wanted | set(numbers))
    variables: list[Expression] = [Variable(name) for name in numbers]
    return joined, reduce(lambda left, right: Binary(BinaryOperator.MULTIPLY, left, right), variables)


def _with_nothing(head: Project) -> Plan:
    zero = tuple(0 if field.name == f"{NUMBER}.of" else None for field in head.columns)
    return Union((head, Values(head.columns, (zero,))))
