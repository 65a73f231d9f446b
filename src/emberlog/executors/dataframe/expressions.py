"""Expressions and conditions of rules as columns of Spark.

Where Spark would give null, infinity or a wrapped number for an operation without a value, the column raises a fault
that names the rule. Spark's `try_…` functions help to do that the same in ANSI mode and out of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from pyspark.sql import Column
from pyspark.sql import functions as F

from emberlog.datatypes import FLOAT, INT, INT_MIN, DataType, type_of_value
from emberlog.diagnostics import InternalError
from emberlog.executors.dataframe.columns import spark_name
from emberlog.executors.dataframe.python_functions import scalar_udf
from emberlog.executors.dataframe.scalar_functions import BUILT_IN_FUNCTIONS
from emberlog.executors.dataframe.scope import OVERFLOW, Check, Scope, Typed, arithmetic, from_operands, leaf
from emberlog.logical.nodes import Condition
from emberlog.semantics.functions import Functions
from emberlog.semantics.model import Compare, Holds
from emberlog.syntax.ast import (
    Binary,
    BinaryOperator,
    Call,
    ComparisonOperator,
    Constant,
    Expression,
    Parameter,
    Unary,
    Value,
    Variable,
    Wildcard,
)

DIVISION_BY_ZERO = "division by zero"


class ExpressionCompiler:
    """Compiles the expressions of one node of a plan."""

    def __init__(self, types: Mapping[str, DataType], functions: Functions, scope: Scope) -> None:
        self.types = types
        self.functions = functions
        self.scope = scope

    def compile(self, expression: Expression) -> Typed:
        """A column that has a value, is null where something that it reads is null, or ends in a fault."""
        return self.scope.closed(self._open(expression))

    def condition(self, condition: Condition) -> Column:
        match condition:
            case Compare(operator, left, right):
                return compared(operator, self.compile(left), self.compile(right))
            case Holds(test, negated):
                tested = self.compile(test).column
                return ~tested if negated else tested
        assert_never(condition)

    def _open(self, expression: Expression) -> Typed:
        match expression:
            case Variable(name):
                return leaf(spark_name(name), self.types[name])
            case Constant(value):
                return constant(value)
            case Unary(operand):
                return self._negated(self._open(operand))
            case Binary(operator, left, right):
                return self._arithmetic(operator, self._open(left), self._open(right))
            case Call(function, arguments):
                return self._call(function, [self._open(argument) for argument in arguments])
            case Wildcard() | Parameter():
                raise InternalError(f"DL902: a plan that is run holds {expression!r}")
        assert_never(expression)

    def _negated(self, operand: Typed) -> Typed:
        zero = F.lit(0.0) if operand.type == FLOAT else F.lit(0)
        difference = zero - operand.column if operand.type == FLOAT else F.try_subtract(zero, operand.column)
        return arithmetic(difference, operand.type, [operand])

    def _arithmetic(self, operator: BinaryOperator, left: Typed, right: Typed) -> Typed:
        operands = [left, right]
        match operator:
            case BinaryOperator.DIVIDE:
                quotient = F.try_divide(left.as_float(), right.as_float())
                return arithmetic(quotient, FLOAT, operands, _division_by_zero(right))
            case BinaryOperator.INTEGER_DIVIDE:
                return self._whole_quotient(left, right)
            case BinaryOperator.MODULO:
                return arithmetic(F.try_mod(left.column, right.column), INT, operands, _division_by_zero(right))
            case BinaryOperator.ADD | BinaryOperator.SUBTRACT | BinaryOperator.MULTIPLY:
                if FLOAT in (left.type, right.type):
                    return arithmetic(_of_floats(operator, left.as_float(), right.as_float()), FLOAT, operands)
                return arithmetic(_of_ints(operator, left.column, right.column), INT, operands)
        assert_never(operator)

    def _whole_quotient(self, left: Typed, right: Typed) -> Typed:
        divisor = right.constant
        if isinstance(divisor, int) and divisor not in (0, -1):
            return arithmetic(F.call_function("div", left.column, right.column), INT, [left, right])
        left, right = self.scope.bound(left), self.scope.bound(right)
        # Nothing is divided by 0 here: what comes of that depends on Spark's ANSI mode.
        quotient = F.call_function("div", left.column, F.when(right.column != 0, right.column))
        column = (
            F.when((right.column == 0) & left.column.isNotNull(), self.scope.fault("DL501", DIVISION_BY_ZERO))
            .when((right.column == -1) & (left.column == F.lit(INT_MIN)), self.scope.fault("DL502", OVERFLOW))
            .otherwise(quotient)
        )
        return from_operands(column, INT, [left, right], conditions=2)

    def _call(self, name: str, arguments: list[Typed]) -> Typed:
        function = self.functions.scalars[name]
        if function.implementation is None:
            return BUILT_IN_FUNCTIONS[name](self.scope, arguments)
        result = function.result([argument.type for argument in arguments])
        udf = scalar_udf(name, function.implementation, result, self.scope.rules)
        given = [
            self.scope.closed(argument).converted(wanted)
            for argument, wanted in zip(arguments, function.parameters, strict=True)
        ]
        # It may be null for reasons of its own.
        return self.scope.as_leaf(Typed(udf(*given), result))


def _division_by_zero(divisor: Typed) -> Check:
    return Check(divisor.column == 0, "DL501", DIVISION_BY_ZERO)


def constant(value: Value) -> Typed:
    type_ = type_of_value(value)
    # A small number would be a 32-bit one for Spark.
    column = F.lit(value).cast("long") if type_ == INT else F.lit(value)
    return Typed(column, type_, is_simple=True, constant=value)


def compared(operator: ComparisonOperator, left: Typed, right: Typed) -> Column:
    """A comparison; with a null on a side it is null, which no filter lets through."""
    if FLOAT in (left.type, right.type):
        first, second = left.as_float(), right.as_float()
    else:
        first, second = left.column, right.column
    match operator:
        case ComparisonOperator.EQUAL:
            return first == second
        case ComparisonOperator.NOT_EQUAL:
            return first != second
        case ComparisonOperator.LESS:
            return first < second
        case ComparisonOperator.LESS_OR_EQUAL:
            return first <= second
        case ComparisonOperator.GREATER:
            return first > second
        case ComparisonOperator.GREATER_OR_EQUAL:
            return first >= second
    assert_never(operator)


def _of_ints(operator: BinaryOperator, left: Column, right: Column) -> Column:
    match operator:
        case BinaryOperator.ADD:
            return F.try_add(left, right)
        case BinaryOperator.SUBTRACT:
            return F.try_subtract(left, right)
        case BinaryOperator.MULTIPLY:
            return F.try_multiply(left, right)
        case _:
            raise InternalError(f"DL902: {operator} of two ints has a case of its own")


def _of_floats(operator: BinaryOperator, left: Column, right: Column) -> Column:
    match operator:
        case BinaryOperator.ADD:
            return left + right
        case BinaryOperator.SUBTRACT:
            return left - right
        case BinaryOperator.MULTIPLY:
            return left * right
        case _:
            raise InternalError(f"DL902: {operator} of two floats has a case of its own")
