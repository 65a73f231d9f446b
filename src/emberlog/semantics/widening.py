"""Makes ints the floats and the decimals that they stand beside, where these are equal to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from emberlog.datatypes import FLOAT, INT, UNKNOWN, DataType, join_types, list_of
from emberlog.diagnostics import Diagnostics
from emberlog.language.conversions import NARROW, WIDEN
from emberlog.language.faults import Fault
from emberlog.language.registry import Functions
from emberlog.semantics.elaborate import scaled
from emberlog.semantics.expression_types import ExpressionTyper, SettledTyper
from emberlog.semantics.model import Absent, Bind, Compare, Contribution, CoreRule, HeadValue, Holds, Literal, Match
from emberlog.semantics.totality import TRY
from emberlog.syntax import ast
from emberlog.syntax.ast import Constant, Expression


def as_float(value: Expression, diagnostics: Diagnostics) -> Expression:
    """Returns the int as the float that is equal to it."""
    if not isinstance(value, Constant):
        return ast.Call(WIDEN.name, (value,), value.span)
    try:
        return Constant(WIDEN.python(value.value), value.span)  # type: ignore[arg-type]
    except Fault as fault:
        diagnostics.error("DL225", f"{fault.message}, and this column is of floats", value.span)
        return value


def as_equal(wanted: DataType, value: Expression, found: DataType) -> Expression:
    """Returns the number of the wanted type that is equal to a value, or null if there is none."""
    if wanted == found or not (wanted.is_numeric and found.is_numeric):
        return value
    if wanted.is_decimal or found.is_decimal:
        return ast.Call(TRY, (scaled(value, found, wanted),), value.span)
    function = WIDEN if wanted == FLOAT else NARROW
    return ast.Call(TRY, (ast.Call(function.name, (value,), value.span),), value.span)


def whole_constant(constant: Constant, column: DataType) -> Constant:
    """Returns the int that is equal to a float, where a column is of ints and there is one."""
    value = constant.value
    if column == INT and isinstance(value, float) and value.is_integer() and abs(value) < 2.0**63:
        return Constant(int(value), constant.span)
    return constant


class ExactChoices:
    """Widens ints between which and floats a function chooses."""

    def __init__(self, types: Mapping[str, DataType], functions: Functions, diagnostics: Diagnostics) -> None:
        self.typer = SettledTyper(types, functions, Diagnostics())
        self.diagnostics = diagnostics

    def head(self, value: HeadValue) -> HeadValue:
        if isinstance(value, Contribution):
            arguments = tuple(map(self.value, value.arguments))
            return value if are_same(arguments, value.arguments) else replace(value, arguments=arguments)
        return self.value(value)

    def literal(self, literal: Literal) -> Literal:
        match literal:
            case Match() | Absent():
                return literal
            case Bind(_, expression):
                value = self.value(expression)
                return literal if value is expression else replace(literal, expression=value)
            case Compare():
                left, right = self.value(literal.left), self.value(literal.right)
                is_same = left is literal.left and right is literal.right
                return literal if is_same else replace(literal, left=left, right=right)
            case Holds():
                test = self.value(literal.test)
                return literal if test is literal.test else replace(literal, test=test)
        assert_never(literal)

    def value(self, expression: Expression) -> Expression:
        match expression:
            case ast.Unary(operand):
                value = self.value(operand)
                return expression if value is operand else replace(expression, operand=value)
            case ast.Binary():
                left, right = self.value(expression.left), self.value(expression.right)
                is_same = left is expression.left and right is expression.right
                return expression if is_same else replace(expression, left=left, right=right)
            case ast.Call():
                arguments = tuple(map(self.value, expression.arguments))
                function = self.typer.functions.find(expression.function)
                is_chosen = function is not None and function.is_lazy and self.typer.type_of(expression) == FLOAT
                is_listed = expression.function in ("list!", "append", "prepend")
                if is_chosen or (is_listed and self.typer.type_of(expression) == list_of(FLOAT)):
                    arguments = tuple(
                        as_float(one, self.diagnostics) if self.typer.type_of(one) == INT else one for one in arguments
                    )
                is_same = are_same(arguments, expression.arguments)
                return expression if is_same else replace(expression, arguments=arguments)
            case _:
                return expression


def unify_contributions(rules: Sequence[CoreRule], functions: Functions, diagnostics: Diagnostics) -> list[CoreRule]:
    """Widens ints that rules and facts contribute to an aggregate beside the floats of others."""
    floats: set[tuple[str, int, int]] = set()
    decimals: dict[tuple[str, int, int], DataType] = {}
    for rule in rules:
        for place, found in _argument_types(rule, functions):
            if found == FLOAT:
                floats.add(place)
            joined = join_types(decimals.get(place, UNKNOWN), found)
            if found.is_numeric and joined is not None:
                decimals[place] = joined
    decimals = {place: type_ for place, type_ in decimals.items() if type_.is_decimal}
    with_floats = [_with_floats(rule, floats, functions, diagnostics) for rule in rules]
    return [_with_decimals(rule, decimals, functions) for rule in with_floats] if decimals else with_floats


def _with_decimals(rule: CoreRule, decimals: Mapping[tuple[str, int, int], DataType], functions: Functions) -> CoreRule:
    """Returns the rule with what it contributes to an aggregate in the scale that the others have."""
    head = list(rule.head)
    for (relation, column, position), found in _argument_types(rule, functions):
        value, wanted = head[column], decimals.get((relation, column, position))
        if wanted is not None and found != wanted and isinstance(value, Contribution):
            arguments = list(value.arguments)
            arguments[position] = scaled(arguments[position], found, wanted)
            head[column] = replace(value, arguments=tuple(arguments))
    return replace(rule, head=tuple(head))


def _argument_types(rule: CoreRule, functions: Functions) -> Iterator[tuple[tuple[str, int, int], DataType]]:
    """Yields the types of all arguments of aggregates, by relation, column and position."""
    if not any(isinstance(value, Contribution) for value in rule.head):
        return
    typer = ExpressionTyper(rule.types, functions, Diagnostics())
    for column, value in enumerate(rule.head):
        if isinstance(value, Contribution):
            for position, argument in enumerate(value.arguments):
                yield (rule.relation, column, position), typer.type_of(argument)


def _with_floats(
    rule: CoreRule, floats: set[tuple[str, int, int]], functions: Functions, diagnostics: Diagnostics
) -> CoreRule:
    wrong = {place for place, found in _argument_types(rule, functions) if found == INT and place in floats}
    if not wrong:
        return rule
    head = list(rule.head)
    for _, column, position in sorted(wrong):
        value = head[column]
        assert isinstance(value, Contribution)
        arguments = list(value.arguments)
        arguments[position] = as_float(arguments[position], diagnostics)
        head[column] = replace(value, arguments=tuple(arguments))
    return replace(rule, head=tuple(head))


def are_same(new: Sequence[object], old: Sequence[object]) -> bool:
    """Tells whether nothing was replaced: most of a program is left as it is."""
    return all(one is other for one, other in zip(new, old, strict=True))
