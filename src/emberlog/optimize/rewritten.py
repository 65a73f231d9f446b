"""Passes that go from rules to rules, before there is a plan: what they give back, and how they stay legal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from emberlog.diagnostics import Diagnostics
from emberlog.logical.build import LONGEST_BODY
from emberlog.logical.statistics import Statistics
from emberlog.semantics.model import CheckedProgram, CoreRule, Fact, RecursionCase, Relation, Stratum
from emberlog.semantics.stratify import stratify


@dataclass(frozen=True, slots=True)
class Rewritten:
    checked: CheckedProgram
    """The very same program when nothing was done."""
    reason: str
    """What was done, or why nothing was."""


RulePassFunction: TypeAlias = Callable[[CheckedProgram, Statistics], Rewritten]
"""The statistics are those of the inputs; what is not known is not there."""


def with_rules(
    checked: CheckedProgram,
    rules: Sequence[CoreRule],
    *,
    relations: Mapping[str, Relation] | None = None,
    facts: Mapping[str, tuple[Fact, ...]] | None = None,
) -> CheckedProgram | None:
    """Returns the program with other rules, or None when these would be refused: a rewrite may not put an aggregate
    into a recursion that it is not in now, nor a recursion under a bound that it was not written under, nor make a body
    too long to be planned."""
    if any(len(rule.body) > LONGEST_BODY for rule in rules):
        return None
    relations = checked.relations if relations is None else relations
    diagnostics = Diagnostics()
    strata = stratify(relations, rules, checked.queries, _iterations_of_the_program(checked), diagnostics)
    if diagnostics.has_errors or _bounded(strata) - _bounded(checked.strata):
        return None
    facts = checked.facts if facts is None else facts
    return replace(checked, relations=relations, facts=facts, rules=tuple(rules), strata=strata)


def _bounded(strata: Sequence[Stratum]) -> set[str]:
    return {
        name
        for stratum in strata
        if stratum.recursion is not None and stratum.recursion.case is RecursionCase.BOUNDED
        for name in stratum.relations
    }


def _iterations_of_the_program(checked: CheckedProgram) -> int | None:
    """Returns the bound that the caller gave for recursions that need one, if any of them did."""
    for stratum in checked.strata:
        if (
            stratum.recursion is not None
            and stratum.recursion.case is RecursionCase.BOUNDED
            and all(rule.iterations is None for rule in stratum.rules)
        ):
            return stratum.recursion.iterations
    return None
