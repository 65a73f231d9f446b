"""Builds columns of Spark for expressions: typed, and with a fault where an operation has no value.

A column is compiled *open*: where it has no value it is null, or NaN if it is a float, and the operations around it
hand that on. Only when a value is used is it *closed*: null although nothing that it is computed from is null, or NaN,
becomes a fault. So a column has one check and not one for each operator, and a condition can be weighed against the
others of its body before its fault counts. It is faster, too: Spark looks at the operands of a check twice to find
common parts, and at those of nested checks 2ⁿ times.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, reduce
from threading import Lock
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from emberlog.datatypes import (
    BOOL,
    FIRST,
    FLOAT,
    INT,
    INT_MIN,
    SECOND,
    STRING,
    UNKNOWN,
    DataType,
    pair_of,
    type_of_value,
)
from emberlog.diagnostics import fail
from emberlog.language.conversions import row_by_row
from emberlog.language.records import LONGEST
from emberlog.language.spark_types import spark_type
from emberlog.language.values import NOT_FINITE, OVERFLOW, CellValue

if TYPE_CHECKING:
    from emberlog.language.entry import Function

DIVISION_BY_ZERO = "division by zero"

BEYOND_INTS = float(2**63)

DEEPEST_NESTING = 4
"""Of conditions inside conditions in one column."""


def fault_text(code: str, message: str, rules: str | None, hint: str = "") -> str:
    """Writes a fault as one line that carries all a person needs, with a mark at its end: Spark writes more behind."""
    where = f" in rule {rules}" if rules else ""
    return f"error[{code}]: {message}{where}{f'; {hint}' if hint else ''} ¶"


def raise_fault(code: str, message: str, rules: str | None, shown: Column | None = None, hint: str = "") -> Column:
    """Returns a column that raises the fault. `shown` is put before the message: the value that is to blame."""
    if shown is None:
        return F.raise_error(F.lit(fault_text(code, message, rules, hint)))
    before, after = fault_text(code, f"\0{message}", rules, hint).split("\0")
    return F.raise_error(F.concat(F.lit(before), shown, F.lit(after)))


def without_nan(column: Column) -> Column:
    """Returns the column of floats with null for NaN."""
    return F.nanvl(column, F.lit(None).cast("double"))


@dataclass(frozen=True, slots=True)
class Check:
    """Names a reason for having no value that is worth telling from a result that is out of range."""

    applies: Column
    code: str
    message: str
    shown: Column | None = None


@dataclass(frozen=True, slots=True)
class Typed:
    """Holds a column of Spark together with what the language knows about it."""

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
    constant: CellValue = None

    def as_float(self) -> Column:
        return self.column.cast("double") if self.type.is_whole else self.column

    def converted(self, wanted: DataType) -> Column:
        """Returns the column in the wanted type: an int where a float is wanted becomes one, and so does a null."""
        if wanted.is_known and not self.type.is_known:
            return self.column.cast(spark_type(wanted))
        return self.as_float() if wanted == FLOAT else self.column

    @property
    def value_or_null(self) -> Column:
        """The column with null where it has no value. 0.0 and -0.0 are one value."""
        return without_nan(self.column + F.lit(0.0)) if self.is_open and self.type == FLOAT else self.column


def leaf(name: str, type_: DataType) -> Typed:
    """Returns a column that is there already, by its name in Spark."""
    return Typed(F.col(name), type_, frozenset((name,)), is_simple=True)


def constant(value: CellValue, meant: DataType | None = None) -> Typed:
    """Returns a constant of the language, of the type that is meant where the value does not tell it."""
    assert isinstance(value, bool | int | float | str)
    type_ = meant or type_of_value(value)
    # A small number would be a 32-bit one for Spark.
    column = F.lit(value).cast("long") if type_.is_whole else F.lit(value)
    return Typed(column, type_, is_simple=True, constant=value)


def from_operands(column: Column, type_: DataType, operands: list[Typed], *, conditions: int = 0) -> Typed:
    """Returns a column that has a value where all operands have. `conditions` counts those put around the operands."""
    nesting = max((operand.nesting for operand in operands), default=0) + conditions
    checks = tuple(check for operand in operands for check in operand.checks)
    is_open = any(operand.is_open for operand in operands)
    return Typed(column, type_, leaves_of(operands), is_open, checks, nesting)


def opened(column: Column, type_: DataType, operands: list[Typed], *checks: Check, conditions: int = 0) -> Typed:
    """Returns a column that is null, or NaN, where the operation has no value."""
    one = from_operands(column, type_, operands, conditions=conditions)
    return replace(one, is_open=True, checks=one.checks + checks)


def arithmetic(column: Column, type_: DataType, operands: list[Typed], *checks: Check) -> Typed:
    """Returns the open column of an operation whose floats can be infinite."""
    if type_ == FLOAT:
        # The remainder of a division by infinity is the dividend itself, unless that is infinite: then it is NaN.
        column = column % F.lit(float("inf"))
    return opened(column, type_, operands, *checks)


def leaves_of(operands: list[Typed]) -> frozenset[str]:
    return frozenset().union(*(operand.leaves for operand in operands))


def no_nulls(names: frozenset[str]) -> Column:
    tests = [F.col(name).isNotNull() for name in sorted(names)]
    return reduce(Column.__and__, tests) if tests else F.lit(True)


@dataclass(slots=True)
class Scope:
    """Compiles the expressions of one node of a plan."""

    rules: str | None
    """The rule, or the rules, that a fault is blamed on."""
    bindings: list[tuple[str, Column]] = field(default_factory=list)

    def closed(self, operand: Typed) -> Typed:
        """Returns the operand with a fault where it has no value."""
        if not operand.is_open:
            return operand
        column = operand.column
        if operand.type == FLOAT:
            # Also, 0.0 and -0.0 are one value.
            column = F.nanvl(column + F.lit(0.0), self.fault("DL502", NOT_FINITE))
        column = F.coalesce(column, F.when(no_nulls(operand.leaves), self.fault_of(operand)))
        closed = Typed(column, operand.type, operand.leaves, nesting=operand.nesting + 2)
        return self._shielded(closed) if closed.nesting > DEEPEST_NESTING else closed

    def fault_of(self, operand: Typed) -> Column:
        """Returns the column that raises the fault of an operand without a value."""
        otherwise = self.fault("DL502", NOT_FINITE if operand.type == FLOAT else OVERFLOW)
        for check in reversed(operand.checks):
            fault = self.fault(check.code, check.message, check.shown)
            otherwise = F.when(check.applies, fault).otherwise(otherwise)
        return otherwise

    def held(self, operand: Typed) -> Typed:
        """Returns the operand, open or not, as something that can be referred to often and is computed once."""
        if operand.is_simple:
            return operand
        name = f"binding {len(self.bindings)}"
        self.bindings.append((name, operand.column))
        return replace(operand, column=F.col(name), nesting=0, is_simple=True)

    def bound(self, operand: Typed) -> Typed:
        """Returns the operand, held, with null in place of NaN."""
        held = self.held(operand)
        return replace(held, column=held.value_or_null)

    def as_leaf(self, operand: Typed) -> Typed:
        """Returns the operand as a column of its own that others are computed from."""
        name = f"binding {len(self.bindings)}"
        self.bindings.append((name, operand.column))
        return leaf(name, operand.type)

    def _shielded(self, operand: Typed) -> Typed:
        """Returns the operand as a column of its own that Spark does not write into those that are computed from it."""
        return self.as_leaf(replace(operand, column=unmoved(operand.column)))

    def with_bindings(self, frame: DataFrame) -> DataFrame:
        """Returns the frame with the bound columns, in the order in which they need each other."""
        for name, bound in self.bindings:
            frame = frame.withColumn(name, bound)
        return frame

    def fault(self, code: str, message: str, shown: Column | None = None) -> Column:
        return raise_fault(code, message, self.rules, shown)


def unmoved(column: Column) -> Column:
    """Returns the column in a form that Spark evaluates where it stands: it never moves what could depend on the
    partition."""
    return F.when(F.spark_partition_id() >= 0, column)


# --- numbers --------------------------------------------------------------------------------------------------------


def arithmetic_of(function: str, operands: list[Typed], type_: DataType = INT) -> Typed:
    """Returns the sum, difference or product: Spark's `try_` function for ints gives null where it overflows."""
    if any(operand.type == FLOAT for operand in operands):
        left, right = (operand.as_float() for operand in operands)
        of_floats = {"try_add": Column.__add__, "try_subtract": Column.__sub__, "try_multiply": Column.__mul__}
        return arithmetic(of_floats[function](left, right), FLOAT, operands)
    left, right = (operand.column for operand in operands)
    return arithmetic(getattr(F, function)(left, right), type_, operands)


