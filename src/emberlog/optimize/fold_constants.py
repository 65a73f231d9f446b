"""Computes what is constant, drops conditions that always hold, and empties plans whose condition never holds.

Correct because a column that an equality or a binding fixes has that very value, of that very type, in every
row, and because constants are combined exactly as at run time. What would be an error at run time (`1 / 0`, an
overflow) is left as it is. A plan is emptied only if nothing before the false condition can fault, so that no
error gets lost; and a condition is false or unknown for a null, so `X = X` is not folded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from emberlog.datatypes import INT_MAX, INT_MIN
from emberlog.logical.expressions import Risk, condition_risk, substitute, substitute_in_condition
from emberlog.logical.nodes import Condition, Filter, LogicalPlan, Output, Plan, Project, Values
from emberlog.logical.properties import constant_columns, plan_risk
from emberlog.logical.traverse import column_types, map_plans, transform
from emberlog.optimize.context import PassContext
from emberlog.semantics.model import Compare, Holds
from emberlog.syntax.ast import (
    Binary,
    BinaryOperator,
    Call,
    ComparisonOperator,
    Constant,
    Expression,
    Unary,
    Value,
    Variable,
)


def fold_constants(plan: LogicalPlan, _context: PassContext) -> LogicalPlan:
    return map_plans(plan, lambda one: transform(one, _fold_node))


def _fold_node(plan: Plan) -> Plan:
    match plan:
        case Filter():
            return _fold_filter(plan)
        case Project(source, outputs):
            known = constant_columns(source)
            new = tuple(_fold_output(output, known) for output in outputs)
            return plan if all(a is b for a, b in zip(new, outputs, strict=True)) else replace(plan, outputs=new)
        case _:
            return plan


def _fold_output(output: Output, known: Mapping[str, Constant]) -> Output:
    if isinstance(output.expression, Variable):
        return output  # handing a column through says more to a reader than its value
    folded = fold(substitute(output.expression, known))
    return output if folded is output.expression else Output(output.field, folded)


def _fold_filter(plan: Filter) -> Plan:
    known = constant_columns(plan.input)
    types = column_types(plan.input)
    is_safe = plan_risk(plan.input) < Risk.FAULT
    kept: list[Condition] = []
    for condition in plan.conditions:
        folded = _fold_condition(condition, known)
        if folded is False and is_safe:
            return Values(plan.columns, ())
        if folded is True:
            continue
        kept.append(condition if isinstance(folded, bool) else folded)
        is_safe = is_safe and condition_risk(condition, types) < Risk.FAULT
    if not kept:
        return plan.input
    if len(kept) == len(plan.conditions) and all(a is b for a, b in zip(kept, plan.conditions, strict=True)):
        return plan
    return Filter(plan.input, tuple(kept))


def _fold_condition(condition: Condition, known: Mapping[str, Constant]) -> Condition | bool:
    """Whether the condition holds, if that is known; otherwise the condition, folded."""
    condition = substitute_in_condition(condition, known)
    match condition:
        case Compare(operator, left, right, span):
            first, second = fold(left), fold(right)
            if isinstance(first, Constant) and isinstance(second, Constant):
                holds = _compared(first.value, operator, second.value)
                if holds is not None:
                    return holds
            return condition if first is left and second is right else Compare(operator, first, second, span)
        case Holds(test, negated, span):
            folded = fold(test)
            if isinstance(folded, Constant) and isinstance(folded.value, bool):
                return folded.value is not negated
            return condition if folded is test else Holds(folded, negated, span)


def fold(expression: Expression) -> Expression:
    """The expression with constant parts computed; the same object when there are none."""
    match expression:
        case Unary(operand, span):
            inner = fold(operand)
            if isinstance(inner, Constant) and _is_number(inner.value):
                return _constant(-inner.value, expression)  # type: ignore[operator]
            return expression if inner is operand else Unary(inner, span)
        case Binary(operator, left, right, span):
            first, second = fold(left), fold(right)
            folded = expression if first is left and second is right else Binary(operator, first, second, span)
            if isinstance(first, Constant) and isinstance(second, Constant):
                return _combined(operator, first.value, second.value, folded)
            return folded
        case Call(function, arguments, span):
            new = tuple(fold(argument) for argument in arguments)
            match function, new:
                case "float", (Constant(int() as value),) if not isinstance(value, bool):
                    return Constant(float(value), span)
                case _:
                    is_same = all(a is b for a, b in zip(new, arguments, strict=True))
                    return expression if is_same else Call(function, new, span)
        case _:
            return expression


def _combined(operator: BinaryOperator, left: Value, right: Value, otherwise: Expression) -> Expression:
    if not _is_number(left) or not _is_number(right):
        return otherwise
    assert not isinstance(left, str) and not isinstance(right, str)
    match operator:
        case BinaryOperator.ADD:
            return _constant(left + right, otherwise)
        case BinaryOperator.SUBTRACT:
            return _constant(left - right, otherwise)
        case BinaryOperator.MULTIPLY:
            return _constant(left * right, otherwise)
        case BinaryOperator.DIVIDE if right != 0:
            return _constant(float(left) / float(right), otherwise)
        case _:
            return otherwise


def _constant(value: int | float, otherwise: Expression) -> Expression:
    """The value as a constant, if it is one of the language; otherwise the run time reports the error."""
    in_range = math.isfinite(value) if isinstance(value, float) else INT_MIN <= value <= INT_MAX
    if not in_range:
        return otherwise
    return Constant(value + 0.0 if isinstance(value, float) else value, otherwise.span)  # -0.0 is 0.0


def _compared(left: Value, operator: ComparisonOperator, right: Value) -> bool | None:
    """Whether the comparison holds; None if the values are of types that cannot be compared."""
    if _is_number(left) and _is_number(right):
        if isinstance(left, float) or isinstance(right, float):
            left, right = float(left), float(right)
    elif type(left) is not type(right):
        return None
    match operator:
        case ComparisonOperator.EQUAL:
            return left == right
        case ComparisonOperator.NOT_EQUAL:
            return left != right
        case ComparisonOperator.LESS:
            return left < right  # type: ignore[operator]
        case ComparisonOperator.LESS_OR_EQUAL:
            return left <= right  # type: ignore[operator]
        case ComparisonOperator.GREATER:
            return left > right  # type: ignore[operator]
        case ComparisonOperator.GREATER_OR_EQUAL:
            return left >= right  # type: ignore[operator]


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
