"""What rules and facts contribute to an aggregated relation: which columns, of which types, from which expressions.

A contribution has the key columns of the relation and the argument columns of each aggregate. Rules may
contribute to one column in different ways (`count<_>` beside `count<X>`, `mcount<K>` beside `mcount<(K, N)>`,
an int beside a float); here they are brought to one form, so that they can be put together in one union.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from emberlog.datatypes import FLOAT, INT, STRING, UNKNOWN, DataType, join_types
from emberlog.diagnostics import InternalError, fail
from emberlog.language.conversions import WIDEN
from emberlog.language.registry import AGGREGATES
from emberlog.logical.nodes import AggregateColumn, Field, Output
from emberlog.semantics.model import CellValue, Column, Contribution, CoreRule, Fact, Relation
from emberlog.semantics.totality import type_of
from emberlog.syntax.ast import Call, Constant, Expression

"""What the first of two arguments is, for the name of its column."""


@dataclass(frozen=True, slots=True)
class AggregateLayout:
    """The argument columns of one aggregated column."""

    column: AggregateColumn
    arguments: tuple[Field, ...]
    is_text: bool = False
    """True when only the presence of a value counts, and the values of the rules have no common type."""

    def outputs(self, given: Sequence[Expression], types: Mapping[str, DataType]) -> tuple[Output, ...]:
        """How a rule computes the argument columns from the arguments it gives."""
        expressions = list(given)
        if self.is_text:
            expressions = [Call("to_string", (expressions[0],)) if expressions else Constant("")]
        elif len(expressions) < len(self.arguments):
            expressions.append(Constant(1))
        return tuple(
            Output(field, _widened(expression, type_of(expression, types), field.type))
            for field, expression in zip(self.arguments, expressions, strict=True)
        )

    def cells(self, value: CellValue) -> Fact:
        """Returns the argument columns of a fact of the program that has this value in the column."""
        if not self.arguments:
            return ()
        if self.is_text:
            return (None if value is None else "",)
        cells: Fact = (value, 1)[: len(self.arguments)]
        return tuple(_as_float(cell, field) for cell, field in zip(cells, self.arguments, strict=True))


@dataclass(frozen=True, slots=True)
class ContributionLayout:
    """The columns of a relation's contributions. Without aggregates they are the relation's own."""

    relation: Relation
    keys: tuple[Field, ...]
    aggregates: tuple[AggregateLayout, ...]

    @property
    def columns(self) -> tuple[Field, ...]:
        return self.keys + tuple(field for aggregate in self.aggregates for field in aggregate.arguments)

    def outputs(self, rule: CoreRule) -> tuple[Output, ...]:
        """Returns the head of a rule as the columns of its contributions."""
        keys: list[Output] = []
        arguments: list[Output] = []
        aggregates = iter(self.aggregates)
        for column, value in zip(self.relation.columns, rule.head, strict=True):
            if isinstance(value, Contribution):
                arguments += next(aggregates).outputs(value.arguments, rule.types)
            else:
                keys.append(Output(Field(column.name, column.type), value))
        return tuple(keys + arguments)

    def row(self, fact: Fact) -> Fact:
        """Returns a fact of the program as a contribution."""
        keys: list[CellValue] = []
        arguments: list[CellValue] = []
        aggregates = iter(self.aggregates)
        for column, value in zip(self.relation.columns, fact, strict=True):
            if column.aggregate is not None:
                arguments += next(aggregates).cells(value)
            else:
                keys.append(_as_float(value, Field(column.name, column.type)))
        return tuple(keys + arguments)


def layout_of(relation: Relation, rules: Sequence[CoreRule], *, has_facts: bool) -> ContributionLayout:
    keys = tuple(Field(column.name, column.type) for column in relation.columns if column.aggregate is None)
    aggregates = tuple(
        _aggregate_layout(column, column.aggregate, _given(index, column, column.aggregate, rules, has_facts=has_facts))
        for index, column in enumerate(relation.columns)
        if column.aggregate is not None
    )
    return ContributionLayout(relation, keys, aggregates)


def _given(
    index: int, column: Column, function: str, rules: Iterable[CoreRule], *, has_facts: bool
) -> list[tuple[DataType, ...]]:
    """Returns the types of the arguments that each rule, and the facts, give for the column."""
    given = []
    for rule in rules:
        value = rule.head[index]
        if not isinstance(value, Contribution):
            raise InternalError(f"DL901: rule {rule.name} gives no contribution to the aggregated column {column.name}")
        given.append(tuple(type_of(argument, rule.types) for argument in value.arguments))
    if has_facts:
        given.append((column.type,))
    if not given:
        # A rewrite left nothing that could contribute; any types do, as there will be no rows.
        given.append((column.type,) * min(AGGREGATES[function].arities))
    return given


def _aggregate_layout(column: Column, function: str, given: Sequence[tuple[DataType, ...]]) -> AggregateLayout:
    width = max((len(types) for types in given), default=0)
    is_keyed_count = _is_keyed_count(function)
    padded = [types + (INT,) * (width - len(types)) if is_keyed_count else types for types in given]
    if function == "count" and width == 1 and (len({len(types) for types in given}) > 1 or _joined(padded, 0) is None):
        field = Field(column.name, STRING)
        return AggregateLayout(AggregateColumn(_result(column), function, (field.name,)), (field,), is_text=True)
    arguments = []
    for position in range(width):
        joined = _joined(padded, position)
        if joined is None:
            types = " and ".join(dict.fromkeys(str(one[position]) for one in given))
            raise fail(
                "DL303",
                f"the contributions to `{column.name}`, aggregated with {function}, have no common type: {types}",
                None,
                "convert them in the rules: to_string(X), float(X)",
            )
        arguments.append(Field(_argument_name(column, function, position, width), joined))
    names = tuple(field.name for field in arguments)
    return AggregateLayout(AggregateColumn(_result(column), function, names), tuple(arguments))


def _result(column: Column) -> Field:
    return Field(column.name, column.type)


def _joined(given: Sequence[tuple[DataType, ...]], position: int) -> DataType | None:
    joined = UNKNOWN
    for types in given:
        wider = join_types(joined, types[position])
        if wider is None:
            return None
        joined = wider
    return joined


def _argument_name(column: Column, function: str, position: int, width: int) -> str:
    known = AGGREGATES.get(function)
    is_key = known is not None and known.by_key and (width == 2 or known.is_count)
    is_cost = known is not None and known.by_cost and width == 2
    if position == 0 and known is not None and known.is_limited:
        return f"{column.name}.limit"
    if position != 0 or not (is_key or is_cost):
        return column.name
    return f"{column.name}.{'key' if is_key else 'cost'}"


def _is_keyed_count(function: str) -> bool:
    """Tells whether a key alone counts 1."""
    return function in AGGREGATES and AGGREGATES[function].by_key and AGGREGATES[function].is_count


def _widened(expression: Expression, actual: DataType, wanted: DataType) -> Expression:
    match expression:
        case _ if actual != INT or wanted != FLOAT:
            return expression
        case Constant(int() as value):
            return Constant(float(value), expression.span)
        case _:
            return Call(WIDEN.name, (expression,), expression.span)


def _as_float(value: CellValue, field: Field) -> CellValue:
    return float(value) if field.type == FLOAT and isinstance(value, int) else value