def divided(operands: list[Typed]) -> Typed:
    left, right = operands
    return arithmetic(F.try_divide(left.as_float(), right.as_float()), FLOAT, operands, _by_zero(right))


def remainder(operands: list[Typed]) -> Typed:
    left, right = operands
    return arithmetic(F.try_mod(left.column, right.column), left.type, operands, _by_zero(right))


def whole_quotient(scope: Scope, left: Typed, right: Typed) -> Typed:
    divisor = right.constant
    type_ = left.type if right.type == INT else INT  # of a duration and an int, a duration
    if isinstance(divisor, int) and divisor not in (0, -1):
        return from_operands(F.call_function("div", left.column, right.column), type_, [left, right])
    left, right = scope.held(left), scope.held(right)
    # What comes of a division by 0, and of the smallest int by -1, depends on Spark's ANSI mode.
    has_value = (right.column != 0) & ((right.column != -1) | (left.column != F.lit(INT_MIN)))
    quotient = F.call_function("div", left.column, F.when(has_value, right.column))
    return opened(quotient, type_, [left, right], _by_zero(right), conditions=1)


def _by_zero(divisor: Typed) -> Check:
    return Check(divisor.column == 0, "DL501", DIVISION_BY_ZERO)


def whole(column: Column, source: Typed) -> Typed:
    """Returns a float without fraction as an int; Spark's own cast stops at the last int without a word."""
    fits = (source.column < F.lit(BEYOND_INTS)) & (source.column >= F.lit(-BEYOND_INTS))
    return opened(F.when(fits, column).try_cast("long"), INT, [source], conditions=1)


