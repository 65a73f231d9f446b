"""The iteration and the rule that a fact comes from, without the rest of its proof."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from emberlog.provenance.facts import FactBase
from emberlog.provenance.model import Combination, InputFact, RuleStep, WrittenFact, applications
from emberlog.provenance.proof_outline import WRITTEN
from emberlog.provenance.proofs import Prover
from emberlog.render.wording import when_text
from emberlog.semantics.model import Fact

MOST_CONTRIBUTIONS = 100
"""Of a fact, whose rules are named."""


@dataclass(frozen=True, slots=True)
class Origin:
    iteration: int | None
    """None of what is not recursive."""
    when: str
    """In words: `start`, `iteration 2`, `stage 3`."""
    by: str
    """The rule; the rules of an aggregate that several contribute to; or that it was given or written."""


def origin_of(base: FactBase, relation: str, fact: Fact) -> Origin:
    goal = base.goal(relation, fact)
    step = Prover(base, contributions=MOST_CONTRIBUTIONS).step(goal)
    match step:
        case InputFact():
            by = "input"
        case WrittenFact():
            by = WRITTEN
        case RuleStep() | Combination():
            by = ", ".join(dict.fromkeys(one.rule for one in applications(step))) or WRITTEN
        case _:
            assert_never(step)
    return Origin(goal.iteration, when_text(goal.iteration, base.recursion(relation)), by)
