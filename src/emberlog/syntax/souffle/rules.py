"""From the clauses of a program in Soufflé's language to rules of ours: values get the types of the columns where they
stand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, repeat
from typing import assert_never

from emberlog.datatypes import FLOAT, INT, STRING, DataType
from emberlog.diagnostics import Diagnostics
from emberlog.source import Span
from emberlog.syntax import ast
from emberlog.syntax.ast import ComparisonOperator, Expression
from emberlog.syntax.souffle.clause_parser import TESTS
from emberlog.syntax.souffle.functions import (
    OF_FLOATS,
    OF_TEXT,
    OF_THEIR_ARGUMENTS,
    REFUSED,
    translated_call,
    translated_operation,
)
from emberlog.syntax.souffle.ranges import translated_range
from emberlog.syntax.souffle.records import Records, is_value
from emberlog.syntax.souffle.tree import Functor, Named


@dataclass(frozen=True, slots=True)
class Declared:
    """What clauses may speak of."""

    columns: Mapping[str, tuple[DataType, ...]]
    """The types of the columns of every relation."""
    functors: Mapping[str, Functor]
    results: Mapping[str, DataType]
    """The types that functors give."""
    records: Records


class Rules:
    def __init__(
        self,
        declared: Declared,
        unknown: Callable[[Named], None],
        new_name: Callable[[str], str],
        diagnostics: Diagnostics,
    ) -> None:
        self.declared = declared
        self.columns = declared.columns
        self.records = declared.records
        self.unknown = unknown
        """Reports a relation that is not declared."""
        self.new_name = new_name
        self.diagnostics = diagnostics

    def translated(self, rule: ast.Rule) -> ast.Rule:
        """Returns a rule of ours that means the same."""
        return _Rule(self, rule).run()

    def typed_variables(self, places: Iterable[ast.Atom | ast.Head]) -> Iterator[tuple[str, DataType]]:
        for place in places:
            for term, type_ in zip(place.terms, self.columns.get(place.predicate, ()), strict=False):
                if not isinstance(term, ast.AggregateTerm):
                    yield from self.records.variables(term, type_)

    def refuse(self, what: str, span: Span, hint: str) -> None:
        self.diagnostics.error("DL123", f"{what} of Soufflé is not there in Emberlog", span, hint)


class _Rule:
    def __init__(self, rules: Rules, rule: ast.Rule) -> None:
        self.rules = rules
        self.rule = rule
        self.columns, self.records = rules.columns, rules.records
        parts = rule.body.parts if rule.body else ()
        self.types = dict(rules.typed_variables((*_atoms(parts), *rule.heads)))
        for _ in range(3):  # `y = x + 1, z = y`
            self.types |= {name: type_ for name, type_ in self._assigned(parts) if name not in self.types}

    def run(self) -> ast.Rule:
        heads = [self._head(head) for head in self.rule.heads]
        body = None if self.rule.body is None else self._body(self.rule.body)
        return replace(self.rule, head=heads[0], others=tuple(heads[1:]), body=body)

    # --- heads and bodies -------------------------------------------------------------------------------------------

    def _head(self, head: ast.Head) -> ast.Head:
        if head.predicate not in self.columns:
            self.rules.unknown(Named(head.predicate, head.name_span))
        return replace(head, terms=self._terms(map(_plain_term, head.terms), self.columns.get(head.predicate, ())))

    def _body(self, body: ast.Conjunction) -> ast.Conjunction:
        return replace(body, parts=tuple(chain.from_iterable(map(self._part, body.parts))))

    def _part(self, part: ast.BodyPart) -> list[ast.BodyPart]:
        match part:
            case ast.Atom(predicate, own):
                if predicate not in self.columns and predicate not in TESTS.values():
                    self.rules.unknown(Named(predicate, part.name_span))
                return [replace(part, terms=self._terms(own, self.columns.get(predicate, ())))]
            case ast.Comparison(ComparisonOperator.EQUAL, value, ast.Call("range") as call):
                return self._range(value, call)
            case ast.Comparison(_, ast.Call("ord", (left,)), ast.Call("ord", (right,))):
                return self._in_order(part, left, right)
            case ast.Comparison(_, left, right):
                of_left, of_right = self._type(left), self._type(right)
                return [replace(part, left=self._value(left, of_right), right=self._value(right, of_left))]
            case ast.Disjunction(alternatives):
                return [replace(part, alternatives=tuple(map(self._body, alternatives)))]
            case ast.Negation(body):
                return [replace(part, body=self._body(body))]
            case ast.Aggregation(aggregate=aggregate, body=body):
                own_term = replace(aggregate, arguments=self._terms(aggregate.arguments))
                return [replace(part, aggregate=own_term, body=self._body(body))]
            case _:
                assert_never(part)

    def _in_order(self, part: ast.Comparison, left: Expression, right: Expression) -> list[ast.BodyPart]:
        """Compares the values whose ordinals are compared: any order that is the same for all of them will do."""
        types = [self._type(left), self._type(right)]
        if any(type_ is not None and type_.is_record for type_ in types):
            self.rules.refuse("`ord` of records", part.span, "records have no order: compare a field of them")
            return []
        return self._part(replace(part, left=left, right=right))

    def _range(self, value: Expression, call: ast.Call) -> list[ast.BodyPart]:
        if not 2 <= len(call.arguments) <= 3:
            message = "a range has a first value and an end, and may have a step"
            self.rules.diagnostics.error("DL124", message, call.span, "write `range(0, 10)` or `range(0, 10, 2)`")
            return []
        types = [self._type(one) for one in (value, *call.arguments)]
        ends = self._terms(call.arguments)
        return translated_range(
            self._value(value), ends, call.span, of_floats=FLOAT in types, new_name=self.rules.new_name
        )

    def _terms(self, given: Iterable[Expression], columns: Iterable[DataType] = ()) -> tuple[Expression, ...]:
        return tuple(map(self._value, given, chain(columns, repeat(None))))

    # --- types ------------------------------------------------------------------------------------------------------

    def _assigned(self, parts: Iterable[ast.BodyPart]) -> Iterator[tuple[str, DataType]]:
        """Yields the types that equations give variables."""
        for part in _parts(parts):
            match part:
                case ast.Comparison(ComparisonOperator.EQUAL, left, right):
                    for one, other in ((left, right), (right, left)):
                        yield from self.records.variables(one, self._type(other))
                case ast.Aggregation(value=ast.Variable(name), aggregate=aggregate):
                    of = [self._type(one) for one in aggregate.arguments]
                    if aggregate.function == "avg":
                        yield name, FLOAT
                    elif aggregate.function == "count":
                        yield name, INT
                    elif of and of[0] is not None:
                        yield name, of[0]
                case _:
                    pass

    def _type(self, expression: Expression) -> DataType | None:
        match expression:
            case ast.Variable(name):
                return self.types.get(name)
            case ast.Constant():
                return expression.type
            case ast.Unary(operand):
                return self._type(operand)
            case ast.Binary(_, left, right):
                return self._of_numbers((left, right))
            case ast.Call() if is_value(expression):
                return self.records.type_of(expression)
            case ast.Call("as", (inner, ast.Constant(str(name)))):
                return self.records.types.get(name) or self._type(inner)
            case ast.Call(name, arguments):
                if name.startswith("@"):
                    return self.rules.declared.results.get(name[1:])
                if name in OF_TEXT:
                    return STRING
                if name in OF_FLOATS:
                    return FLOAT
                if name in OF_THEIR_ARGUMENTS or name == "range":
                    return self._of_numbers(arguments)
                return INT
            case _:
                return None

    def _of_numbers(self, operands: Iterable[Expression]) -> DataType | None:
        """Returns the type of what is computed from these: text if one of them is, else a float if one of them is."""
        types = {self._type(one) for one in operands}
        return next((one for one in (STRING, FLOAT, INT) if one in types), None)

    # --- values -----------------------------------------------------------------------------------------------------

    def _value(self, expression: Expression, wanted: DataType | None = None) -> Expression:
        """Returns the value as it is written here; a record is of the type that is `wanted` where it stands."""
        match expression:
            case ast.Call() if is_value(expression):
                return self.records.value(expression, wanted, self._value)
            case ast.Call("as", (inner, _)):
                return self._value(inner, self._type(expression))
            case ast.Binary(_, left, right):
                return translated_operation(expression, self._value(left), self._value(right), self._type(expression))
            case ast.Unary(operand):
                return replace(expression, operand=self._value(operand))
            case ast.Call(_, arguments):
                self._check_call(expression)
                own = tuple(map(self._value, arguments))
                return translated_call(expression, own, self._type(expression))
            case _:
                return expression

    def _check_call(self, call: ast.Call) -> None:
        name = call.function
        if name in REFUSED:
            self.rules.refuse(f"`{name}`", call.span, REFUSED[name])
        if not name.startswith("@"):
            return
        functor, given = self.rules.declared.functors.get(name[1:]), len(call.arguments)
        if functor is None:
            message, hint = f"there is no functor `{name[1:]}`", f"declare it: `.functor {name[1:]}(x: number): number`"
            self.rules.diagnostics.error("DL124", message, call.span, hint)
        elif len(functor.arguments) != given:
            count = f"{len(functor.arguments)} argument{'' if len(functor.arguments) == 1 else 's'}"
            message = f"the functor `{name[1:]}` takes {count}, and gets {given}"
            self.rules.diagnostics.error("DL124", message, call.span)


def _plain_term(term: ast.HeadTerm) -> Expression:
    assert not isinstance(term, ast.AggregateTerm), "the parser makes parts of a body of them"
    return term


def _parts(parts: Iterable[ast.BodyPart]) -> Iterator[ast.BodyPart]:
    """Yields the parts of a body, those inside of others among them."""
    for part in parts:
        yield part
        match part:
            case ast.Disjunction(alternatives):
                for alternative in alternatives:
                    yield from _parts(alternative.parts)
            case ast.Negation(body) | ast.Aggregation(body=body):
                yield from _parts(body.parts)
            case _:
                pass


def _atoms(parts: Iterable[ast.BodyPart]) -> list[ast.Atom]:
    return [part for part in _parts(parts) if isinstance(part, ast.Atom)]
