"""Which inputs have to be made sets before they are read: those whose repeated rows somebody would notice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from emberlog.logical.nodes import (
    Aggregate,
    AntiJoin,
    Definition,
    Distinct,
    Filter,
    Fixpoint,
    Join,
    LogicalPlan,
    Plan,
    Project,
    Scan,
    Union,
    Values,
)
from emberlog.logical.properties import takes_repeats


def inputs_that_must_be_sets(plan: LogicalPlan) -> frozenset[str]:
    found = set(plan.outputs)  # an input that is asked for as it is
    for stratum in plan.strata:
        match stratum.root:
            case Definition(_, definition):
                found.update(_noticed(definition, is_noticed=True))
            case Fixpoint(relations):
                for relation in relations:
                    is_noticed = not all(map(takes_repeats, relation.aggregates))
                    for one in (relation.seed, *(rule.plan for rule in relation.rules)):
                        found.update(_noticed(one, is_noticed))
            case _:
                assert_never(stratum.root)
    return frozenset(found) & plan.inputs.keys()


def _noticed(plan: Plan, is_noticed: bool) -> Iterator[str]:
    """Yields the relations whose repeated rows would show in the result."""
    match plan:
        case Scan(relation):
            if is_noticed:
                yield relation
        case Values():
            return
        case Distinct(source):
            yield from _noticed(source, is_noticed=False)
        case Aggregate(source, _, aggregates):
            yield from _noticed(source, not all(map(takes_repeats, aggregates)))
        case Filter(source) | Project(source):
            yield from _noticed(source, is_noticed)
        case AntiJoin(left, right):
            yield from _noticed(left, is_noticed)
            yield from _noticed(right, is_noticed=False)
        case Join(left, right):
            yield from _noticed(left, is_noticed)
            yield from _noticed(right, is_noticed)
        case Union(inputs):
            for one in inputs:
                yield from _noticed(one, is_noticed)
        case _:
            assert_never(plan)
