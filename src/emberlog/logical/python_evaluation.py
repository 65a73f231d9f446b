"""Evaluates expressions and conditions in plain Python: for the interpreter, for constants and for proofs."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias, assert_never

from emberlog.datatypes import TIMESTAMP, UNKNOWN, DataType
from emberlog.diagnostics import EmberlogError, InternalError, fail
from emberlog.language.comparisons import COMPARISONS
from emberlog.language.entry import Function
from emberlog.language.faults import Fault
from emberlog.language.moments import MOMENT
from emberlog.language.numbers import NEGATE, OPERATORS
from emberlog.language.registry import BUILT_IN, Functions
from emberlog.language.spellings import literal
from emberlog.language.values import CellValue, shown
from emberlog.logical.nodes import Condition
from emberlog.semantics.model import Compare, Holds
from emberlog.semantics.totality import FAILS, TRY, condition_can_fail
from emberlog.source import NOWHERE
from emberlog.syntax.ast import (
    Binary,
    Call,
    Constant,
    Expression,
    Parameter,
    Unary,
    Variable,
    Wildcard,
    variables_of,
)

Row: TypeAlias = Any
"""A fact, or the values of variables by their names."""
Compiled: TypeAlias = Callable[[Row], CellValue]
Test: TypeAlias = Callable[[Row], bool]
Lookup: TypeAlias = Callable[[str], Compiled]
"""Gives for a variable what reads its value from a row."""


def by_position(columns: Sequence[str]) -> Lookup:
    """Returns how variables are read from a fact with these columns."""
    return lambda name: operator.itemgetter(columns.index(name))


by_name: Lookup = operator.itemgetter
"""How variables are read from a mapping."""


def evaluate(expression: Expression, values: Mapping[str, CellValue], functions: Functions = BUILT_IN) -> CellValue:
    """Returns the value of an expression; raises a Fault that knows the smallest part that went wrong."""
    return compile_expression(expression, by_name, functions)(values)


def holds(condition: Condition, values: Mapping[str, CellValue], functions: Functions = BUILT_IN) -> bool:
    """Tells whether the values satisfy a condition."""
    return compile_condition(condition, by_name, functions)(values)


def compile_expression(expression: Expression, lookup: Lookup, functions: Functions) -> Compiled:
    """Returns a function that computes the expression's value for a row."""
    match expression:
        case Constant(value):
            return lambda _row: value
        case Variable(name):
            return lookup(name)
        case Unary(operand):
            return _applied(NEGATE, (operand,), expression, lookup, functions)
        case Binary(symbol, left, right):
            return _applied(OPERATORS[symbol.value], (left, right), expression, lookup, functions)
        case Call(name, (argument,)) if name in (TRY, FAILS):
            return _attempted(compile_expression(argument, lookup, functions), is_test=name == FAILS)
        case Call(name, arguments):
            if name not in functions:
                raise InternalError(f"DL902: there is no function {name}")
            return _applied(functions[name], arguments, expression, lookup, functions)
        case Parameter(name):
            raise Fault("DL211", f"the parameter `${name}` has no value")
        case Wildcard():
            raise InternalError("DL902: `_` has no value")
    assert_never(expression)


def _applied(
    function: Function,
    arguments: Sequence[Expression],
    expression: Expression,
    lookup: Lookup,
    functions: Functions,
) -> Compiled:
    """Returns the function of the arguments. Where it takes no nulls, one of them makes null even of a fault."""
    compiled = [compile_expression(argument, lookup, functions) for argument in arguments]
    python, takes_nulls = function.python, function.takes_nulls

    def value(row: Row) -> CellValue:
        try:
            values = [one(row) for one in compiled]
        except Fault:
            if not takes_nulls and any(_is_null(one, row) for one in compiled):
                return None
            raise
        if None in values and not takes_nulls:
            return None
        try:
            return python(*values)
        except Fault as fault:
            raise fault.at(expression.span, values_text(expression, lookup, row)) from None

    if function.is_lazy:
        return lambda row: python(*(partial(one, row) for one in compiled))
    return value