def widened(one: Typed) -> Typed:
    """Returns the float that is equal to an int; there is none for some ints beyond 2⁵³."""
    nearest, is_equal = nearest_float(one.column)
    check = Check(~is_equal, "DL506", " has no equal float", one.column.cast("string"))
    return opened(F.when(is_equal, nearest), FLOAT, [one], check, conditions=1)


def narrowed(one: Typed) -> Typed:
    """Returns the int that is equal to a float."""
    fits = (one.column < F.lit(BEYOND_INTS)) & (one.column >= F.lit(-BEYOND_INTS)) & (F.rint(one.column) == one.column)
    check = Check(~fits, "DL506", " has no equal int", one.column.cast("string"))
    return opened(F.when(fits, one.column).try_cast("long"), INT, [one], check, conditions=1)


def nearest_float(whole: Column) -> tuple[Column, Column]:
    """Returns the float that is nearest to an int, and whether it is equal to it."""
    nearest = whole.cast("double")
    return nearest, (nearest < F.lit(BEYOND_INTS)) & (nearest.cast("long") == whole)


def joined_halves(upper: Column, lower: Column) -> tuple[Column, Column]:
    """Returns `upper * 2**32 + lower`, and whether it fits. Neither half may be near the end of the range."""
    top = upper + F.shiftright(lower, 32)
    fits = (top >= F.lit(-(2**31))) & (top < F.lit(2**31))
    return F.shiftleft(top, 32).bitwiseOR(lower.bitwiseAND(F.lit(2**32 - 1))), fits


