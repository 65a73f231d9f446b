"""Tells how the two sides of a subsumption stand to each other: which columns are the same, and which decide."""

from __future__ import annotations

from collections.abc import Iterator

from emberlog.syntax import ast
from emberlog.syntax.ast import ComparisonOperator, Variable

BETTER = {ComparisonOperator.LESS: "min", ComparisonOperator.GREATER: "max"}
_NO_WORSE = {ComparisonOperator.LESS_OR_EQUAL: "min", ComparisonOperator.GREATER_OR_EQUAL: "max"}
_TURNED = {
    ComparisonOperator.LESS: ComparisonOperator.GREATER,
    ComparisonOperator.GREATER: ComparisonOperator.LESS,
    ComparisonOperator.LESS_OR_EQUAL: ComparisonOperator.GREATER_OR_EQUAL,
    ComparisonOperator.GREATER_OR_EQUAL: ComparisonOperator.LESS_OR_EQUAL,
}


def sides_of(rule: ast.Rule) -> list[tuple[ast.Expression, ast.Expression]]:
    """Returns what the two sides have in each column, the worse side first."""
    terms = [term for term in rule.head.terms if not isinstance(term, ast.AggregateTerm)]
    half = len(terms) // 2
    return list(zip(terms[:half], terms[half:], strict=True))


def _orders(rule: ast.Rule) -> Iterator[tuple[int, ComparisonOperator]]:
    """Yields which columns the body of a subsumption compares, and how the better side stands to the worse one."""
    pairs = sides_of(rule)
    for part in rule.body.parts if rule.body else ():
        if isinstance(part, ast.Comparison) and part.operator in _TURNED:
            if (part.right, part.left) in pairs:
                yield pairs.index((part.right, part.left)), part.operator
            elif (part.left, part.right) in pairs:
                yield pairs.index((part.left, part.right)), _TURNED[part.operator]


def best_column(rule: ast.Rule) -> tuple[int, str] | None:
    """Returns the one column that a subsumption compares, and the aggregate that keeps what it keeps; None if there is
    more to it."""
    assert rule.body is not None
    orders = list(_orders(rule))
    if len(orders) != 1 or len(rule.body.parts) != 3:
        return None
    (place, operator), pairs = orders[0], sides_of(rule)
    plain = [one for index, (one, other) in enumerate(pairs) if index != place and one == other]
    if len(plain) < len(pairs) - 1 or not all(isinstance(one, Variable) for one in (*plain, *pairs[place])):
        return None
    if len({*plain, *pairs[place]}) < len(pairs) + 1:
        return None
    return place, {**BETTER, **_NO_WORSE}[operator]


def best_of_key(rule: ast.Rule) -> tuple[int, ComparisonOperator] | None:
    """Returns the one column that a subsumption compares, and how, if every other one is the same or may be anything;
    facts that tie stay."""
    assert rule.body is not None
    orders, pairs = list(_orders(rule)), sides_of(rule)
    if len(orders) != 1 or len(rule.body.parts) != 3 or orders[0][1] not in BETTER:
        return None
    terms = [*(one for one, _ in pairs), *(other for one, other in pairs if one != other)]
    is_free = all(isinstance(one, Variable) for one in terms) and len(set(terms)) == len(terms)
    return orders[0] if is_free else None


def one_way(rule: ast.Rule) -> tuple[ast.BodyPart, ...] | None:
    """Returns the body of a subsumption by which no two facts subsume each other; None if they may."""
    assert rule.body is not None
    orders = dict(_orders(rule))
    if any(operator in BETTER for operator in orders.values()):
        return rule.body.parts
    pairs = sides_of(rule)
    if not all(one == other or index in orders for index, (one, other) in enumerate(pairs)):
        return None
    differ = [
        ast.Conjunction((ast.Comparison(ComparisonOperator.NOT_EQUAL, *pairs[index], rule.span),), rule.span)
        for index in orders
    ]
    if not differ:
        return None
    return (*rule.body.parts, differ[0].parts[0] if len(differ) == 1 else ast.Disjunction(tuple(differ), rule.span))
