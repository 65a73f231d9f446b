"""Is a recursive rule monotone in the aggregated values that it reads?

Inside a recursion an aggregated value only improves: it falls under `min`, rises under `max`, `mcount` and `msum`.
A rule is safe if better values in its body can only give better, or more, contributions: then the order of
evaluation does not matter and no fact derived from an older value is wrong in the end. The test is syntactic and
conservative. Every expression gets a trend: fixed, falling, rising, or unclear.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import assert_never

from emberlog.datatypes import FLOAT
from emberlog.language.registry import AGGREGATES, BUILT_IN
from emberlog.semantics.model import Absent, Bind, Compare, Contribution, CoreRule, Holds, Match, Relation
from emberlog.source import Span
from emberlog.syntax import ast
from emberlog.syntax.ast import BinaryOperator, ComparisonOperator, Expression, Variable


class Trend(Enum):
    """How a value moves while the recursion improves its facts."""

    FIXED = 0
    FALLING = -1
    RISING = 1
    UNCLEAR = None

    def __neg__(self) -> Trend:
        return {Trend.FALLING: Trend.RISING, Trend.RISING: Trend.FALLING}.get(self, self)

    def __or__(self, other: Trend) -> Trend:
        """Of something that grows with both."""
        if self is other or other is Trend.FIXED:
            return self
        return other if self is Trend.FIXED else Trend.UNCLEAR


@dataclass(frozen=True, slots=True)
class NonMonotoneStep:
    span: Span
    reason: str


_ARITHMETIC = {"later!": BinaryOperator.ADD, "earlier!": BinaryOperator.SUBTRACT}
"""What the type checker writes for moments, by what it rises and falls like."""

_WORDS = {Trend.FALLING: "falls", Trend.RISING: "rises", Trend.UNCLEAR: "may rise or fall", Trend.FIXED: "is fixed"}


def non_monotone_step(
    rule: CoreRule, component: frozenset[str], relations: Mapping[str, Relation]
) -> NonMonotoneStep | None:
    """Returns the first step of the rule that could undo an improvement, or None."""
    return _RuleTest(rule, component, relations).run()


class _RuleTest:
    def __init__(self, rule: CoreRule, component: frozenset[str], relations: Mapping[str, Relation]) -> None:
        self.rule = rule
        self.component = component
        self.relations = relations
        self.trends: dict[str, Trend] = {}
        self.computed_at: dict[str, Span] = {}
        self.computed_from: dict[str, Expression] = {}
        self.chosen: set[str] = set()
        """Variables read from an argmin or argmax column: they change when the cost improves, in no order."""
        self.non_negative = _guarded_variables(rule)

    def run(self) -> NonMonotoneStep | None:
        step = self._read_recursive_atoms()
        if step is not None:
            return step
        for literal in self.rule.body:
            match literal:
                case Bind(variable, expression):
                    self.trends[variable.name] = self.trend(expression)
                    self.computed_at[variable.name] = literal.span
                    self.computed_from[variable.name] = expression
                case Compare():
                    step = self._comparison(literal)
                case Holds(test, _, span):
                    if self.trend(test) is not Trend.FIXED:
                        step = NonMonotoneStep(span, "a test of an aggregated value may stop to hold when it improves")
                case Match() | Absent():
                    pass
                case _:
                    assert_never(literal)
            if step is not None:
                return step
        return self._head()

    def _read_recursive_atoms(self) -> NonMonotoneStep | None:
        uses = Counter(
            term.name
            for literal in self.rule.body
            if isinstance(literal, Match | Absent)
            for term in literal.terms
            if isinstance(term, Variable)
        )
        for literal in self.rule.body:
            if not isinstance(literal, Match) or literal.relation not in self.component:
                continue
            for term, column in zip(literal.terms, self.relations[literal.relation].columns, strict=True):
                if column.aggregate is None:
                    continue
                if not isinstance(term, Variable) or uses[term.name] > 1:
                    reason = f"this wants one value of `{column.name}`, which the recursion still improves"
                    return NonMonotoneStep(term.span, reason)
                if AGGREGATES[column.aggregate].by_cost:
                    self.chosen.add(term.name)
                    self.trends[term.name] = Trend.UNCLEAR
                else:
                    self.trends[term.name] = Trend(AGGREGATES[column.aggregate].direction)
        return None

    def _comparison(self, comparison: Compare) -> NonMonotoneStep | None:
        match comparison.left:
            case ast.Call("order!", (one, _, other, _)):  # decimals of two scales
                left, right = self.trend(one), self.trend(other)
            case _:
                left, right = self.trend(comparison.left), self.trend(comparison.right)
        if left is right is Trend.FIXED:
            return None
        match comparison.operator:
            case ComparisonOperator.LESS | ComparisonOperator.LESS_OR_EQUAL:
                holds_on = left in (Trend.FIXED, Trend.FALLING) and right in (Trend.FIXED, Trend.RISING)
            case ComparisonOperator.GREATER | ComparisonOperator.GREATER_OR_EQUAL:
                holds_on = left in (Trend.FIXED, Trend.RISING) and right in (Trend.FIXED, Trend.FALLING)
            case _:
                holds_on = False
        if holds_on:
            return None
        moving = left if left is not Trend.FIXED else right
        return NonMonotoneStep(
            comparison.span, f"this may stop to hold: the aggregated value {_WORDS[moving]} while the recursion runs"
        )

    def _head(self) -> NonMonotoneStep | None:
        spans = self._head_spans()
        for index, value in enumerate(self.rule.head):
            if not isinstance(value, Contribution):
                if self.trend(value) is not Trend.FIXED:
                    return NonMonotoneStep(
                        spans[index],
                        "an aggregated value becomes part of a fact, and the fact of an older value would stay",
                    )
                continue
            step = self._contribution(value, spans[index])
            if step is not None:
                return step
        return None

    def _head_spans(self) -> list[Span]:
        written = self.rule.statement.head.terms if self.rule.statement else ()
        is_own = len(written) == len(self.rule.head)
        return [term.span for term in written] if is_own else [self.rule.span] * len(self.rule.head)

    def _contribution(self, value: Contribution, span: Span) -> NonMonotoneStep | None:
        function = AGGREGATES[value.function]
        wanted = Trend(function.direction)
        moving = value.arguments[-1 if function.by_key else 0]
        if function.by_cost:
            if not self._chosen_with_its_cost(value) and self.trend(value.arguments[1]) is not Trend.FIXED:
                return NonMonotoneStep(span, f"the value that `{value.function}` keeps changes with the recursion")
        elif function.by_key and self.trend(value.arguments[0]) is not Trend.FIXED:
            return NonMonotoneStep(span, f"the key of `{value.function}` changes while the recursion runs")
        found = self.trend(moving)
        if found in (Trend.FIXED, wanted):
            return None
        if isinstance(moving, Variable):
            span = self.computed_at.get(moving.name, span)
        return NonMonotoneStep(
            span, f"`{value.function}` needs a value that {_WORDS[wanted]} when facts improve, and this {_WORDS[found]}"
        )

    def _chosen_with_its_cost(self, value: Contribution) -> bool:
        """`sp(Y, min<D>, argmin<D, R>) :- sp(X, D0, R), …`: the choice R moves together with the cost it was chosen
        by, so the pair only improves. That holds when the head also keeps that very cost, and when the cost moves
        whenever the one it was chosen by does: with equal costs an older choice could stay."""
        cost, chosen = value.arguments
        direction = AGGREGATES[value.function].direction
        kept = any(
            isinstance(other, Contribution)
            and other.arguments == (cost,)
            and AGGREGATES[other.function].is_meet
            and AGGREGATES[other.function].direction == direction
            for other in self.rule.head
        )
        return kept and isinstance(chosen, Variable) and chosen.name in self.chosen and self._is_strict(cost)

    def _is_strict(self, expression: Expression) -> bool:
        """Tells whether a better value in the body always gives a better one here. Floats can round a difference
        away."""
        match expression:
            case Variable(name):
                if self.rule.types.get(name) == FLOAT or name in self.chosen:
                    return False
                if name in self.computed_from:
                    return self._is_strict(self.computed_from[name])
                return self.trend(expression) is not Trend.FIXED
            case ast.Binary(BinaryOperator.ADD, left, right):
                fixed = [side for side in (left, right) if self.trend(side) is Trend.FIXED]
                return any(self._is_strict(side) for side in (left, right)) and len(fixed) == 1
            case ast.Call("later!" | "earlier!", (left, right)):
                return self._is_strict(ast.Binary(_ARITHMETIC[expression.function], left, right))
            case ast.Call("timestamp!" | "whole_day!" | "scaled!", (inner, *_)):
                return self._is_strict(inner)
            case ast.Binary(BinaryOperator.SUBTRACT, left, right):
                return self._is_strict(left) and self.trend(right) is Trend.FIXED
            case _:
                return False

    def trend(self, expression: Expression) -> Trend:
        match expression:
            case Variable(name):
                return self.trends.get(name, Trend.FIXED)
            case ast.Constant() | ast.Parameter() | ast.Wildcard():
                return Trend.FIXED
            case ast.Unary(operand):
                return -self.trend(operand)
            case ast.Binary(operator, left, right):
                return self._arithmetic(operator, left, right)
            case ast.Call("later!" | "earlier!", (left, right)):
                return self._arithmetic(_ARITHMETIC[expression.function], left, right)
            case ast.Call(function, arguments):
                trends = [self.trend(argument) for argument in arguments]
                if all(one is Trend.FIXED for one in trends):
                    return Trend.FIXED
                if function == "encd":
                    return trends[0] if trends[1] is Trend.FIXED else Trend.UNCLEAR
                if function not in BUILT_IN or not BUILT_IN[function].rises:
                    return Trend.UNCLEAR
                result = trends[0]
                for other in trends[1:]:
                    result |= other
                return result
            case _:
                assert_never(expression)

    def _arithmetic(self, operator: BinaryOperator, left: Expression, right: Expression) -> Trend:
        first, second = self.trend(left), self.trend(right)
        if first is second is Trend.FIXED:
            return Trend.FIXED
        match operator:
            case BinaryOperator.ADD:
                return first | second
            case BinaryOperator.SUBTRACT:
                return first | -second
            case BinaryOperator.MULTIPLY:
                if second is Trend.FIXED:
                    return self._scaled(first, right)
                return self._scaled(second, left) if first is Trend.FIXED else Trend.UNCLEAR
            case BinaryOperator.DIVIDE | BinaryOperator.INTEGER_DIVIDE:
                return self._scaled(first, right) if second is Trend.FIXED else Trend.UNCLEAR
            case BinaryOperator.MODULO:
                return Trend.UNCLEAR
            case _:
                assert_never(operator)

    def _scaled(self, trend: Trend, factor: Expression) -> Trend:
        if self._is_non_negative(factor):
            return trend
        if isinstance(factor, ast.Constant) and isinstance(factor.value, int | float):
            return -trend
        return Trend.UNCLEAR

    def _is_non_negative(self, expression: Expression) -> bool:
        match expression:
            case ast.Constant(value):
                return isinstance(value, int | float) and value >= 0
            case Variable(name):
                return name in self.non_negative
            case ast.Call("greatest", arguments):
                return any(map(self._is_non_negative, arguments))
            case ast.Call(function, arguments) if function in BUILT_IN:
                known = BUILT_IN[function]
                return known.non_negative or (known.keeps_sign and self._is_non_negative(arguments[0]))
            case ast.Binary(BinaryOperator.ADD | BinaryOperator.MULTIPLY | BinaryOperator.DIVIDE, left, right):
                return self._is_non_negative(left) and self._is_non_negative(right)
            case _:
                return False


def _guarded_variables(rule: CoreRule) -> frozenset[str]:
    """Returns the variables that the body itself keeps from being negative: `W >= 0`, `0 < W`."""
    guarded = set()
    at_least = (ComparisonOperator.GREATER, ComparisonOperator.GREATER_OR_EQUAL)
    at_most = (ComparisonOperator.LESS, ComparisonOperator.LESS_OR_EQUAL)
    for literal in rule.body:
        match literal:
            case Compare(operator, Variable(name), ast.Constant(int() | float() as bound)) if operator in at_least:
                if bound >= 0:
                    guarded.add(name)
            case Compare(operator, ast.Constant(int() | float() as bound), Variable(name)) if operator in at_most:
                if bound >= 0:
                    guarded.add(name)
    return frozenset(guarded)
