"""What compiled expressions stand on: typed columns, faults, and columns that are bound once and read often."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from emberlog.datatypes import FLOAT, INT, DataType
from emberlog.executors.dataframe.faults import raise_fault
from emberlog.syntax.ast import Value

OVERFLOW = "the result does not fit in a 64-bit int"
NOT_FINITE = "the result is not a finite number"


@dataclass(frozen=True, slots=True)
class Typed:
    """A column of Spark together with what the language knows about it."""

    column: Column
    type: DataType
    leaves: frozenset[str]
    """The names of the columns it is computed from. It is null exactly where one of them is."""
    is_simple: bool = False
    """True for a constant, and for a column that is there already."""
    constant: Value | None = None

    def as_float(self) -> Column:
        return self.column.cast("double") if self.type == INT else self.column

    def converted(self, wanted: DataType) -> Column:
        """The column in the wanted type: an int where a float is wanted becomes one."""
        return self.as_float() if wanted == FLOAT else self.column

    def derived(self, column: Column, type_: DataType) -> Typed:
        """Another column that is null exactly where this one is."""
        return Typed(column, type_, self.leaves)


def leaf(name: str, type_: DataType) -> Typed:
    """A column that is there already, by its name in Spark."""
    return Typed(F.col(name), type_, frozenset((name,)), is_simple=True)


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

    def bound(self, operand: Typed) -> Typed:
        """The operand as something that can be referred to more than once without being computed more than once."""
        return operand if operand.is_simple else Typed(self._bind(operand.column), operand.type, operand.leaves, True)

    def as_leaf(self, operand: Typed) -> Typed:
        """The operand as a column that others are computed from, for what can be null for reasons of its own."""
        self._bind(operand.column)
        return leaf(self.bindings[-1][0], operand.type)

    def _bind(self, column: Column) -> Column:
        name = f"binding {len(self.bindings)}"
        self.bindings.append((name, column))
        return F.col(name)

    def with_bindings(self, frame: DataFrame) -> DataFrame:
        """The frame with the bound columns, in the order in which they need each other."""
        for name, bound in self.bindings:
            frame = frame.withColumn(name, bound)
        return frame

    def fault(self, code: str, message: str, shown: Column | None = None) -> Column:
        return raise_fault(code, message, self.rules, shown)

    def or_fault(self, operand: Typed, code: str, message: str) -> Typed:
        """The operand, and a fault where it is null although nothing that it is computed from is."""
        checked = F.coalesce(operand.column, F.when(no_nulls(operand.leaves), self.fault(code, message)))
        return operand.derived(checked, operand.type)

    def finite(self, operand: Typed) -> Typed:
        """The operand, and a fault where it is infinite or not a number. Also, 0.0 and -0.0 are one value."""
        # The remainder of a division by infinity is the dividend itself, unless that is infinite.
        remainder = (operand.column + F.lit(0.0)) % F.lit(float("inf"))
        return operand.derived(F.nanvl(remainder, self.fault("DL502", NOT_FINITE)), operand.type)
