"""Evaluates expressions and conditions over lanes, a whole batch at a time, by the entries of the language."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, assert_never

import numpy as np
import numpy.typing as npt

from emberlog.datatypes import BOOL, FLOAT, DataType
from emberlog.language.comparisons import COMPARISONS
from emberlog.language.faults import Fault
from emberlog.language.registry import BUILT_IN, Functions
from emberlog.language.values import CellValue
from emberlog.language.vectors import Vector, apply, compare, dtype_of, either
from emberlog.logical.expressions import condition_expressions
from emberlog.logical.nodes import Condition
from emberlog.logical.python_evaluation import evaluate
from emberlog.semantics.model import Compare, Holds
from emberlog.semantics.totality import FAILS, TRY, operation, type_of
from emberlog.syntax.ast import (
    Binary,
    Call,
    ComparisonOperator,
    Constant,
    Expression,
    Unary,
    Variable,
    variables_of,
)
from emberlog.workers.kernels.lanes import NULL, Lane, Mask, floats_to_lane, lane_to_floats
from emberlog.workers.plan.faults import SUSPICION, suspicion
from emberlog.workers.plan.nulls import may_be_null
from emberlog.workers.store.texts import Texts


@dataclass(frozen=True, slots=True)
class Evaluator:
    """Evaluates for one rule. Text is decoded where its letters count, and encoded where it is made."""

    rule: str
    types: Mapping[str, DataType]
    texts: Texts
    functions: Functions = BUILT_IN
    nullable: frozenset[str] | None = None
    """The variables that may be null; None where nothing may."""

    def lane(self, expression: Expression, lanes: Mapping[str, Lane], rows: int) -> Lane:
        """Returns the value of the expression in each row, as a lane; raises a Fault if a row has none."""
        lane, bad = self.weighed_lane(expression, lanes, rows)
        if bad is not None and bad.any():
            raise self.fault(expression, lanes, int(np.argmax(bad)))
        return lane

    def weighed_lane(self, expression: Expression, lanes: Mapping[str, Lane], rows: int) -> tuple[Lane, Mask | None]:
        """Returns the value of the expression in each row, as a lane, and the rows for which there is none."""
        if isinstance(expression, Variable):
            return lanes[expression.name], None
        if isinstance(expression, Constant):
            return np.full(rows, self.constant(expression), np.int64), None
        found = self._vector(expression, lanes, rows)
        lane, null = self._lane(found, type_of(expression, self.types, self.functions)), found.null
        if null is not None and null.any() and (self.nullable is None or not may_be_null(expression, self.nullable)):
            raise suspicion(self.rule)
        if self.nullable is not None:
            refuse_null(self.rule, lane if null is None else lane[~null])
        return (lane if null is None else np.where(null, NULL, lane)), found.bad

    def _lane(self, found: Vector, type_: DataType) -> Lane:
        """Returns values as they are kept; where there is none, one of the same type that can be read again."""
        values, missing = found.values, either(found.bad, found.null)
        if values.dtype == np.float64:
            return floats_to_lane(values)
        if values.dtype != object:
            return values.astype(np.int64, copy=False)
        if missing is None:
            return self.texts.encode_values(values, type_)
        lane, there = np.full(len(values), self.texts.code("[]" if type_.parts else ""), np.int64), ~missing
        lane[there] = self.texts.encode_values(values[there], type_)
        return lane

    def constant(self, constant: Constant) -> int:
        match constant.value:
            case str() as text:
                return self.texts.code(text)
            case float() as value:
                return int(floats_to_lane(np.array([value]))[0])
            case None:
                return NULL
            case value:
                return int(value)

    def mask(self, condition: Condition, lanes: Mapping[str, Lane], rows: int) -> Mask:
        """Tells which rows satisfy the condition; raises a Fault if that cannot be told of a row."""
        mask, bad = self.weighed_mask(condition, lanes, rows)
        if bad is not None and bad.any():
            raise self.fault_of_condition(condition, lanes, int(np.argmax(bad)))
        return mask

    def weighed_mask(self, condition: Condition, lanes: Mapping[str, Lane], rows: int) -> tuple[Mask, Mask | None]:
        """Tells which rows satisfy the condition, and of which that cannot be told: a side has no value."""
        match condition:
            case Holds(test, negated):
                found = self._vector(test, lanes, rows)
                if negated and isinstance(test, Call) and test.function == FAILS and found.values.any():
                    raise suspicion(self.rule)
                holds = found.values.astype(np.bool_, copy=False)
                holds = ~holds if negated else holds
                return (holds if found.null is None else holds & ~found.null), found.bad
            case Compare(operator, left, right):
                read = self._coded if _compares_codes(condition, self.types) else self._vector
                sides = read(left, lanes, rows), read(right, lanes, rows)
                found = compare(COMPARISONS[operator.value], *sides)
                return found.values, found.bad
            case _:
                assert_never(condition)

    def fault(self, expression: Expression, lanes: Mapping[str, Lane], row: int) -> Fault:
        """Returns the fault of an expression that has no value in a row, as plain Python meets it."""
        values = {one.name: self._value(one.name, lanes[one.name][row]) for one in variables_of(expression)}
        try:
            evaluate(expression, values, self.functions)
        except Fault as fault:
            return Fault(fault.code, f"{fault.message} in rule {self.rule}", *fault.notes, rule=self.rule)
        if self.functions is not BUILT_IN:
            return Fault("DL505", f"a function failed in rule {self.rule}, and not when it was called again")
        raise AssertionError(f"DL901: {expression} has a value in plain Python and none in a vector: {values}")

    def fault_of_condition(self, condition: Condition, lanes: Mapping[str, Lane], row: int) -> Fault:
        """Returns the fault of a condition in a row: that of its first side without a value."""
        one_row = {name: lane[row : row + 1] for name, lane in lanes.items()}
        for side in condition_expressions(condition):
            bad = self._vector(side, one_row, 1).bad
            if bad is not None and bad.any():
                return self.fault(side, lanes, row)
        raise AssertionError(f"DL901: both sides of {condition} have a value")

    def _value(self, name: str, lane: np.int64) -> CellValue:
        found = self._vector(Variable(name), {name: np.array([lane])}, 1)
        (value,) = found.values.tolist()
        return None if found.null is not None else value

    def _vector(self, expression: Expression, lanes: Mapping[str, Lane], rows: int) -> Vector:
        match expression:
            case Variable(name):
                null = self._nulls(name, lanes[name])
                return Vector(self._values(lanes[name], self.types[name], null), None, null)
            case Constant(None):
                return Vector(np.zeros(rows, np.int64), None, np.ones(rows, np.bool_))
            case Constant(value):
                return Vector(np.full(rows, value, dtype_of(type_of(expression, self.types))))
            case Call(name, (argument,)) if name == TRY:
                found = self._vector(argument, lanes, rows)
                return Vector(found.values, None, either(found.null, found.bad))
            case Call(name, (argument,)) if name == FAILS:
                bad = self._vector(argument, lanes, rows).bad
                return Vector(np.zeros(rows, np.bool_) if bad is None else bad)
            case Unary() | Binary() | Call():
                function, arguments = operation(expression, self.functions)
                assert function is not None, f"DL901: {expression} has no value here"
                if not arguments:  # the empty list
                    values = np.empty(rows, object)
                    values[:] = [function.python()] * rows
                    return Vector(values)
                operands = [self._vector(one, lanes, rows) for one in arguments]
                return apply(function, operands, [type_of(one, self.types, self.functions) for one in arguments])
            case _:
                raise AssertionError(f"DL901: {expression} has no value here")

    def _coded(self, expression: Expression, lanes: Mapping[str, Lane], rows: int) -> Vector:
        """Returns the values of a variable or a constant as they are kept."""
        lane, _ = self.weighed_lane(expression, lanes, rows)
        return Vector(lane, None, self._nulls(expression.name, lane) if isinstance(expression, Variable) else None)

    def _nulls(self, name: str, lane: Lane) -> Mask | None:
        """Returns the rows in which a variable is null; None if there are none."""
        if not self.nullable or name not in self.nullable:
            return None
        null = lane == NULL
        return null if null.any() else None

    def _values(self, lane: Lane, type_: DataType, null: Mask | None) -> npt.NDArray[Any]:
        if type_ == FLOAT:
            return lane_to_floats(lane)
        if type_.is_coded:
            values: npt.NDArray[Any] = np.full(len(lane), "", object)
            there = slice(None) if null is None else ~null
            values[there] = self.texts.decode_values(lane[there], type_)
            return values
        return lane != 0 if type_ == BOOL else lane


def refuse_null(rule: str, lane: Lane) -> None:
    """Raises a suspicion if an int is what stands for null where there may be nulls."""
    if bool((lane == NULL).any()):
        raise Fault(SUSPICION, f"rule {rule} gives the int that stands for null", rule=rule)


def _compares_codes(condition: Compare, types: Mapping[str, DataType]) -> bool:
    """Tells whether both sides are kept as codes, which say whether they are the same."""
    is_equation = condition.operator in (ComparisonOperator.EQUAL, ComparisonOperator.NOT_EQUAL)
    sides = (condition.left, condition.right)
    return is_equation and all(
        isinstance(side, Variable | Constant) and type_of(side, types).is_coded for side in sides
    )
