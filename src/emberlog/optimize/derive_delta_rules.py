"""Gives every recursive rule its delta plans: what is new in this iteration must use something new of the last one.

Let a body read relations of its stratum k times, with facts F = B + D (before, delta). The derivations in F × … × F
that are not in B × … × B are split by their first atom that reads a delta fact: plan i reads B in the atoms before i, D
in atom i and F after it. So each new derivation is found once, in exactly one plan, whatever k and whichever relations.
It is right where an old derivation stays valid: sets, meet aggregates, monotone counts and sums. In staged and
bounded recursion a round can take facts back, so these keep their full plans.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from emberlog.logical.nodes import (
    Definition,
    Fixpoint,
    FixpointRelation,
    LogicalPlan,
    Plan,
    PlannedStratum,
    RecursiveRule,
    Scan,
    Version,
)
from emberlog.logical.traverse import children, map_strata, scans, with_children
from emberlog.optimize.context import PassContext
from emberlog.semantics.model import RecursionCase

INCREMENTAL = (RecursionCase.SET, RecursionCase.MEET, RecursionCase.MONOTONE_SUM)


def derive_delta_rules(plan: LogicalPlan, _context: PassContext) -> LogicalPlan:
    return map_strata(plan, _with_deltas)


def _with_deltas(stratum: PlannedStratum) -> PlannedStratum:
    match stratum.root:
        case Definition():
            return stratum
        case Fixpoint(relations, recursion):
            if recursion.case not in INCREMENTAL or not any(relation.rules for relation in relations):
                return stratum
            new = tuple(_relation_with_deltas(relation, stratum.relations) for relation in relations)
            return replace(stratum, root=Fixpoint(new, recursion))
    assert_never(stratum.root)


def _relation_with_deltas(relation: FixpointRelation, stratum: Sequence[str]) -> FixpointRelation:
    rules = tuple(replace(rule, deltas=delta_plans(rule, stratum)) for rule in relation.rules)
    return replace(relation, rules=rules)


def delta_plans(rule: RecursiveRule, stratum: Sequence[str]) -> tuple[Plan, ...]:
    """Returns one plan per atom of the stratum, in the order of the body."""
    count = sum(scan.relation in stratum for scan in scans(rule.plan))
    return tuple(
        _with_versions(
            rule.plan,
            stratum,
            [Version.BEFORE] * position + [Version.DELTA] + [Version.FULL] * (count - position - 1),
        )
        for position in range(count)
    )


def _with_versions(plan: Plan, stratum: Sequence[str], versions: list[Version]) -> Plan:
    """Returns the plan with the versions, taken from the front of the list, at the scans of the stratum from left to
    right."""
    if isinstance(plan, Scan):
        return replace(plan, version=versions.pop(0)) if plan.relation in stratum else plan
    new = []
    for child in children(plan):
        new.append(_with_versions(child, stratum, versions))
    return with_children(plan, tuple(new))
