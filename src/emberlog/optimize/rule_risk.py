"""How the literals and the head of a rule can end in a run-time error."""

from __future__ import annotations

from typing import assert_never

from emberlog.logical.expressions import Risk, condition_risk, risk_of
from emberlog.semantics.model import Absent, Bind, Compare, Contribution, CoreRule, Holds, Literal, Match


def rule_risk(rule: CoreRule) -> Risk:
    of_body = [literal_risk(literal, rule) for literal in rule.body]
    expressions = [
        expression
        for value in rule.head
        for expression in (value.arguments if isinstance(value, Contribution) else (value,))
    ]
    return max((*of_body, *(risk_of(expression, rule.types) for expression in expressions)), default=Risk.NONE)


def literal_risk(literal: Literal, rule: CoreRule) -> Risk:
    match literal:
        case Bind(_, expression):
            return risk_of(expression, rule.types)
        case Compare() | Holds():
            return condition_risk(literal, rule.types)
        case Match() | Absent():
            return Risk.NONE
    assert_never(literal)
