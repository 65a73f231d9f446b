"""Infers types: from declarations, registered data, constants and rules to the type of every column.

Types only grow (unknown, then int, then float; or unknown, then any other), so the inference is a fixpoint over the
rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from emberlog.datatypes import UNKNOWN, DataType, join_types
from emberlog.deadline import check_time
from emberlog.diagnostics import Diagnostics
from emberlog.language.registry import Functions
from emberlog.semantics.expression_types import ExpressionTyper
from emberlog.semantics.model import Absent, Bind, Compare, Contribution, CoreRule, HeadValue, Holds, Match
from emberlog.semantics.resolve import Signature
from emberlog.source import NOWHERE, Span
from emberlog.syntax.ast import Variable

CHECKING = "checking the program"
"""For the error of a timeout."""

DEEPEST_TYPE = 8
"""Pairs and lists that nest deeper come from a recursion that wraps its own value: the type would grow for ever."""


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
            changed |= table.widen(rule.relation, index, _head_type(value, typer), head_span(rule, index))
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


def head_span(rule: CoreRule, index: int) -> Span:
    return rule.statement.head.terms[index].span if rule.statement else NOWHERE