def values_text(expression: Expression, lookup: Lookup, row: Row) -> str:
    """Says which values an expression met: `here X = 1 and Y = 0`."""
    names = dict.fromkeys(variable.name for variable in variables_of(expression))
    meant = _meant(expression)
    values = [f"{name} = {_shown(lookup(name)(row), meant.get(name))}" for name in names]
    return f"here {' and '.join(values)}" if values else ""


def _meant(expression: Expression) -> dict[str, DataType]:
    """Returns the types that functions tell of the variables they take, where the values do not tell them."""
    match expression:
        case Call(name, arguments):
            function = BUILT_IN.find(name)
            meant: dict[str, DataType] = {}
            for place, argument in enumerate(arguments):
                wanted = function.parameter(place) if function else UNKNOWN
                wanted = TIMESTAMP if wanted == MOMENT else wanted  # dates are widened before
                is_told = isinstance(argument, Variable) and wanted.is_told_by_type and not wanted.parts
                meant |= {argument.name: wanted} if is_told else _meant(argument)  # type: ignore[union-attr]
            return meant
        case Binary(_, left, right):
            return _meant(left) | _meant(right)
        case Unary(operand):
            return _meant(operand)
        case _:
            return {}


def _shown(value: CellValue, type_: DataType | None) -> str:
    return literal(value, type_) if type_ is not None and isinstance(value, int) else shown(value)


def error_in_rule(fault: Fault, rule: str) -> EmberlogError:
    """Returns the error for people: which rule, and where it stands."""
    return _error(fault, f"{fault.message} in rule {rule}")


def error_in_relation(fault: Fault, relation: str, rules: Sequence[str]) -> EmberlogError:
    """Returns the error of an aggregate, to which several rules contribute."""
    of_rules = f", rule {', '.join(rules)}" if rules else ""
    return _error(fault, f"{fault.message}: `{relation}`{of_rules}")


def _error(fault: Fault, message: str) -> EmberlogError:
    return fail(fault.code, message, None if fault.span is NOWHERE else fault.span, *fault.notes)


def _attempted(compiled: Compiled, *, is_test: bool) -> Compiled:
    def value(row: Row) -> CellValue:
        try:
            found = compiled(row)
        except Fault:
            return True if is_test else None
        return False if is_test else found

    return value


def _is_null(compiled: Compiled, row: Row) -> bool:
    try:
        return compiled(row) is None
    except Fault:
        return False


def compile_condition(condition: Condition, lookup: Lookup, functions: Functions) -> Test:
    """Returns a function that tells whether a row satisfies the condition; null never does."""
    match condition:
        case Compare(symbol, left, right):
            first, second = (compile_expression(side, lookup, functions) for side in (left, right))
            compare = COMPARISONS[symbol.value].python
            return lambda row: compare(first(row), second(row))
        case Holds(test, is_negated):
            compiled = compile_expression(test, lookup, functions)
            wanted = not is_negated
            return lambda row: compiled(row) is wanted
    assert_never(condition)


def compile_conditions(conditions: Sequence[Condition], lookup: Lookup, functions: Functions) -> Test:
    """Returns a function that tells whether a row satisfies all conditions. One that does not hold beats the fault of
    another, wherever they stand."""
    safe = [one for one in conditions if not condition_can_fail(one, {})]
    risky = [one for one in conditions if condition_can_fail(one, {})]
    tests = [compile_condition(condition, lookup, functions) for condition in (*safe, *risky)]
    if not risky:
        return lambda row: all(test(row) for test in tests)

    def holds_for(row: Row) -> bool:
        met: Fault | None = None
        for test in tests:
            try:
                if not test(row):
                    return False
            except Fault as fault:
                met = met or fault
        if met is not None:
            raise met
        return True

    return holds_for
