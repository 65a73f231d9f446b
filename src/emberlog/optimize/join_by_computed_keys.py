"""Looks facts up by computed values: `a(X), b(Y), Y = X - 1` computes Y from X, and asks b for it.

Correct because the equation has to hold either way. Where `X - 1` has no value the rule must fail if `a(X)` and the
rest of the body hold for some Y. So the rule is split in two: one for the values that there are, which looks them up,
and one for the valuations of `a(X)` for which there is none: it joins as written, meets the equation last, and fails
there. The second one reads a handful of facts, and most often none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from emberlog.logical.expressions import columns_of
from emberlog.logical.statistics import Statistics
from emberlog.optimize.information_order import bound_by, needed_by
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
        for variable, expression in _keys(literal, known):
            is_total = not can_fail(expression, rule.types)
            value = expression if is_total else Call(TRY, (expression,), expression.span)
            bind = Bind(variable, value, literal.span)
            looked_up = _in_order((bind, *(one for one in known.body if one is not literal)), rule)
            fails = Holds(Call(FAILS, (expression,), expression.span))
            watched = _in_order((fails, *rule.body), rule)
            if looked_up is None or watched is None:
                continue
            known = replace(known, body=looked_up)
            if not is_total:
                watchers.append(replace(rule, body=watched))
            break
    return [known, *watchers]


def _is_watch(test: Expression) -> bool:
    return isinstance(test, Call) and test.function == FAILS


def _keys(literal: Literal, rule: CoreRule) -> Iterator[tuple[Variable, Expression]]:
    """Yields the variables of atoms that an equation computes, and the expressions."""
    if not isinstance(literal, Compare) or literal.operator is not ComparisonOperator.EQUAL:
        return
    for variable, expression in ((literal.left, literal.right), (literal.right, literal.left)):
        if not isinstance(variable, Variable) or isinstance(expression, Variable | Constant):
            continue
        names, atoms = columns_of(expression), [one for one in rule.body if variable.name in bound_by(one)]
        is_of_atoms = bool(atoms) and all(isinstance(one, Match) for one in atoms)
        # What an atom binds together with the variable can only be tested.
        is_from_others = any(names <= _bound(rule.body, without=one) for one in atoms)
        is_of_its_type = type_of(expression, rule.types) == rule.types.get(variable.name)
        if names and is_of_atoms and is_from_others and is_of_its_type and _is_built_in(expression):
            yield variable, expression


def _bound(body: Sequence[Literal], without: Literal) -> set[str]:
    return set().union(*(bound_by(one) for one in body if one is not without))


def _in_order(literals: Sequence[Literal], rule: CoreRule) -> tuple[Literal, ...] | None:
    """Returns the literals in an order in which each finds what it needs: an atom comes behind what computes a value
    for it, and what can fail behind all else. None if there is no such order."""
    computed = {one.variable.name for one in literals if isinstance(one, Bind)}
    bindable = set().union(*map(bound_by, literals))
    pending = [one for one in literals if not literal_can_fail(one, rule.types)]
    ordered, bound = list[Literal](), set[str]()
    while pending:
        ready = next((one for one in pending if _needs(one, computed, bindable) <= bound), None)
        if ready is None and any(isinstance(one, Match) for one in pending):
            return None
        if ready is None:
            break  # the rest reads what can fail
        pending = [one for one in pending if one is not ready]
        ordered.append(ready)
        bound |= bound_by(ready)
    return (*ordered, *(one for one in literals if all(one is not other for other in ordered)))


def _needs(literal: Literal, computed: set[str], bindable: set[str]) -> set[str]:
    return bound_by(literal) & computed if isinstance(literal, Match) else needed_by(literal) & bindable


def _is_built_in(expression: Expression) -> bool:
    """Tells whether the expression calls no function that the user registered, which may do anything."""
    match expression:
        case Call(name, (argument,)) if name == TRY:
            return _is_built_in(argument)
        case Unary() | Binary() | Call():
            function, arguments = operation(expression)
            return function is not None and all(map(_is_built_in, arguments))
        case _:
            return True
