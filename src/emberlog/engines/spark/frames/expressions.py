"""Compiles expressions and conditions of rules to columns of Spark, from the entries of the language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import assert_never

from pyspark.sql import Column
from pyspark.sql import functions as F

from emberlog.datatypes import BOOL, UNKNOWN, DataType
from emberlog.diagnostics import InternalError
from emberlog.engines.spark.frames.columns import spark_name
from emberlog.engines.spark.frames.python_functions import scalar_udf
from emberlog.language.choices import COALESCE, IF
from emberlog.language.comparisons import COMPARISONS
from emberlog.language.entry import Function, widest
from emberlog.language.numbers import NEGATE, OPERATORS
from emberlog.language.registry import Functions
from emberlog.language.spark_columns import (
    Scope,
    Typed,
    chosen,
    constant,
    from_operands,
    is_there,
    leaf,
    no_nulls,
    through_python,
    unmoved,
)
from emberlog.logical.nodes import Condition
from emberlog.semantics.model import Compare, Holds
from emberlog.semantics.totality import FAILS, TRY, can_fail
from emberlog.syntax.ast import (
    Binary,
    Call,
    Constant,
    Expression,
    Parameter,
    Unary,
    Variable,
    Wildcard,
)


class ExpressionCompiler:
    """Compiles the expressions of one node of a plan."""

    def __init__(
        self, types: Mapping[str, DataType], functions: Functions, scope: Scope, guard: Column | None = None
    ) -> None:
        self.types = types
        self.functions = functions
        self.scope = scope
        self.guard = guard
        """Where it is not true, all that expressions read is null, so that none of them can fail there."""

    def compile(self, expression: Expression) -> Typed:
        """Returns a column that has a value, is null where something that it reads is null, or ends in a fault."""
        return self.scope.closed(self._open(expression))

    def conditions(self, conditions: Sequence[Condition]) -> list[Column]:
        """Returns columns that are all true for rows that satisfy all conditions. What can fail is weighed together
        and where it stands: one that does not hold beats the fault of another, and Spark evaluates none earlier."""
        compiled = [self._condition(condition) for condition in conditions]
        safe = [one.column for one in compiled if not one.is_open]
        risky = [self.scope.held(one) for one in compiled if one.is_open]
        return [*safe, unmoved(self._verdict(risky))] if risky else safe

    def _verdict(self, conditions: Sequence[Typed]) -> Column:
        """Returns true, false, or a fault where no condition is false and one has no value."""
        # Of three truth values, false and null is false, and true and null is null. A null operand makes false.
        votes = [F.coalesce(one.column, F.when(~no_nulls(one.leaves), F.lit(False))) for one in conditions]
        fault = F.lit(None).cast("boolean")
        for one in reversed(conditions):
            fault = F.when(one.column.isNull(), self.scope.fault_of(one)).otherwise(fault)
        return F.coalesce(reduce(Column.__and__, votes), fault)

    def _condition(self, condition: Condition) -> Typed:
        match condition:
            case Compare(operator, left, right):
                return COMPARISONS[operator.value].spark(self.scope, self._open(left), self._open(right))
            case Holds(test, negated):
                tested = self._open(test)
                return from_operands(~tested.column if negated else tested.column, BOOL, [tested])
        assert_never(condition)

    def _open(self, expression: Expression) -> Typed:
        match expression:
            case Variable(name):
                return self._guarded(leaf(spark_name(name), self.types[name]))
            case Constant(None):
                return self.scope.as_leaf(Typed(F.lit(None), UNKNOWN))
            case Constant(value, _, meant):
                return self._guarded(constant(value, meant))
            case Unary(operand):
                return self._applied(NEGATE, [operand])
            case Binary(operator, left, right):
                return self._applied(OPERATORS[operator.value], [left, right])
            case Call(name, (argument,)) if name in (TRY, FAILS):
                return self._attempted(self.scope.held(self._open(argument)), is_test=name == FAILS)
            case Call(name, arguments):
                return self._applied(self.functions[name], arguments)
            case Wildcard() | Parameter():
                raise InternalError(f"DL902: a plan that is run holds {expression!r}")
        assert_never(expression)

    def _guarded(self, one: Typed) -> Typed:
        return one if self.guard is None else self.scope.as_leaf(Typed(F.when(self.guard, one.column), one.type))

    def _applied(self, function: Function, arguments: Sequence[Expression]) -> Typed:
        if function is COALESCE:
            return self._first_there(arguments)
        if function is IF:
            return self._branch(*arguments)
        operands = [self._open(argument) for argument in arguments]
        if function.is_registered:
            return self._registered(function, operands)
        if function.spark is None:
            return through_python(self.scope, function, operands)
        return function.spark(self.scope, operands)

    def _first_there(self, arguments: Sequence[Expression]) -> Typed:
        cases: list[tuple[Column, Typed]] = []
        guard = F.lit(True)
        for argument in arguments:
            one = self._open_where(guard, argument)
            cases.append((is_there(one), one))
            guard = guard & ~is_there(one)
        *first, (_, last) = cases
        return chosen(self.scope, first, last, None, widest([one.type for _, one in cases]))

    def _branch(self, condition: Expression, first: Expression, second: Expression) -> Typed:
        test = self.scope.held(self._open(condition))
        holds = F.coalesce(test.column, F.lit(False))
        yes, no = self._open_where(holds, first), self._open_where(~holds, second)
        return chosen(self.scope, [(holds, yes)], no, test, widest([yes.type, no.type]))

    def _open_where(self, guard: Column, expression: Expression) -> Typed:
        """Returns the column of an expression that counts only where the guard is true."""
        if not can_fail(expression, self.types):
            return self.scope.held(self._open(expression))
        both = guard if self.guard is None else self.guard & guard
        inner = ExpressionCompiler(self.types, self.functions, self.scope, both)
        return self.scope.held(inner._open(expression))

    def _attempted(self, operand: Typed, *, is_test: bool) -> Typed:
        value = operand.value_or_null
        if not is_test:
            return self.scope.as_leaf(Typed(value, operand.type))
        return self.scope.as_leaf(Typed(value.isNull() & no_nulls(operand.leaves), BOOL))

    def _registered(self, function: Function, operands: Sequence[Typed]) -> Typed:
        result = function.result([operand.type for operand in operands])
        given = [
            self.scope.closed(operand).converted(wanted)
            for operand, wanted in zip(operands, function.parameters, strict=True)
        ]
        # It may be null for reasons of its own.
        return self.scope.as_leaf(Typed(scalar_udf(function, result, self.scope.rules)(*given), result))
