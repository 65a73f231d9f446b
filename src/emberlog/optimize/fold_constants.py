"""Computes what is constant, drops conditions that always hold, and empties plans whose condition never holds.

Correct because a column that an equality or a binding fixes has that very value, of that very type, in every
row, and because constants are computed as at run time, by the same entries of the language. What would be an error at
run time (`1 / 0`, an overflow) is left as it is. A plan is emptied only if nothing below the false condition can fail,
so that no error gets lost; and a condition is false or unknown for a null, so `X = X` is not folded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from emberlog.language.faults import Fault
from emberlog.language.registry import BUILT_IN
from emberlog.logical.expressions import substitute, substitute_in_condition
from emberlog.logical.nodes import Condition, Filter, LogicalPlan, Output, Plan, Project, Values
from emberlog.logical.properties import constant_columns, plan_can_fail
from emberlog.logical.python_evaluation import evaluate, holds
from emberlog.logical.traverse import map_plans, transform
from emberlog.optimize.context import PassContext
from emberlog.semantics.model import Compare, Holds
from emberlog.semantics.totality import type_of
from emberlog.syntax.ast import Binary, Call, Constant, Expression, Unary, Variable


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
    is_safe = not plan_can_fail(plan.input)
    kept: list[Condition] = []
    for condition in plan.conditions:
        folded = _fold_condition(condition, known)
        if folded is False and is_safe:
            return Values(plan.columns, ())
        if folded is True:
            continue
        kept.append(condition if isinstance(folded, bool) else folded)
    if not kept:
        return plan.input
    if len(kept) == len(plan.conditions) and all(a is b for a, b in zip(kept, plan.conditions, strict=True)):
        return plan
    return Filter(plan.input, tuple(kept))


def _fold_condition(condition: Condition, known: Mapping[str, Constant]) -> Condition | bool:
    """Tells whether the condition holds, if that is known; otherwise the condition, folded."""
    condition = substitute_in_condition(condition, known)
    match condition:
        case Compare(operator, left, right, span):
            first, second = fold(left), fold(right)
            folded = condition if first is left and second is right else Compare(operator, first, second, span)
            are_known = isinstance(first, Constant) and isinstance(second, Constant)
            known_to_hold = _holds(folded) if are_known else None
            return folded if known_to_hold is None else known_to_hold
        case Holds(test, negated, span):
            value = fold(test)
            if isinstance(value, Constant) and isinstance(value.value, bool):
                return value.value is not negated
            return condition if value is test else Holds(value, negated, span)


def fold(expression: Expression) -> Expression:
    """Returns the expression with constant parts computed; the same object when there are none."""
    match expression:
        case Unary(operand, span):
            inner = fold(operand)
            folded: Expression = expression if inner is operand else Unary(inner, span)
            arguments: tuple[Expression, ...] = (inner,)
        case Binary(operator, left, right, span):
            arguments = (fold(left), fold(right))
            is_same = arguments[0] is left and arguments[1] is right
            folded = expression if is_same else Binary(operator, *arguments, span)
        case Call(function, given, span):
            arguments = tuple(fold(argument) for argument in given)
            is_same = all(a is b for a, b in zip(arguments, given, strict=True))
            folded = expression if is_same else Call(function, arguments, span)
            if function not in BUILT_IN:
                return folded
        case _:
            return expression
    return _value_of(folded) if all(isinstance(argument, Constant) for argument in arguments) else folded


def _value_of(expression: Expression) -> Expression:
    """Returns the value of an expression without variables; one that has none is left for the run time to report."""
    try:
        value = evaluate(expression, {})
    except Fault:
        return expression
    if not isinstance(value, bool | int | float | str):
        return expression
    return Constant.of(value, type_of(expression, {}), expression.span)


def _holds(condition: Condition) -> bool | None:
    try:
        return holds(condition, {})
    except Fault:
        return None
