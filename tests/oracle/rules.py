"""What one rule contributes: nested loops over the valuations of its body."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, assert_never

from emberlog.datatypes import DataType
from emberlog.diagnostics import EmberlogError, fail
from emberlog.semantics.model import (
    Absent,
    Bind,
    CellValue,
    Compare,
    Contribution,
    CoreRule,
    Fact,
    HeadValue,
    Holds,
    Literal,
    Match,
    Term,
)
from emberlog.source import NOWHERE
from emberlog.syntax.ast import Binary, ComparisonOperator, Constant, Expression, Variable, variables_of
from emberlog.syntax.printer import print_value
from tests.oracle.aggregates import check_contribution
from tests.oracle.expressions import Fault, Scalars, Valuation, agrees, evaluate_expression, shown

Row: TypeAlias = tuple[CellValue | tuple[CellValue, ...], ...]
"""What a rule or a fact contributes: one entry per column, in an aggregated column the arguments of its aggregate."""


MISSING: Any = object()
"""In a valuation, the value of a variable whose expression has none."""

MET = "fault met"
"""In a valuation, the first fault that it met; no variable has this name."""


def _is_missing(term: Expression, valuation: Valuation) -> bool:
    return isinstance(term, Variable) and valuation.get(term.name) is MISSING


class IndexedFacts:
    """The facts of a relation, with a hash index for every set of columns that was ever asked for."""

    def __init__(self, facts: Iterable[Fact]) -> None:
        self.facts = frozenset(facts)
        self._indexes: dict[tuple[int, ...], dict[Fact, list[Fact]]] = {}

    def candidates(self, terms: Sequence[Term], valuation: Valuation) -> Sequence[Fact]:
        """All facts that agree with the terms, and perhaps some more."""
        positions = []
        wanted = []
        for position, term in enumerate(terms):
            if isinstance(term, Constant):
                positions.append(position)
                wanted.append(_key(term.value))
            elif term.name in valuation:
                positions.append(position)
                wanted.append(_key(valuation[term.name]))
        return self._index(tuple(positions)).get(tuple(wanted), ())

    def _index(self, positions: tuple[int, ...]) -> Mapping[Fact, list[Fact]]:
        if positions not in self._indexes:
            index: dict[Fact, list[Fact]] = {}
            # In order, so that an error that some fact leads to is the same in every run.
            for fact in sorted(self.facts, key=_order):
                index.setdefault(tuple(_key(fact[i]) for i in positions), []).append(fact)
            self._indexes[positions] = index
        return self._indexes[positions]


def _key(value: CellValue) -> CellValue:
    """Equal for all values that agree: in Python an int and a float are, exactly."""
    return value


def _order(fact: Fact) -> tuple[tuple[bool, CellValue], ...]:
    return tuple((value is not None, value) for value in fact)


class RuleEvaluator:
    """Evaluates one rule over the facts of all relations."""

    def __init__(
        self, rule: CoreRule, facts: Mapping[str, IndexedFacts], scalars: Scalars, on_step: Callable[[], None]
    ) -> None:
        self._rule = rule
        self._facts = facts
        self._scalars = scalars
        self._on_step = on_step
        """Called for every valuation on the way, so that a long join can be stopped."""

    def rows(self) -> Iterator[Row]:
        """One row for each valuation of the body's variables that makes every literal true."""
        valuations: Iterator[Valuation] = iter(({},))
        for literal in self._rule.body:
            valuations = self._extend(valuations, literal)
        try:
            for valuation in valuations:
                if MET in valuation:
                    met: Any = valuation[MET]
                    raise met
                yield tuple(self._head_entry(entry, valuation) for entry in self._rule.head)
        except Fault as fault:
            raise _fault_in_rule(self._rule, fault) from None

    def _extend(self, valuations: Iterator[Valuation], literal: Literal) -> Iterator[Valuation]:
        """Each valuation in every way in which it makes the literal true."""
        for valuation in valuations:
            self._on_step()
            match literal:
                case Match(relation, terms):
                    for fact in self._facts[relation].candidates(terms, valuation):
                        extended = matched(terms, fact, valuation)
                        if extended is not None:
                            yield extended
                case Absent(relation, terms):
                    if any(_is_missing(term, valuation) for term in terms):
                        yield valuation
                        continue
                    candidates = self._facts[relation].candidates(terms, valuation)
                    if all(matched(terms, fact, valuation) is None for fact in candidates):
                        yield valuation
                case Bind() | Compare() | Holds():
                    yield from self._tested(valuation, literal)
                case _:
                    assert_never(literal)

    def _tested(self, valuation: Valuation, literal: Bind | Compare | Holds) -> Iterator[Valuation]:
        """The valuation if it makes the literal true, or if nobody can tell: the literal needs a value that there is
        not. The first fault is kept, and counts in the end if all else holds."""
        try:
            match literal:
                case Bind(variable, expression):
                    if any(_is_missing(one, valuation) for one in variables_of(expression)):
                        yield {**valuation, variable.name: MISSING}
                    else:
                        yield {**valuation, variable.name: self._value(expression, valuation)}
                case Compare(operator, left, right):
                    if any(
                        _is_missing(one, valuation) for side in (left, right) for one in variables_of(side)
                    ) or agrees(self._value(left, valuation), operator, self._value(right, valuation)):
                        yield valuation
                case Holds(test, negated):
                    if any(_is_missing(one, valuation) for one in variables_of(test)):
                        yield valuation
                        return
                    holds = self._value(test, valuation)
                    if holds is not None and holds is not negated:
                        yield valuation
        except Fault as fault:
            met: Any = valuation.get(MET, fault)
            missing = {literal.variable.name: MISSING} if isinstance(literal, Bind) else {}
            yield {**valuation, **missing, MET: met}

    def _value(self, expression: Expression, valuation: Valuation) -> CellValue:
        return evaluate_expression(expression, valuation, self._scalars)

    def _head_entry(self, entry: HeadValue, valuation: Valuation) -> CellValue | tuple[CellValue, ...]:
        if not isinstance(entry, Contribution):
            return self._value(entry, valuation)
        arguments = tuple(self._value(argument, valuation) for argument in entry.arguments)
        check_contribution(entry.function, arguments)
        return arguments


