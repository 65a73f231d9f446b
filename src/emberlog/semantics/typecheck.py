"""Type inference: from declarations, registered data, constants and rules to the type of every column.

Types only grow (unknown, then int, then float; or unknown, then any other), so the inference is a fixpoint over
the rules. A second walk over the finished types reports what does not fit and widens int to float in heads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar, assert_never

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
    list_of,
)
from emberlog.deadline import check_time
from emberlog.diagnostics import Diagnostics, Note
from emberlog.language.conversions import NARROW, WIDEN
from emberlog.language.faults import Fault
from emberlog.language.records import BOUNDED
from emberlog.language.registry import Functions
from emberlog.semantics.elaborate import decimal_constant, elaborated, elaborated_comparison, scaled
from emberlog.semantics.expression_types import ExpressionTyper, SettledTyper
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
from emberlog.semantics.resolve import Signature
from emberlog.semantics.totality import TRY
from emberlog.source import NOWHERE, Span
from emberlog.syntax import ast
from emberlog.syntax.ast import ComparisonOperator, Constant, Expression, Variable

CHECKING = "checking the program"
"""For the error of a timeout."""

DEEPEST_TYPE = 8
"""Pairs and lists that nest deeper come from a recursion that wraps its own value: the type would grow for ever."""


ORDERING = ("min", "max", "mmin", "mmax", "argmin", "argmax", "top", "bottom", "median")
"""Aggregates that compare values."""

AtomT = TypeVar("AtomT", Match, Absent)


@dataclass(slots=True)
class ColumnType:
    type: DataType
    span: Span
    """The place that decided it."""
    is_fixed: bool
    """Declared, or the type of registered data."""


class TypeTable:
    """The types of all columns while they are being inferred."""

    def __init__(self, signatures: Mapping[str, Signature]) -> None:
        self.columns: dict[tuple[str, int], ColumnType] = {}
        for name, signature in signatures.items():
            for index in range(signature.arity):
                self.columns[name, index] = self._initial(signature, index)
        self.time = 0
        """Counts the changes."""
        self.changed: dict[str, int] = {}
        """When a column of a relation changed last."""

    @staticmethod
    def _initial(signature: Signature, index: int) -> ColumnType:
        if signature.declaration is not None:
            column = signature.declaration.columns[index]
            return ColumnType(column.type, column.span, True)
        if signature.given is not None and index < len(signature.given):
            return ColumnType(signature.given[index].type, NOWHERE, True)
        return ColumnType(UNKNOWN, NOWHERE, False)

    def type_of(self, relation: str, index: int) -> DataType:
        column = self.columns.get((relation, index))
        return column.type if column else UNKNOWN

    def widen(self, relation: str, index: int, found: DataType, span: Span) -> bool:
        """Takes one more piece of evidence; True when it changed something."""
        column = self.columns.get((relation, index))
        if column is None or column.is_fixed or found == UNKNOWN:
            return False
        joined = join_types(column.type, found)
        if joined is None or joined.depth > DEEPEST_TYPE:
            return False
        if joined == column.type and joined.named == column.type.named:
            return False
        column.type, column.span = joined, span
        self.time += 1
        self.changed[relation] = self.time
        return True

    def has_changed(self, relations: Iterable[str], since: int) -> bool:
        """Tells whether a column of one of the relations has changed since a time."""
        return any(self.changed.get(relation, 0) > since for relation in relations)


def infer_types(
    rules: Iterable[CoreRule], signatures: Mapping[str, Signature], functions: Functions
) -> tuple[TypeTable, list[dict[str, DataType]]]:
    """Returns the types of the columns, and of the variables of each rule, as far as the program tells."""
    table = TypeTable(signatures)
    rules_left = [_Evidence(rule, table, signatures, functions) for rule in rules]
    # Comparisons say something only about what is of no other type: an int may be compared with a float.
    for by_comparison in (False, True):
        if by_comparison:
            for evidence in rules_left:
                evidence.is_taken &= not evidence.is_open
        while any([evidence.take(by_comparison=by_comparison) for evidence in rules_left]):
            pass
    return table, [evidence.types for evidence in rules_left]


class _Evidence:
    """What one rule says about the types of its columns; it is asked again when a type that it reads has changed."""

    def __init__(
        self, rule: CoreRule, table: TypeTable, signatures: Mapping[str, Signature], functions: Functions
    ) -> None:
        self.rule = rule
        self.table = table
        self.functions = functions
        atoms = [literal for literal in rule.body if isinstance(literal, Match | Absent)]
        self.reads = {atom.relation for atom in atoms}
        self.inputs = [one for one in atoms if isinstance(one, Match) and not signatures[one.relation].is_derived]
        self.time = 0
        """When the rule was asked last."""
        self.is_taken = False
        self.types: dict[str, DataType] = {}
        """Those of its variables, as they were when it was asked last; where two do not fit, the first."""
        self.is_open = True
        """Whether it has something of no type, of which comparisons and operators may tell more."""

    def take(self, *, by_comparison: bool) -> bool:
        """Takes what the rule says into the table; tells whether that was more than the table had."""
        if self.is_taken and not self.table.has_changed(self.reads, self.time):
            return False
        check_time(CHECKING)
        self.is_taken, self.time = True, self.table.time
        rule, table = self.rule, self.table
        types, typer = _variable_types(rule, table, self.functions, by_comparison=by_comparison)
        self.types = types
        changed = False
        for atom in self.inputs:
            for index, term in enumerate(atom.terms):
                found = types.get(term.name, UNKNOWN) if isinstance(term, Variable) else term.type
                changed |= table.widen(atom.relation, index, found, term.span)
        for index, value in enumerate(rule.head):
            changed |= table.widen(rule.relation, index, _head_type(value, typer), _head_span(rule, index))
        self.is_open = typer.has_met_unknown or UNKNOWN in types.values()
        return changed


def _variable_types(
    rule: CoreRule, table: TypeTable, functions: Functions, *, by_comparison: bool
) -> tuple[dict[str, DataType], ExpressionTyper]:
    """Returns the rule's variables with their types, and what types expressions of them."""
    types: dict[str, DataType] = {}

    def note(variable: Variable, found: DataType) -> None:
        current = types.get(variable.name)
        if current is None:
            types[variable.name] = found
        elif current is not found:
            types[variable.name] = join_types(current, found) or current

    def note_terms(atom: Match | Absent, *, only_if_unknown: bool = False) -> None:
        for index, term in enumerate(atom.terms):
            if isinstance(term, Variable):
                found = table.type_of(atom.relation, index)
                if not (only_if_unknown and found.is_numeric and types.get(term.name, UNKNOWN).is_numeric):
                    note(term, found)

    def take_bindings() -> None:
        for literal in rule.body:
            if isinstance(literal, Match):
                note_terms(literal)
        atoms = dict(types)
        for literal in rule.body:
            match literal:
                case Absent():
                    note_terms(literal, only_if_unknown=True)
                case Bind(variable, expression):
                    found = typer.type_of(expression)
                    # What atoms say goes first: so the order of a body does not matter.
                    if not (found.is_numeric and atoms.get(variable.name, UNKNOWN).is_numeric):
                        note(variable, found)
                case Match() | Compare() | Holds():
                    pass

    def take_comparisons() -> bool:
        """Notes what comparisons say about variables that nothing else gives a type; tells whether they did."""
        taken = False
        for literal in rule.body:
            if isinstance(literal, Compare):
                for side, other in ((literal.left, literal.right), (literal.right, literal.left)):
                    if isinstance(side, Variable) and types.get(side.name, UNKNOWN) == UNKNOWN:
                        note(side, typer.type_of(other))
                        taken |= types[side.name] != UNKNOWN
        return taken

    typer = ExpressionTyper(types, functions, Diagnostics(), guesses=by_comparison)
    take_bindings()
    while by_comparison and take_comparisons():
        take_bindings()
    return types, typer


