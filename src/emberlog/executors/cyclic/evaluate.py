"""Expressions and conditions over lanes, a whole batch at a time. Faults name the rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never

import numpy as np

from emberlog.datatypes import FLOAT, INT_MAX, INT_MIN, DataType
from emberlog.executors.cyclic.faults import Fault, overflow
from emberlog.executors.cyclic.kernels.floats import floats_to_lane, lane_to_floats
from emberlog.executors.cyclic.lanes import Floats, Lane, Mask
from emberlog.logical.expressions import type_of
from emberlog.logical.nodes import Condition
from emberlog.semantics.model import Compare, Holds
from emberlog.syntax.ast import Binary, BinaryOperator, Call, ComparisonOperator, Constant, Expression, Unary, Variable


@dataclass(frozen=True, slots=True)
class Evaluator:
    """Evaluates for one rule. `codes` are the lanes of the texts that the program writes."""

    rule: str
    types: Mapping[str, DataType]
    codes: Mapping[str, int]

    def lane(self, expression: Expression, lanes: Mapping[str, Lane], rows: int) -> Lane:
        """The value of the expression in each row, as a lane."""
        if isinstance(expression, Variable):
            return lanes[expression.name]
        if isinstance(expression, Constant):
            return np.full(rows, self.constant(expression), np.int64)
        if type_of(expression, self.types) == FLOAT:
            return floats_to_lane(self._finite(self._floats(expression, lanes, rows)))
        return self._ints(expression, lanes, rows)

    def constant(self, constant: Constant) -> int:
        match constant.value:
            case str() as text:
                return self.codes[text]
            case float() as value:
                return int(floats_to_lane(np.array([value]))[0])
            case value:
                return int(value)

    def mask(self, condition: Condition, lanes: Mapping[str, Lane], rows: int) -> Mask:
        """Which rows satisfy the condition."""
        match condition:
            case Holds(test, negated):
                return np.asarray((self.lane(test, lanes, rows) != 0) != negated)
            case Compare(operator, left, right):
                return self._compare(operator, left, right, lanes, rows)
            case _:
                assert_never(condition)

    def _compare(
        self, operator: ComparisonOperator, left: Expression, right: Expression, lanes: Mapping[str, Lane], rows: int
    ) -> Mask:
        first: Lane | Floats
        second: Lane | Floats
        if FLOAT in (type_of(left, self.types), type_of(right, self.types)):
            first, second = self._floats(left, lanes, rows), self._floats(right, lanes, rows)
        else:
            first, second = self.lane(left, lanes, rows), self.lane(right, lanes, rows)
        match operator:
            case ComparisonOperator.EQUAL:
                return np.equal(first, second)
            case ComparisonOperator.NOT_EQUAL:
                return np.not_equal(first, second)
            case ComparisonOperator.LESS:
                return first < second
            case ComparisonOperator.LESS_OR_EQUAL:
                return first <= second
            case ComparisonOperator.GREATER:
                return first > second
            case ComparisonOperator.GREATER_OR_EQUAL:
                return first >= second
            case _:
                assert_never(operator)

    def _floats(self, expression: Expression, lanes: Mapping[str, Lane], rows: int) -> Floats:
        """The value as a float, whatever its type."""
        if type_of(expression, self.types) != FLOAT:
            return self.lane(expression, lanes, rows).astype(np.float64)
        match expression:
            case Variable(name):
                return lane_to_floats(lanes[name])
            case Constant(value):
                return np.full(rows, float(value))
            case Unary(operand):
                return -self._floats(operand, lanes, rows)
            case Binary(operator, left, right):
                return self._float_arithmetic(operator, left, right, lanes, rows)
            case Call(function, arguments):
                return self._float_call(function, [self._floats(a, lanes, rows) for a in arguments])
            case _:
                raise AssertionError(f"DL901: {expression} has no value here")

    def _float_arithmetic(
        self, operator: BinaryOperator, left: Expression, right: Expression, lanes: Mapping[str, Lane], rows: int
    ) -> Floats:
        first, second = self._floats(left, lanes, rows), self._floats(right, lanes, rows)
        with np.errstate(all="ignore"):
            match operator:
                case BinaryOperator.ADD:
                    return self._finite(first + second)
                case BinaryOperator.SUBTRACT:
                    return self._finite(first - second)
                case BinaryOperator.MULTIPLY:
                    return self._finite(first * second)
                case BinaryOperator.DIVIDE:
                    self._no_zero(second)
                    return self._finite(first / second)
                case _:
                    raise AssertionError(f"DL901: {operator} of floats")

    def _float_call(self, function: str, arguments: list[Floats]) -> Floats:
        with np.errstate(all="ignore"):
            match function:
                case "float":
                    return arguments[0]
                case "abs":
                    return np.abs(arguments[0])
                case "sqrt":
                    return self._finite(np.sqrt(arguments[0]))
                case "exp":
                    return self._finite(np.exp(arguments[0]))
                case "log":
                    return self._finite(np.log(arguments[0]))
                case "pow":
                    return self._finite(np.power(arguments[0], arguments[1]))
                case "round":
                    scale = np.power(10.0, arguments[1])
                    scaled = arguments[0] * scale
                    return self._finite(np.sign(scaled) * np.floor(np.abs(scaled) + 0.5) / scale)
                case "least" | "greatest":
                    result = arguments[0]
                    for other in arguments[1:]:
                        result = np.minimum(result, other) if function == "least" else np.maximum(result, other)
                    return result
                case _:
                    raise AssertionError(f"DL901: {function} gives no float")

    def _ints(self, expression: Expression, lanes: Mapping[str, Lane], rows: int) -> Lane:
        match expression:
            case Unary(operand):
                value = self.lane(operand, lanes, rows)
                if bool((value == INT_MIN).any()):
                    raise self._overflow()
                return -value
            case Binary(operator, left, right):
                return self._int_arithmetic(operator, self.lane(left, lanes, rows), self.lane(right, lanes, rows))
            case Call(function, arguments):
                return self._int_call(function, arguments, lanes, rows)
            case _:
                raise AssertionError(f"DL901: {expression} has no value here")

    def _int_arithmetic(self, operator: BinaryOperator, left: Lane, right: Lane) -> Lane:
        with np.errstate(all="ignore"):
            match operator:
                case BinaryOperator.ADD:
                    total = left + right
                    if bool((((left ^ total) & (right ^ total)) < 0).any()):
                        raise self._overflow()
                    return total
                case BinaryOperator.SUBTRACT:
                    difference = left - right
                    if bool((((left ^ right) & (left ^ difference)) < 0).any()):
                        raise self._overflow()
                    return difference
                case BinaryOperator.MULTIPLY:
                    self._check_product(left, right)
                    return left * right
                case BinaryOperator.INTEGER_DIVIDE | BinaryOperator.MODULO:
                    self._no_zero(right)
                    if bool(((left == INT_MIN) & (right == -1)).any()) and operator is BinaryOperator.INTEGER_DIVIDE:
                        raise self._overflow()
                    remainder = np.fmod(left, right)
                    # Division towards zero is exact once the remainder is taken away.
                    return remainder if operator is BinaryOperator.MODULO else (left - remainder) // right
                case _:
                    raise AssertionError(f"DL901: {operator} of ints")

    def _check_product(self, left: Lane, right: Lane) -> None:
        if not len(left):
            return
        largest = max(abs(int(left.min())), abs(int(left.max()))) * max(abs(int(right.min())), abs(int(right.max())))
        if largest <= INT_MAX:
            return
        for one, other in zip(left.tolist(), right.tolist(), strict=True):
            if not INT_MIN <= one * other <= INT_MAX:
                raise self._overflow()

    def _int_call(self, function: str, arguments: tuple[Expression, ...], lanes: Mapping[str, Lane], rows: int) -> Lane:
        match function:
            case "least" | "greatest":
                values = [self.lane(argument, lanes, rows) for argument in arguments]
                result = values[0]
                for other in values[1:]:
                    result = np.minimum(result, other) if function == "least" else np.maximum(result, other)
                return result
            case "abs":
                value = self.lane(arguments[0], lanes, rows)
                if bool((value == INT_MIN).any()):
                    raise self._overflow()
                return np.abs(value)
            case "int" | "floor" | "ceil" | "round":
                if type_of(arguments[0], self.types) != FLOAT:
                    return self.lane(arguments[0], lanes, rows)
                return self._whole(function, self._floats(arguments[0], lanes, rows))
            case _:
                raise AssertionError(f"DL901: {function} gives no int")

    def _whole(self, function: str, values: Floats) -> Lane:
        match function:
            case "int":
                whole = np.trunc(values)
            case "floor":
                whole = np.floor(values)
            case "ceil":
                whole = np.ceil(values)
            case _:
                whole = np.sign(values) * np.floor(np.abs(values) + 0.5)
        if not bool((np.abs(whole) < 2.0**63).all()):
            raise self._overflow()
        return whole.astype(np.int64)

    def _finite(self, values: Floats) -> Floats:
        if not bool(np.isfinite(values).all()):
            raise Fault("DL502", f"the result is not a finite number in rule {self.rule}", self.rule)
        return values

    def _no_zero(self, values: Lane | Floats) -> None:
        if bool((values == 0).any()):
            raise Fault("DL501", f"division by zero in rule {self.rule}", self.rule)

    def _overflow(self) -> Fault:
        return overflow(self.rule)