def put_together(upper: Typed, lower: Typed) -> Typed:
    """Returns `upper * 2**32 + lower`, which fails only where that does not fit."""
    near = F.when((upper.column <= F.lit(2**32)) & (upper.column >= F.lit(-(2**32))), upper.column)
    total, fits = joined_halves(near, lower.column)
    return opened(F.when(fits, total), INT, [upper, lower], conditions=1)


def clamped(column: Column, limit: int) -> Column:
    """Returns the number, or the end of the range from 0 to the limit that is nearest to it."""
    return F.least(F.greatest(column, F.lit(0).cast("long")), F.lit(limit).cast("long"))


# --- text and pairs -------------------------------------------------------------------------------------------------


def read_text(text: Typed, pattern: str, type_: DataType, complaint: str) -> Typed:
    """Returns the number that a text spells."""
    if text.type not in (STRING, UNKNOWN):
        raise fail("DL403", f"a {text.type} is not a number")
    spells = F.rlike(text.column, F.lit(rf"\A{pattern}\z"))
    blanks = F.lit(" \t\n\r\f\v")
    number = F.when(spells, F.trim(text.column, blanks).try_cast("double" if type_ == FLOAT else "long"))
    check = Check(~spells, "DL503", complaint, F.concat(F.lit('"'), text.column))
    read = arithmetic(number, type_, [text], check)
    return replace(read, nesting=read.nesting + 1)


def paired(scope: Scope, operands: list[Typed]) -> Typed:
    first, second = closed = [scope.bound(operand) for operand in operands]
    pair = F.struct(first.column.alias(FIRST), second.column.alias(SECOND))
    has_both = first.column.isNotNull() & second.column.isNotNull()
    return from_operands(F.when(has_both, pair), pair_of(first.type, second.type), closed, conditions=1)


def part_of(pair: Typed, index: int) -> Typed:
    if pair.type.name != "pair":
        raise fail("DL403", f"a {pair.type} is not a pair made by encd")
    return from_operands(pair.column[(FIRST, SECOND)[index]], pair.type.parts[index], [pair])


# --- choices --------------------------------------------------------------------------------------------------------


def no_value(one: Typed) -> Column:
    """Returns where a column has no value, although nothing that it reads is null."""
    return one.value_or_null.isNull() & no_nulls(one.leaves) if one.is_open else F.lit(False)


def is_there(one: Typed) -> Column:
    """Returns where a column is not null, whether it has a value or not."""
    return no_nulls(one.leaves) if one.is_open else one.column.isNotNull()


def is_null(one: Typed) -> Typed:
    """Returns whether a column is null; open where it has no value."""
    if not one.is_open:
        return Typed(~is_there(one), BOOL)
    return Typed(F.when(~no_value(one), ~is_there(one)), BOOL, is_open=True, checks=one.checks, nesting=one.nesting + 1)


def chosen(
    scope: Scope, cases: list[tuple[Column, Typed]], otherwise: Typed, tested: Typed | None, type_: DataType
) -> Typed:
    """Returns the value of the first case that applies. It is null where that one is, and has no value where that one
    has none, or where what was tested has none."""
    values = [one for _, one in cases] + [otherwise]
    untold = no_value(tested) if tested is not None else F.lit(False)

    def first(of: Callable[[Typed], Column], of_untold: Column) -> Column:
        column = F.when(untold, of_untold)
        for applies, one in cases:
            column = column.when(applies, of(one))
        return column.otherwise(of(otherwise))

    wanted = spark_type(type_)
    value = first(lambda one: one.converted(type_).cast(wanted), F.lit(None).cast(wanted))
    witness = scope.as_leaf(Typed(first(lambda one: F.when(is_there(one), F.lit(True)), F.lit(True)), BOOL))
    parts = values if tested is None else [tested, *values]
    checks = tuple(check for one in parts for check in one.checks)
    return scope.held(Typed(value, type_, witness.leaves, any(one.is_open for one in parts), checks))


# --- comparisons ----------------------------------------------------------------------------------------------------