def _head_type(value: HeadValue, typer: ExpressionTyper) -> DataType:
    if not isinstance(value, Contribution):
        return typer.type_of(value)
    types = [typer.type_of(argument) for argument in value.arguments]
    return typer.functions.aggregates[value.function].result(types)


def _head_span(rule: CoreRule, index: int) -> Span:
    return rule.statement.head.terms[index].span if rule.statement else NOWHERE


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
                    value = _as(self.types[variable.name], self._elaborated(expression), found)
                    body.append(replace(literal, expression=value))
                case Compare():
                    self._comparison(literal)
                    body.append(elaborated_comparison(literal, self.silent))
                case Holds(test):
                    if self.typer.type_of(test) not in (BOOL, UNKNOWN):
                        self.diagnostics.error("DL221", "this is not true or false", test.span)
                    body.append(replace(literal, test=self._elaborated(test)))
        head = tuple(self._head(index, value) for index, value in enumerate(self.rule.head))
        exact = _ExactChoices(self.types, self.typer.functions, self.diagnostics)
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
        return atom if _are_same(result, atom.terms) else replace(atom, terms=tuple(result))

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
                value = _as(own, whole, column)
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
                value = _as(column, term, self.types[term.name])
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
        widened = _as_float(constant, self.diagnostics) if column == FLOAT and found == INT else constant
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
        hint = "join on values of one type; float(X) and to_string(X) convert"
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
                "to_string(X), to_number(S) and int(X) convert",
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
        return _as_float(value, self.diagnostics) if column == FLOAT and found == INT else value

    def _contribution(self, index: int, column: DataType, value: Contribution) -> Contribution:
        function = self.typer.functions.aggregates[value.function]
        types = [self.typer.type_of(argument) for argument in value.arguments]
        span = _head_span(self.rule, index)
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
        span = _head_span(self.rule, index)
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


