"""Expressions and conditions of rules as columns of Spark.

Each node of an expression becomes a column that refers to its operands once, or binds them first, so the column of a
deep expression stays small. Where Spark would give null, infinity or a wrapped number for an operation without a value,
the column raises a fault that names the rule. Spark's `try_…` functions do that the same in ANSI mode and out of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from pyspark.sql import Column
from pyspark.sql import functions as F

from emberlog.datatypes import FLOAT, INT, INT_MIN, DataType
from emberlog.diagnostics import InternalError
from emberlog.executors.dataframe.columns import spark_name
from emberlog.executors.dataframe.python_functions import scalar_udf
from emberlog.executors.dataframe.scalar_functions import BUILT_IN_FUNCTIONS
from emberlog.executors.dataframe.scope import OVERFLOW, Scope, Typed, leaf, leaves_of
from emberlog.logical.expressions import type_of_value
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


class ExpressionCompiler:
    """Compiles the expressions of one node of a plan."""

    def __init__(self, types: Mapping[str, DataType], functions: Functions, scope: Scope) -> None:
        self.types = types
        self.functions = functions
        self.scope = scope

    def compile(self, expression: Expression) -> Typed:
        match expression:
            case Variable(name):
                return leaf(spark_name(name), self.types[name])
            case Constant(value):
                return constant(value)
            case Unary(operand):
                return self._negated(self.compile(operand))
            case Binary(operator, left, right):
                return self._arithmetic(operator, self.compile(left), self.compile(right))
            case Call(function, arguments):
                return self._call(function, [self.compile(argument) for argument in arguments])
            case Wildcard() | Parameter():
                raise InternalError(f"DL902: a plan that is run holds {expression!r}")
        assert_never(expression)

    def condition(self, condition: Condition) -> Column:
        match condition:
            case Compare(operator, left, right):
                return compared(operator, self.compile(left), self.compile(right))
            case Holds(test, negated):
                tested = self.compile(test).column
                return ~tested if negated else tested
        assert_never(condition)

    def _negated(self, operand: Typed) -> Typed:
        if operand.type == FLOAT:
            return operand.derived(F.lit(0.0) - operand.column, FLOAT)
        negated = operand.derived(F.try_subtract(F.lit(0), operand.column), INT)
        return self.scope.or_fault(negated, "DL502", OVERFLOW)

    def _arithmetic(self, operator: BinaryOperator, left: Typed, right: Typed) -> Typed:
        leaves = left.leaves | right.leaves
        match operator:
            case BinaryOperator.DIVIDE:
                quotient = Typed(F.try_divide(left.as_float(), right.as_float()), FLOAT, leaves)
                return self.scope.finite(self.scope.or_fault(quotient, "DL501", "division by zero"))
            case BinaryOperator.INTEGER_DIVIDE:
                return Typed(self._whole_quotient(left, right), INT, leaves)
            case BinaryOperator.MODULO:
                remainder = Typed(F.try_mod(left.column, right.column), INT, leaves)
                return self.scope.or_fault(remainder, "DL501", "division by zero")
            case BinaryOperator.ADD | BinaryOperator.SUBTRACT | BinaryOperator.MULTIPLY:
                if FLOAT in (left.type, right.type):
                    result = _of_floats(operator, left.as_float(), right.as_float())
                    return self.scope.finite(Typed(result, FLOAT, leaves))
                result = _of_ints(operator, left.column, right.column)
                return self.scope.or_fault(Typed(result, INT, leaves), "DL502", OVERFLOW)
        assert_never(operator)

    def _whole_quotient(self, left: Typed, right: Typed) -> Column:
        left, right = self.scope.bound(left), self.scope.bound(right)
        # Nothing is divided by 0 here: what comes of that depends on Spark's ANSI mode.
        quotient = F.call_function("div", left.column, F.when(right.column != 0, right.column))
        return (
            F.when((right.column == 0) & left.column.isNotNull(), self.scope.fault("DL501", "division by zero"))
            .when((right.column == -1) & (left.column == F.lit(INT_MIN)), self.scope.fault("DL502", OVERFLOW))
            .otherwise(quotient)
        )

    def _call(self, name: str, arguments: list[Typed]) -> Typed:
        function = self.functions.scalars[name]
        if function.implementation is None:
            return BUILT_IN_FUNCTIONS[name](self.scope, arguments)
        result = function.result([argument.type for argument in arguments])
        udf = scalar_udf(name, function.implementation, result, self.scope.rules)
        given = [
            argument.converted(wanted) for argument, wanted in zip(arguments, function.parameters, strict=True)
        ]
        return self.scope.as_leaf(Typed(udf(*given), result, leaves_of(arguments)))


def constant(value: Value) -> Typed:
    type_ = type_of_value(value)
    # A small number would be a 32-bit one for Spark.
    column = F.lit(value).cast("long") if type_ == INT else F.lit(value)
    return Typed(column, type_, frozenset(), is_simple=True, constant=value)


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
