"""A rule's plan as one flat conjunction: atoms, computed variables, conditions and negated atoms.

Joins on a column make the variables of both sides one; projections are seen through. What is left says nothing about
order, so the compiler is free to begin with the delta.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain, count
from typing import TypeGuard

from emberlog.datatypes import DataType
from emberlog.logical.expressions import condition_columns, substitute, substitute_in_condition
from emberlog.logical.nodes import (
    AntiJoin,
    Condition,
    Distinct,
    Field,
    Filter,
    Join,
    Plan,
    Project,
    Scan,
    Union,
    Values,
    Version,
)
from emberlog.semantics.model import Compare, Holds
from emberlog.semantics.totality import FAILS, TRY, can_fail, condition_can_fail, type_of
from emberlog.syntax.ast import Call, ComparisonOperator, Constant, Expression, Variable


class NotAConjunction(Exception):
    """The plan has a part that a chain of steps cannot express; the text says which."""


@dataclass(slots=True)
class ScannedAtom:
    relation: str
    variables: list[str]
    version: Version
    asks: bool = False
    """Whether one of the rows that agree is enough."""


@dataclass(slots=True)
class NegatedAtom:
    relation: str
    keys: list[int]
    variables: list[str]
    types: list[DataType]
    """Of all columns of the relation."""
    guards: list[Condition]
    """Conditions on the variables, without which the atom says nothing."""


@dataclass(slots=True)
class Conjunction:
    atoms: list[ScannedAtom] = field(default_factory=list)
    computed: dict[str, Expression] = field(default_factory=dict)
    conditions: list[Condition] = field(default_factory=list)
    negated: list[NegatedAtom] = field(default_factory=list)
    types: dict[str, DataType] = field(default_factory=dict)
    head: list[Expression] = field(default_factory=list)


def parts_of(seed: Plan) -> tuple[Plan, ...]:
    """Returns the rules and facts whose union a seed is."""
    return seed.inputs if isinstance(seed, Union) else (seed,)


def flatten(plan: Plan) -> Conjunction:
    """Returns the conjunction whose valuations, seen through `head`, are the rows of the plan."""
    flattener = _Flattener()
    columns = flattener.read(plan)
    result = flattener.result
    result.head = [columns[column.name] for column in plan.columns]
    flattener.unify_all()
    return result


class _Flattener:
    def __init__(self) -> None:
        self.result = Conjunction()
        self.same: dict[str, str] = {}

    def _fresh(self, data_type: DataType, wanted: str) -> Variable:
        """Returns a variable under the name that people know, or one like it."""
        numbered = (f"{wanted}.{number}" for number in count(2))
        name = next(name for name in chain((wanted,), numbered) if name not in self.result.types)
        self.result.types[name] = data_type
        return Variable(name)

    def read(self, plan: Plan) -> dict[str, Expression]:
        """Returns what each column of the plan is, in variables of the conjunction."""
        match plan:
            case Scan(relation, columns, version):
                variables = [self._fresh(column.type, column.name) for column in columns]
                self.result.atoms.append(ScannedAtom(relation, [v.name for v in variables], version))
                return {column.name: variable for column, variable in zip(columns, variables, strict=True)}
            case Values((), ((),)):
                return {}
            case Filter(inner, conditions):
                visible = self.read(inner)
                self.result.conditions += [substitute_in_condition(condition, visible) for condition in conditions]
                return visible
            case Project(inner, outputs):
                visible = self.read(inner)
                return {
                    output.field.name: self._computed(substitute(output.expression, visible), output.field)
                    for output in outputs
                }
            case Join(left, right, on):
                return self._joined(self.read(left), self.read(right), on)
            case AntiJoin(left, right, on):
                visible = self.read(left)
                self._negated(right, on, visible)
                return visible
            case Distinct(inner):
                return self._asked(inner)
            case _:
                raise NotAConjunction(type(plan).__name__)

    def _asked(self, plan: Plan) -> dict[str, Expression]:
        """Tells of a set inside a rule that it stands where nobody counts: of the rows that look the same from there
        one is enough."""
        result = self.result
        atoms, conditions = len(result.atoms), len(result.conditions)
        visible = self.read(plan)
        if len(result.atoms) != atoms + 1:
            raise NotAConjunction("a set of more than a scan")
        (atom,) = result.atoms[atoms:]
        tests = [_constant_test(condition) for condition in result.conditions[conditions:]]
        names = [name for name, _ in filter(None, tests)]
        # What has to be equal to constants can be looked up; with any other condition, rows have to be looked at.
        if len(set(names)) == len(tests) and not result.computed.keys() & set(names):
            atom.asks = True
            result.computed.update(filter(None, tests))
            del result.conditions[conditions:]
        return visible

    def _joined(
        self, left: dict[str, Expression], right: dict[str, Expression], on: Iterable[str]
    ) -> dict[str, Expression]:
        for name in on:
            one, other = left[name], right[name]
            if isinstance(one, Variable) and isinstance(other, Variable):
                self.same[self._root(other.name)] = self._root(one.name)
            else:
                self.result.conditions += [has_value(side) for side in (one, other) if is_tried(side)]
                self.result.conditions.append(Compare(ComparisonOperator.EQUAL, one, other))
        return {**right, **left}

    def _root(self, name: str) -> str:
        while name in self.same and self.same[name] != name:
            name = self.same[name]
        return name

    def _negated(self, plan: Plan, on: Iterable[str], visible: dict[str, Expression]) -> None:
        """The right side of an anti-join: a scan, perhaps filtered by constants and projected."""
        inner = _Flattener()
        columns = inner.read(plan.input if isinstance(plan, Distinct) else plan)
        if len(inner.result.atoms) != 1 or inner.result.negated:
            raise NotAConjunction("a negated atom that is more than a scan")
        (atom,) = inner.result.atoms
        keys: list[int] = []
        variables: list[str] = []
        pending = {name: columns[name] for name in on}
        unsaid: list[Condition] = []
        for name, column in pending.items():
            if not isinstance(column, Variable):
                raise NotAConjunction("a negated atom with a computed column")
            keys.append(atom.variables.index(column.name))
            variables.append(self._variable_for(visible[name], Field("computed", inner.result.types[column.name])))
            tried = visible[name]
            if is_tried(tried):
                unsaid.append(has_value(tried))
        outside = {atom.variables[key]: Variable(name) for key, name in zip(keys, variables, strict=True)}
        guards = unsaid
        for condition in inner.result.conditions:
            if (test := _constant_test(condition)) is not None:
                keys.append(atom.variables.index(test[0]))
                variables.append(self._variable_for(test[1]))
            elif condition_columns(condition) <= outside.keys() and self._is_safe(condition, inner.result.types):
                guards.append(substitute_in_condition(condition, outside))
            else:
                raise NotAConjunction("a negated atom with a condition")
        types = [inner.result.types[name] for name in atom.variables]
        self.result.negated.append(NegatedAtom(atom.relation, keys, variables, types, guards))

    @staticmethod
    def _is_safe(condition: Condition, types: dict[str, DataType]) -> bool:
        return not condition_can_fail(condition, types)

    def _computed(self, expression: Expression, field: Field) -> Expression:
        """Keeps what can fail. It is computed even if nobody reads it, because people expect to hear of it."""
        if can_fail(expression, self.result.types):
            return Variable(self._variable_for(expression, field))
        return expression

    def _variable_for(self, expression: Expression, field: Field | None = None) -> str:
        if isinstance(expression, Variable):
            return expression.name
        # A function of the user's has the type of the column: what can fail is always one.
        field = field or Field("computed", type_of(expression, self.result.types))
        variable = self._fresh(field.type, field.name)
        self.result.computed[variable.name] = expression
        return variable.name

    def unify_all(self) -> None:
        """Replaces variables that joins made one."""
        result = self.result
        roots = {name: Variable(self._root(name)) for name in result.types if self._root(name) != name}
        for atom in result.atoms:
            atom.variables = [self._root(name) for name in atom.variables]
        for negated in result.negated:
            negated.variables = [self._root(name) for name in negated.variables]
            negated.guards = [substitute_in_condition(guard, roots) for guard in negated.guards]
        result.computed = {name: substitute(value, roots) for name, value in result.computed.items()}
        result.conditions = [substitute_in_condition(condition, roots) for condition in result.conditions]
        result.head = [substitute(value, roots) for value in result.head]


def is_tried(expression: Expression) -> TypeGuard[Call]:
    """Tells whether the expression is null where it has no value, and so agrees with nothing there."""
    return isinstance(expression, Call) and expression.function == TRY


def has_value(tried: Call) -> Condition:
    """Returns the condition that such an expression has a value."""
    return Holds(Call(FAILS, tried.arguments), negated=True)


def _constant_test(condition: Condition) -> tuple[str, Expression] | None:
    """Returns the column that has to be equal to a constant, if that is the condition."""
    match condition:
        case Compare(ComparisonOperator.EQUAL, Variable(name), Constant() as value):
            return name, value
        case Compare(ComparisonOperator.EQUAL, Constant() as value, Variable(name)):
            return name, value
        case _:
            return None