def compared(scope: Scope, compare: Callable[[Any, Any], Any], left: Typed, right: Typed) -> Typed:
    """Returns a comparison, open if a side is. An int and a float compare as the numbers that they are."""
    if left.type != right.type and FLOAT in (left.type, right.type):
        left, right = scope.held(left), scope.held(right)
        return from_operands(compare(_order_of_numbers(left, right), F.lit(0)), BOOL, [left, right], conditions=1)
    return from_operands(compare(left.value_or_null, right.value_or_null), BOOL, [left, right])


def one_of(scope: Scope, subject: Typed, *others: Typed) -> Typed:
    """Returns whether a column is equal to one of the others."""
    subject = scope.held(subject)
    if all(one.type == subject.type and one.is_simple for one in others):
        return from_operands(subject.value_or_null.isin([one.column for one in others]), BOOL, [subject, *others])
    tests = [compared(scope, operator.eq, subject, one).column for one in others]
    return from_operands(reduce(Column.__or__, tests), BOOL, [subject, *others])


def _order_of_numbers(left: Typed, right: Typed) -> Column:
    """Returns -1, 0 or 1. As floats, numbers that differ can only become equal: then the ints behind them decide, for a
    float that is equal to a rounded int has no fraction beyond 2⁵³."""
    if left.type == FLOAT:
        return -_order_of_numbers(right, left)
    whole, real = left.column, right.value_or_null
    near = whole.cast("double")
    as_int = real.try_cast("long")  # the last int where the float is beyond it
    exact = F.when((whole < as_int) | (real >= F.lit(BEYOND_INTS)), -1).when(whole > as_int, 1).otherwise(0)
    return F.when(near < real, -1).when(near > real, 1).when(near == real, exact)


# --- Python ---------------------------------------------------------------------------------------------------------


_COMPLAINTS: dict[str, tuple[str, str, int | None]] = {
    "matches": ("DL503", "` is not a regular expression", 1),
    "regex_extract": ("DL503", "` cannot be used here", 1),
    "regex_replace": ("DL503", "` cannot be used here", 1),
    "record!": ("DL518", f"this value has more than {LONGEST:,} characters as text", None),
    "read!": ("DL519", "` is no value of its declared type", 0),
    "bounded!": ("DL507", "` is outside the bounds of its type", 0),
}
"""What is said where a function has no value, and which of its arguments is shown before it."""


def through_python(scope: Scope, function: Function, operands: list[Typed]) -> Typed:
    """Returns the function as a column that Python computes, row by row, from operands that may be open."""
    held = [replace(one, column=one.value_or_null) for one in operands]
    types = [one.type for one in held]
    result = function.result(types)
    widens = function.widens(types)
    column = _python_udf(function, tuple(FLOAT if widens else type_ for type_ in types), result)(
        *(one.as_float() if widens else one.column for one in held)
    )
    is_total = not function.fails(types, [one.constant if one.is_simple else None for one in held])
    made = (from_operands if is_total else opened)(column, result, held)
    if function.name in _COMPLAINTS:
        code, message, place = _COMPLAINTS[function.name]
        shown = None if place is None else F.concat(F.lit("`"), held[place].column.cast("string"))
        check = Check(F.lit(True), code, message, shown)
        made = replace(made, checks=(*made.checks, check))
    return scope.held(made)


@cache
def _python_udf(function: Function, types: tuple[DataType, ...], result: DataType) -> Callable[..., Column]:
    """Returns the function for Spark. It gives null where an argument is null and where it has no value."""
    import numpy as np
    from pyspark.sql.pandas.types import to_arrow_type

    from emberlog.language.vectors import dtype_of

    compute = function.vector or row_by_row(function.python, dtype_of(result))
    read, write = [(reader(type_), dtype_of(type_)) for type_ in types], writer(result)
    spark_result = spark_type(result)
    arrow_result = to_arrow_type(spark_result)

    def computed(*columns: Any) -> Any:
        import pyarrow as pa

        rows = list(zip(*(one.to_pylist() for one in columns), strict=True))
        there = [place for place, row in enumerate(rows) if None not in row]
        vectors = [vector([one(rows[place][i]) for place in there], dtype) for i, (one, dtype) in enumerate(read)]
        with np.errstate(all="ignore"):
            values, bad = compute(*vectors)
        found: list[Any] = [None] * len(rows)
        for place, value, is_bad in zip(
            there, values.tolist(), np.zeros(len(there)) if bad is None else bad, strict=True
        ):
            found[place] = None if is_bad else write(value)
        return pa.array(found, arrow_result)

    def vector(cells: list[Any], dtype: Any) -> Any:
        column = np.empty(len(cells), dtype)
        for place, cell in enumerate(cells):  # at once, numpy would take a pair for a row
            column[place] = cell
        return column

    return arrow_udf(computed, spark_result)


