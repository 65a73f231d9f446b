"""Looks facts up by computed values: `a(X), b(Y), Y = X - 1` computes Y from X, and asks b for it.

Correct because the equation has to hold either way. Where `X - 1` has no value the rule must fail if `a(X)` and the
rest of the body hold for some Y. So the rule is split in two: one for the values that there are, which looks them up,
and one for the valuations of `a(X)` for which there is none: it joins as written, meets the equation last, and fails
there. The second one reads a handful of facts, and most often none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from emberlog.logical.expressions import columns_of
from emberlog.logical.statistics import Statistics
from emberlog.optimize.information_order import bound_by
from emberlog.optimize.rewritten import Rewritten, with_rules
from emberlog.semantics.model import Bind, CheckedProgram, Compare, CoreRule, Holds, Literal, Match
from emberlog.semantics.totality import FAILS, TRY, can_fail, literal_can_fail, operation, type_of
from emberlog.syntax.ast import Binary, Call, ComparisonOperator, Constant, Expression, Unary, Variable


def join_by_computed_keys(checked: CheckedProgram, _statistics: Statistics) -> Rewritten:
    rules: list[CoreRule] = []
    names: dict[str, None] = {}
    for rule in checked.rules:
        split = _split(rule)
        if len(split) > 1 or split[0] is not rule:
            names[rule.name] = None
        rules += split
    if not names:
        return Rewritten(checked, "")
    program = with_rules(checked, rules)
    if program is None:
        return Rewritten(checked, "")
    return Rewritten(program, f"looks values up that are computed: {', '.join(names)}")


def _split(rule: CoreRule) -> list[CoreRule]:
    """Returns the rule that looks computed values up, and one for each expression that can have no value."""
    if any(isinstance(literal, Holds) and _is_watch(literal.test) for literal in rule.body):
        return [rule]
    watchers: list[CoreRule] = []
    known = rule
    for literal in rule.body:
        key = _key(literal, known)
        if key is None:
            continue
        variable, expression, before = key
        is_total = not can_fail(expression, rule.types)
        value = expression if is_total else Call(TRY, (expression,), expression.span)
        known = _reordered(known, (*before, Bind(variable, value, literal.span)), (*before, literal))
        if not is_total:
            own = _literals_for(columns_of(expression), rule, None) or ()
            fails = Holds(Call(FAILS, (expression,), expression.span))
            watchers.append(_reordered(rule, (*own, fails), own))
    return [known, *watchers]


def _is_watch(test: Expression) -> bool:
    return isinstance(test, Call) and test.function == FAILS


def _reordered(rule: CoreRule, first: Sequence[Literal], gone: Sequence[Literal]) -> CoreRule:
    """Returns the rule with these literals first, and then the others of its body."""
    rest = (one for one in rule.body if all(one is not other for other in gone))
    return replace(rule, body=(*first, *rest))


def _key(literal: Literal, rule: CoreRule) -> tuple[Variable, Expression, tuple[Literal, ...]] | None:
    """Returns the variable of an atom that an equation computes, the expression, and the literals that it needs; None
    if the literal is no such equation, or what it needs cannot come before the atom."""
    if not isinstance(literal, Compare) or literal.operator is not ComparisonOperator.EQUAL:
        return None
    for variable, expression in ((literal.left, literal.right), (literal.right, literal.left)):
        if not isinstance(variable, Variable) or isinstance(expression, Variable | Constant):
            continue
        names = columns_of(expression)
        if names and _is_built_in(expression) and type_of(expression, rule.types) == rule.types.get(variable.name):
            before = _literals_for(names, rule, variable.name)
            binds = [one for one in rule.body if variable.name in bound_by(one)]
            if before is not None and all(isinstance(one, Match) for one in binds):
                return variable, expression, before
    return None


def _literals_for(names: frozenset[str], rule: CoreRule, without: str | None) -> tuple[Literal, ...] | None:
    """Returns literals, in the order of the body, that bind the variables and cannot fail; None if they would bind
    `without`, too."""
    missing, chosen = set(names), list[Literal]()
    while missing:
        name = min(missing)
        literal = next((one for one in rule.body if name in bound_by(one)), None)
        if literal is None or literal_can_fail(literal, rule.types) or without in bound_by(literal):
            others = (one for one in rule.body if isinstance(one, Match) and name in bound_by(one))
            literal = next((one for one in others if without not in bound_by(one)), None)
            if literal is None:
                return None
        chosen.append(literal)
        if isinstance(literal, Bind):
            missing |= columns_of(literal.expression)
        missing = missing.difference(*map(bound_by, chosen))
    return tuple(one for one in rule.body if any(one is other for other in chosen))


def _is_built_in(expression: Expression) -> bool:
    """Tells whether the expression calls no function that the user registered, which may do anything."""
    match expression:
        case Unary() | Binary() | Call():
            function, arguments = operation(expression)
            return function is not None and all(map(_is_built_in, arguments))
        case _:
            return True