class _ExactChoices:
    """Widens ints between which and floats a function chooses."""

    def __init__(self, types: Mapping[str, DataType], functions: Functions, diagnostics: Diagnostics) -> None:
        self.typer = SettledTyper(types, functions, Diagnostics())
        self.diagnostics = diagnostics

    def head(self, value: HeadValue) -> HeadValue:
        if isinstance(value, Contribution):
            arguments = tuple(map(self.value, value.arguments))
            return value if _are_same(arguments, value.arguments) else replace(value, arguments=arguments)
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
                        _as_float(one, self.diagnostics) if self.typer.type_of(one) == INT else one for one in arguments
                    )
                is_same = _are_same(arguments, expression.arguments)
                return expression if is_same else replace(expression, arguments=arguments)
            case _:
                return expression


def _are_same(new: Sequence[object], old: Sequence[object]) -> bool:
    """Tells whether nothing was replaced: most of a program is left as it is."""
    return all(one is other for one, other in zip(new, old, strict=True))


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
        arguments[position] = _as_float(arguments[position], diagnostics)
        head[column] = replace(value, arguments=tuple(arguments))
    return replace(rule, head=tuple(head))


def _as_float(value: Expression, diagnostics: Diagnostics) -> Expression:
    """Returns the int as the float that is equal to it."""
    if not isinstance(value, Constant):
        return ast.Call(WIDEN.name, (value,), value.span)
    try:
        return Constant(WIDEN.python(value.value), value.span)  # type: ignore[arg-type]
    except Fault as fault:
        diagnostics.error("DL225", f"{fault.message}, and this column is of floats", value.span)
        return value


def _as(wanted: DataType, value: Expression, found: DataType) -> Expression:
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


def _are_declared(*types: DataType) -> bool:
    """Tells whether all of these are subtypes that the program declares."""
    return all(one.named is not None and one.named.name not in TYPE_NAMES for one in types)


def _shown(variable: Variable) -> str:
    """Returns a variable that stands for an expression or a wildcard is shown as it was written."""
    return variable.name if not variable.name.startswith("_") else (variable.span.text or variable.name)