def arrow_udf(function: Callable[..., Any], result: Any) -> Callable[..., Column]:
    """Returns a function of Arrow arrays as one of columns. The code of the language goes with it by value, so that
    executors need no Emberlog.

    Spark takes calls of Python for cheap and writes them into every place that reads their result: a chain of them
    would double with every link. What may be different each time, it leaves where it is.
    """
    import pyarrow as pa

    make: Any = getattr(F, "arrow_udf", None)  # since Spark 4.1
    if make is None:
        return F.udf(_with_its_code(_of_one_row(function)), result).asNondeterministic()
    whole = _with_its_code(function)
    whole.__annotations__ = {"columns": pa.Array, "return": pa.Array}  # which tells Spark what it takes
    udf: Any = make(whole, result)
    return udf.asNondeterministic()  # type: ignore[no-any-return]


_PICKLING = Lock()


def _with_its_code(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that does the same, and can be unpickled where there is no Emberlog.

    It is pickled here and at once. To tell cloudpickle for good that the language goes by value would change whatever
    else is pickled in this process: a plan would come back with classes and functions of its own, and where it comes
    back in the same process, cloudpickle gives the methods of the copies to the classes that are here.
    """
    from pyspark import cloudpickle

    import emberlog.language as language

    cloud: Any = cloudpickle
    with _PICKLING:
        cloud.register_pickle_by_value(language)
        try:
            pickled = cloud.dumps(function)
        finally:
            cloud.unregister_pickle_by_value(language)
    loaded: list[Callable[..., Any]] = []

    def computed(*columns: Any) -> Any:
        if not loaded:
            from pyspark import cloudpickle

            loaded.append(cloudpickle.loads(pickled))
        return loaded[0](*columns)

    computed.__module__ = "__main__"  # whose functions are always pickled by value
    return computed


def _of_one_row(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function of Arrow arrays as one of single values. Spark 4.0 has Python functions of whole columns only
    through pandas, which makes floats of ints where there are nulls."""

    def plain(cell: Any) -> Any:
        if isinstance(cell, list):
            return [plain(one) for one in cell]
        return {name: plain(cell[name]) for name in cell.__fields__} if hasattr(cell, "__fields__") else cell

    def computed(*cells: Any) -> Any:
        import pyarrow as pa

        return function(*(pa.array([plain(cell)]) for cell in cells))[0].as_py()

    return computed


def reader(type_: DataType) -> Callable[[Any], CellValue]:
    """Returns what turns a value of Arrow into one of the language."""
    if type_.name == "pair":
        first, second = map(reader, type_.parts)
        return lambda cell: None if cell is None else (first(cell[FIRST]), second(cell[SECOND]))
    if type_.name == "list":
        element = reader(type_.parts[0])
        return lambda cell: None if cell is None else tuple(map(element, cell))
    return lambda cell: cell


def writer(type_: DataType) -> Callable[[Any], Any]:
    """Returns what turns a value of the language into one that Arrow takes."""
    if type_.name == "pair":
        first, second = map(writer, type_.parts)
        return lambda cell: None if cell is None else {FIRST: first(cell[0]), SECOND: second(cell[1])}
    if type_.name == "list":
        element = writer(type_.parts[0])
        return lambda cell: None if cell is None else [element(item) for item in cell]
    return lambda cell: cell
