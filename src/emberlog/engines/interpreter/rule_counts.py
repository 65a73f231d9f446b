"""Counts what each rule gives while the interpreter runs: rows, facts that are new, and seconds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from time import perf_counter

from emberlog.engines.interpreter.operators import Operators, Rows, rule_names
from emberlog.logical.nodes import Distinct, Plan, Union
from emberlog.semantics.model import Fact
from emberlog.workers.fixpoint.profile import Profile

WRITTEN = "facts"
"""What facts of the program are counted as."""

Key = Callable[[Fact], Fact]


@dataclass(frozen=True, slots=True)
class Part:
    """Holds a part of what a relation gets, and the rule that it is from; or the rules, where they cannot be told
    apart."""

    rule: str
    plan: Plan


def parts_of(plan: Plan, *, is_set: bool) -> list[Part]:
    """Divides a plan by rules. Of a relation that `is_set`, rows that two rules give may be given twice."""
    match plan:
        case Union(inputs):
            return [part for one in inputs for part in parts_of(one, is_set=is_set)]
        case Distinct(source) if is_set:
            return parts_of(source, is_set=True)
        case _:
            return [Part(named(plan), plan)]


def named(plan: Plan) -> str:
    """Returns the rules that a plan is made of."""
    return ", ".join(rule_names((plan,))) or WRITTEN


class RuleCounts:
    """Counts into a profile, for one stratum; without a profile, not at all."""

    def __init__(self, operators: Operators, profile: Profile | None) -> None:
        self._operators = operators
        self._profile = profile

    def divided(self, plan: Plan, *, is_set: bool) -> list[Part]:
        """Returns the plan in parts if there is something to count, and else as it is."""
        return [Part("", plan)] if self._profile is None else parts_of(plan, is_set=is_set)

    def rows(self, parts: Sequence[Part], relation: str, iteration: int) -> list[Rows]:
        """Returns what each part gives."""
        if self._profile is None:
            give = self._operators.rows
            return [give(part.plan) for part in parts]
        found = []
        for part in parts:
            since = perf_counter()
            rows = self._operators.rows(part.plan)
            found.append(rows)
            counts = self._profile.at(part.rule, relation, iteration)
            counts.derived = (counts.derived or 0) + len(rows)
            counts.seconds += perf_counter() - since
        return found

    def keep(
        self,
        parts: Sequence[Part],
        given: Sequence[Rows],
        relation: str,
        iteration: int,
        new: Collection[Fact],
        seconds: float,
        keys: tuple[Key, Key] | None = None,
    ) -> None:
        """Counts each new fact for the first rule that gave it, or that contributed to it: `keys` are those of rows and
        of facts. It took so many seconds to find the new ones."""
        if self._profile is None:
            return
        row_key, fact_key = keys or (_itself, _itself)
        left = set(map(fact_key, new))
        total = sum(map(len, given)) or 1
        for part, rows in zip(parts, given, strict=True):
            counts = self._profile.at(part.rule, relation, iteration)
            counts.seconds += seconds * len(rows) / total
            found = left.intersection(map(row_key, rows))
            counts.kept += len(found)
            left -= found


def _itself(fact: Fact) -> Fact:
    return fact
