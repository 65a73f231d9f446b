"""What compiled expressions stand on: typed columns, and the checks that turn missing results into faults.

Arithmetic is compiled *open*: where it has no value, the column is null or NaN, which the operations around it hand on.
Only when a value is used for something else is it *closed*: null although nothing that it is computed from is null, or
NaN, becomes a fault. So a column has one check and not one for each operator. That is not only faster: Spark looks at
the operands of a check twice to find common parts, and at those of nested checks 2ⁿ times.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from emberlog.datatypes import FLOAT, INT, DataType
from emberlog.executors.dataframe.faults import raise_fault
from emberlog.syntax.ast import Value

OVERFLOW = "the result does not fit in a 64-bit int"
NOT_FINITE = "the result is not a finite number"

DEEPEST_NESTING = 4
"""Of conditions inside conditions in one column."""


@dataclass(frozen=True, slots=True)
class Check:
    """A reason for having no value that is worth telling from a result that is out of range."""

    applies: Column
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Typed:
    """A column of Spark together with what the language knows about it."""

    column: Column
    type: DataType
    leaves: frozenset[str] = frozenset()
    """The names of the columns it is computed from. It is null where one of them is, and, if closed, only there."""
    is_open: bool = False
    checks: tuple[Check, ...] = ()
    """Of an open column."""
    nesting: int = 0
    """How deep it has conditions inside conditions."""
    is_simple: bool = False
    """True for a constant, and for a column that is there already."""
    constant: Value | None = None

    def as_float(self) -> Column:
        return self.column.cast("double") if self.type == INT else self.column

    def converted(self, wanted: DataType) -> Column:
        """The column in the wanted type: an int where a float is wanted becomes one."""
        return self.as_float() if wanted == FLOAT else self.column


def leaf(name: str, type_: DataType) -> Typed:
    """A column that is there already, by its name in Spark."""
    return Typed(F.col(name), type_, frozenset((name,)), is_simple=True)


def from_operands(column: Column, type_: DataType, operands: list[Typed], *, conditions: int = 0) -> Typed:
    """A closed column that is null where an operand is. `conditions` says how many it puts around the operands."""
    nesting = max((operand.nesting for operand in operands), default=0) + conditions
    return Typed(column, type_, leaves_of(operands), nesting=nesting)


def arithmetic(column: Column, type_: DataType, operands: list[Typed], *checks: Check) -> Typed:
    """An open column: null, or NaN, where the operation has no value."""
    if type_ == FLOAT:
        # The remainder of a division by infinity is the dividend itself, unless that is infinite: then it is NaN.
        column = column % F.lit(float("inf"))
    known = tuple(check for operand in operands for check in operand.checks)
    return replace(from_operands(column, type_, operands), is_open=True, checks=known + checks)


def leaves_of(operands: list[Typed]) -> frozenset[str]:
    return frozenset().union(*(operand.leaves for operand in operands))


def no_nulls(names: frozenset[str]) -> Column:
    tests = [F.col(name).isNotNull() for name in sorted(names)]
    return reduce(Column.__and__, tests) if tests else F.lit(True)


@dataclass(slots=True)
class Scope:
    """Where the expressions of one node of a plan are compiled."""

    rules: str | None
    """The rule, or the rules, that a fault is blamed on."""
    bindings: list[tuple[str, Column]] = field(default_factory=list)

    def closed(self, operand: Typed) -> Typed:
        """The operand with a fault where it has no value."""
        if not operand.is_open:
            return operand
        column = operand.column
        if operand.type == FLOAT:
            # Also, 0.0 and -0.0 are one value.
            column = F.nanvl(column + F.lit(0.0), self.fault("DL502", NOT_FINITE))
        column = F.coalesce(column, F.when(no_nulls(operand.leaves), self._fault_of(operand)))
        closed = Typed(column, operand.type, operand.leaves, nesting=operand.nesting + 2)
        return self._shielded(closed) if closed.nesting > DEEPEST_NESTING else closed

    def _fault_of(self, operand: Typed) -> Column:
        otherwise = self.fault("DL502", NOT_FINITE if operand.type == FLOAT else OVERFLOW)
        for check in reversed(operand.checks):
            otherwise = F.when(check.applies, self.fault(check.code, check.message)).otherwise(otherwise)
        return otherwise

    def bound(self, operand: Typed) -> Typed:
        """The operand, closed, as something that can be referred to more than once without being computed as often."""
        operand = self.closed(operand)
        return operand if operand.is_simple else self.as_leaf(operand)

    def as_leaf(self, operand: Typed) -> Typed:
        """The operand as a column of its own that others are computed from."""
        name = f"binding {len(self.bindings)}"
        self.bindings.append((name, operand.column))
        return leaf(name, operand.type)

    def _shielded(self, operand: Typed) -> Typed:
        """The operand as a column of its own that Spark does not write into those that are computed from it: it never
        does that with anything that could depend on the partition."""
        return self.as_leaf(replace(operand, column=F.when(F.spark_partition_id() >= 0, operand.column)))

    def with_bindings(self, frame: DataFrame) -> DataFrame:
        """The frame with the bound columns, in the order in which they need each other."""
        for name, bound in self.bindings:
            frame = frame.withColumn(name, bound)
        return frame

    def fault(self, code: str, message: str, shown: Column | None = None) -> Column:
        return raise_fault(code, message, self.rules, shown)