def matched(terms: Sequence[Term], fact: Fact, valuation: Valuation) -> Valuation | None:
    """The valuation with the variables that the fact binds, or None if the fact does not agree. A null never agrees."""
    extended = dict(valuation)
    for term, value in zip(terms, fact, strict=True):
        match term:
            case Constant(expected):
                if not agrees(value, ComparisonOperator.EQUAL, expected):
                    return None
            case Variable(name):
                if name not in extended:
                    extended[name] = value
                elif not agrees(value, ComparisonOperator.EQUAL, extended[name]):
                    return None
            case _:
                assert_never(term)
    return extended


def _shown(value: CellValue, type_: DataType | None) -> str:
    told = type_ is not None and type_.is_told_by_type and isinstance(value, int)
    return print_value(value, type_) if told else shown(value)  # type: ignore[arg-type]


def _fault_in_rule(rule: CoreRule, fault: Fault) -> EmberlogError:
    """The error for an expression without a value: the rule, the place and the values."""
    notes = list(fault.hints)
    span = rule.span
    if fault.expression is not None:
        names = dict.fromkeys(variable.name for variable in variables_of(fault.expression))
        values = [f"{name} = {_shown(fault.valuation[name], rule.types.get(name))}" for name in names]
        if values:
            notes.insert(0, f"here {' and '.join(values)}")
        match fault.expression:
            case Binary(right=Variable(name)) if fault.code == "DL501":
                notes.append(f"keep such rows out with a condition: `{name} != 0`")
        if fault.expression.span is not NOWHERE:
            span = fault.expression.span
    return fail(fault.code, f"{fault.message} in rule {rule.name}", span, *notes)
