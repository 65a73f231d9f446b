"""Checks types: walks over a rule with the types that are inferred, and reports what does not fit.

The rule that comes out has what its types mean written out, and ints widened where a column is of floats.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from emberlog.datatypes import (
    BOOL,
    DATE,
    DURATION,
    FLOAT,
    INT,
    INT_MAX,
    INT_MIN,
    TIMESTAMP,
    TYPE_NAMES,
    UNKNOWN,
    DataType,
    join_types,
)
from emberlog.deadline import check_time
from emberlog.diagnostics import Diagnostics, Note
from emberlog.language.records import BOUNDED
from emberlog.language.registry import Functions
from emberlog.semantics.elaborate import decimal_constant, elaborated, elaborated_comparison, scaled
from emberlog.semantics.expression_types import SettledTyper
from emberlog.semantics.infer_types import CHECKING, TypeTable, head_span
from emberlog.semantics.model import (
    Absent,
    Bind,
    Compare,
    Contribution,
    CoreRule,
    HeadValue,
    Holds,
    Literal,
    Match,
    Term,
)
from emberlog.semantics.widening import ExactChoices, are_same, as_equal, as_float, whole_constant
from emberlog.source import NOWHERE, Span
from emberlog.syntax import ast
from emberlog.syntax.ast import ComparisonOperator, Constant, Expression, Variable

ORDERING = ("min", "max", "mmin", "mmax", "argmin", "argmax", "top", "bottom", "median")
"""Aggregates that compare values."""

AtomT = TypeVar("AtomT", Match, Absent)


def check_types(
    rule: CoreRule, types: dict[str, DataType], table: TypeTable, functions: Functions, diagnostics: Diagnostics
) -> CoreRule:
    """Reports what does not fit; gives the rule with the types of its variables, and with ints widened where a column
    is float."""
    check_time(CHECKING)
    return _RuleChecker(rule, types, table, functions, diagnostics).run()


class _RuleChecker:
    def __init__(
        self,
        rule: CoreRule,
        types: dict[str, DataType],
        table: TypeTable,
        functions: Functions,
        diagnostics: Diagnostics,
    ) -> None:
        self.rule = rule
        self.table = table
        self.diagnostics = diagnostics
        self.types = types
        self.typer = SettledTyper(self.types, functions, diagnostics)
        self.silent = SettledTyper(self.types, functions, Diagnostics())
        self.first_use: dict[str, tuple[DataType, Span]] = {}
        self.bound: set[str] = set()

    def _elaborated(self, expression: Expression) -> Expression:
        return elaborated(expression, self.silent)

    def run(self) -> CoreRule:
        body: list[Literal] = []
        for literal in self.rule.body:
            match literal:
                case Match():
                    body += self._matched(self._with_terms(literal))
                case Absent():
                    body += self._absent(self._with_terms(literal))
                case Bind(variable, expression):
                    found = self.typer.type_of(expression)
                    self._agree(variable, found, expression.span)
                    self.bound.add(variable.name)
                    value = as_equal(self.types[variable.name], self._elaborated(expression), found)
                    body.append(replace(literal, expression=value))
                case Compare():
                    self._comparison(literal)
                    body.append(elaborated_comparison(literal, self.silent))
                case Holds(test):
                    if self.typer.type_of(test) not in (BOOL, UNKNOWN):
                        self.diagnostics.error("DL221", "this is not true or false", test.span)
                    body.append(replace(literal, test=self._elaborated(test)))
        head = tuple(self._head(index, value) for index, value in enumerate(self.rule.head))
        exact = ExactChoices(self.types, self.typer.functions, self.diagnostics)
        return replace(
            self.rule,
            head=tuple(map(exact.head, head)),
            body=tuple(map(exact.literal, body)),
            types=self.types,
        )

    def _with_terms(self, atom: AtomT) -> AtomT:
        """Returns the atom with constants of the types of its columns; reports what does not fit."""
        result: list[Term] = []
        for index, term in enumerate(atom.terms):
            column = self.table.type_of(atom.relation, index)
            if isinstance(term, Variable):
                self._agree(term, column, term.span)
                result.append(term)
            else:
                result.append(self._constant(atom.relation, index, column, term))
        return atom if are_same(result, atom.terms) else replace(atom, terms=tuple(result))

    def _matched(self, atom: Match) -> list[Literal]:
        """Returns the atom. A variable that is a float elsewhere is the float that is equal to an int here."""
        terms: list[Term] = []
        links: list[Literal] = []
        columns = [self.table.type_of(atom.relation, index) for index in range(len(atom.terms))]
        for term, column in zip(atom.terms, columns, strict=True):
            if isinstance(term, Variable) and column == self.types[term.name]:
                self.bound.add(term.name)
        for term, column in zip(atom.terms, columns, strict=True):
            own = self.types[term.name] if isinstance(term, Variable) else column
            if isinstance(term, Variable) and column != own and column.is_numeric and own.is_numeric:
                whole = self._fresh(term, column)
                value = as_equal(own, whole, column)
                if term.name in self.bound:
                    links.append(Compare(ComparisonOperator.EQUAL, term, value, term.span))
                else:
                    links.append(Bind(term, value, term.span))
                self.bound.add(term.name)
                term = whole
            terms.append(term)
        self.bound.update(term.name for term in terms if isinstance(term, Variable))
        return [replace(atom, terms=tuple(terms)), *links] if links else [atom]

    def _absent(self, atom: Absent) -> list[Literal]:
        """Returns the negated atom, which asks for the int or the float that is equal to a variable."""
        terms: list[Term] = []
        links: list[Literal] = []
        for index, term in enumerate(atom.terms):
            column = self.table.type_of(atom.relation, index)
            if isinstance(term, Variable) and column.is_numeric and self.types[term.name].is_numeric:
                value = as_equal(column, term, self.types[term.name])
                if value is not term:
                    term = self._fresh(term, column)
                    links.append(Bind(term, value, term.span))
            terms.append(term)
        return [*links, replace(atom, terms=tuple(terms))] if links else [atom]

    def _fresh(self, variable: Variable, type_: DataType) -> Variable:
        name = f"{variable.name}_{type_}"
        while name in self.types:
            name += "_"
        self.types[name] = type_
        return Variable(name, variable.span)

    def _constant(self, relation: str, index: int, column: DataType, constant: Constant) -> Constant:
        constant = whole_constant(constant, column)
        if column.is_decimal:
            constant = decimal_constant(constant, column) or constant
        found = constant.type
        joined = join_types(column, found)
        if joined is None or (column == INT and found == FLOAT) or (joined.is_decimal and joined != column):
            self._column_mismatch(relation, index, column, found, constant.span)
        widened = as_float(constant, self.diagnostics) if column == FLOAT and found == INT else constant
        assert isinstance(widened, Constant)
        return widened

    def _agree(self, variable: Variable, found: DataType, span: Span) -> None:
        """All uses of a variable in a body have one type: values of different types never meet."""
        if not found.is_known:
            return
        earlier, place = self.first_use.setdefault(variable.name, (found, span))
        is_same = earlier == found and join_types(earlier, found) is not None
        if is_same and join_types(earlier, found).named is None and _are_declared(earlier, found):  # type: ignore[union-attr]
            self.diagnostics.warning(
                "DL297",
                f"`{_shown(variable)}` is {earlier.described} in one place and {found.described} in another",
                span,
                Note(f"here it is {earlier.described}", place),
                "neither is a subtype of the other; declare both below one type if that is meant",
            )
        if is_same or (earlier.is_numeric and found.is_numeric and join_types(earlier, found) is not None):
            return
        functions = "to_float(s)" if span.source.is_souffle else "float(X)"
        hint = f"join on values of one type; {functions} and to_string({functions[-2]}) convert"
        self.diagnostics.error(
            "DL220",
            f"`{_shown(variable)}` is {earlier.described} in one place and {found.described} in another",
            span,
            Note(f"here it is {earlier.described}", place),
            hint,
        )

    def _comparison(self, comparison: Compare) -> None:
        left, right = self.typer.type_of(comparison.left), self.typer.type_of(comparison.right)
        are_numbers = left.is_numeric and right.is_numeric
        if join_types(left, right) is None and {left, right} != {DATE, TIMESTAMP} and not are_numbers:
            self.diagnostics.error(
                "DL223",
                f"{left.described} cannot be compared with {right.described}",
                comparison.span,
                "to_string(x), to_number(s) and to_float(s) convert"
                if comparison.span.source.is_souffle
                else "to_string(X), to_number(S) and int(X) convert",
            )
        ordered = comparison.operator not in (ComparisonOperator.EQUAL, ComparisonOperator.NOT_EQUAL)
        if ordered and "list" in (left.name, right.name):
            self.diagnostics.error("DL223", "lists have no order", comparison.span)
        if ordered and (left.is_record or right.is_record):
            one = left if left.is_record else right
            self.diagnostics.error("DL223", f"values of the type `{one}` have no order", comparison.span)

    def _head(self, index: int, value: HeadValue) -> HeadValue:
        column = self.table.type_of(self.rule.relation, index)
        if isinstance(value, Contribution):
            return self._contribution(index, column, value)
        if isinstance(value, Constant):
            value = decimal_constant(value, column) or value
        found = self.typer.type_of(value)
        self._fits(index, column, found)
        return self._within_bounds(self._widened(self._elaborated(value), found, column), found, column)

    def _within_bounds(self, value: Expression, found: DataType, column: DataType) -> Expression:
        """Returns an int for a column of a type with bounds: known to be within them, or asked whether it is."""
        bounds = column.bounds
        if bounds is None or found != INT:
            return value
        least, greatest = bounds
        own = found.bounds or (INT_MIN, INT_MAX)
        if isinstance(value, Variable) and least <= own[0] and own[1] <= greatest:
            return value
        if isinstance(value, Constant) and isinstance(value.value, int):
            if not least <= value.value <= greatest:
                hint = f"they go from {least:,} to {greatest:,}"
                self.diagnostics.error("DL276", f"{value.value:,} is no {column}", value.span, hint)
            return value
        limits = (Constant(least), Constant(greatest), Constant(str(column)))
        return ast.Call(BOUNDED.name, (value, *limits), value.span)

    def _widened(self, value: Expression, found: DataType, column: DataType) -> Expression:
        if column.is_decimal and found.is_numeric:
            return scaled(value, found, column)
        return as_float(value, self.diagnostics) if column == FLOAT and found == INT else value

    def _contribution(self, index: int, column: DataType, value: Contribution) -> Contribution:
        function = self.typer.functions.aggregates[value.function]
        types = [self.typer.type_of(argument) for argument in value.arguments]
        span = head_span(self.rule, index)
        aggregated = types[-1] if types else UNKNOWN
        needs_number = function.is_numeric or (function.by_key and len(types) == 2)
        if needs_number and aggregated.is_known and not aggregated.is_numeric and aggregated != DURATION:
            self.diagnostics.error(
                "DL221",
                f"`{value.function}` needs numbers, and this is {aggregated.described}",
                span,
                "to_number(S) reads a number from text; count<X> and collect<X> take any values",
            )
        ordered = types[0] if function.name.startswith("arg") and types else aggregated
        if function.name in ORDERING and ordered.is_record:
            message = f"values of the type `{ordered}` have no order, so there is no `{function.name}`"
            self.diagnostics.error("DL221", message, span, "collect<X> and count<X> take any values")
        if function.is_limited and types[0] not in (INT, UNKNOWN):
            message = f"`{value.function}` needs an int first, and this is {types[0].described}"
            self.diagnostics.error("DL221", message, span, f"{function.signature}: {function.meaning}")
        if function.is_of_truth and aggregated not in (BOOL, UNKNOWN):
            self.diagnostics.error(
                "DL221",
                f"`{value.function}` needs true or false, and this is {aggregated.described}",
                span,
            )
        self._fits(index, column, function.result(types))
        value = replace(value, arguments=tuple(map(self._elaborated, value.arguments)))
        if column.bounds and types and function.result(types) == INT and aggregated == INT:
            *others, last = value.arguments
            value = replace(value, arguments=(*others, self._within_bounds(last, aggregated, column)))
        if value.function == "avg" and aggregated == DURATION:
            return replace(value, arguments=(ast.Call("seconds", value.arguments, span),))
        if aggregated.is_decimal and function.result(types) == FLOAT:
            *others, last = value.arguments
            return replace(value, arguments=(*others, self._elaborated(ast.Call("float", (last,), span))))
        # The contribution itself is widened; counts and keys stay as they are.
        is_key_alone = function.by_key and len(types) == 1
        if column == FLOAT and types and aggregated == INT and function.result(types) == INT and not is_key_alone:
            *others, last = value.arguments
            return replace(value, arguments=(*others, self._widened(last, aggregated, FLOAT)))
        return value

    def _fits(self, index: int, column: DataType, found: DataType) -> None:
        joined = join_types(column, found)
        span = head_span(self.rule, index)
        if joined is None:
            self._column_mismatch(self.rule.relation, index, column, found, span)
        elif joined.is_decimal and joined != column and column.is_known:
            self.diagnostics.error(
                "DL267",
                f"this is {found.described}, and column {index + 1} of `{self.rule.relation}` is {column}",
                span,
                f"decimal(X, {column.scale or 0}) rounds it, and keeps what fits",
            )
        elif column == INT and found == FLOAT:
            declared = self.table.columns[self.rule.relation, index]
            self.diagnostics.error(
                "DL222",
                f"this is a float, and column {index + 1} of `{self.rule.relation}` is declared int",
                span,
                Note("declared here", declared.span) if declared.span is not NOWHERE else Note("it is declared"),
                "`/` gives a float; `div` divides ints, and int(X), floor(X) and round(X) convert",
            )

    def _column_mismatch(self, relation: str, index: int, column: DataType, found: DataType, span: Span) -> None:
        known = self.table.columns[relation, index]
        where = [Note(f"it is {column.described} here", known.span)] if known.span is not NOWHERE else []
        verb = "is declared" if known.is_fixed and known.span is not NOWHERE else "is"
        self.diagnostics.error(
            "DL224",
            f"column {index + 1} of `{relation}` {verb} {column}, and this is {found.described}",
            span,
            *where,
        )


def _are_declared(*types: DataType) -> bool:
    """Tells whether all of these are subtypes that the program declares."""
    return all(one.named is not None and one.named.name not in TYPE_NAMES for one in types)


def _shown(variable: Variable) -> str:
    """Returns a variable that stands for an expression or a wildcard is shown as it was written."""
    return variable.name if not variable.name.startswith("_") else (variable.span.text or variable.name)
