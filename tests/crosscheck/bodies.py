"""The valuations of a body, and the faults that count.

A valuation gives a value to every variable of the positive atoms, and to those that equations define. It counts as a
fault if an operation has no value while every literal that can be evaluated holds. So a literal that is false beats
a fault of another one, and nothing depends on the order of the literals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, product
from typing import TypeAlias, assert_never

from tests.crosscheck.meaning import Fault, Known, Unclear, called, holds, negated, operated, word_holds
from tests.crosscheck.programs import (
    WORDS,
    Anything,
    Atom,
    Call,
    Comparison,
    Condition,
    Const,
    Either,
    Expr,
    If,
    Literal,
    Logic,
    Neg,
    Op,
    Procedure,
    Term,
    Test,
    Var,
    read_relations,
    variables,
)

Valuation: TypeAlias = "dict[str, Known]"
Facts: TypeAlias = "Mapping[str, Sequence[tuple[Known, ...]]]"
Plain: TypeAlias = Comparison | Test | Atom
"""What is left of the literals that are no positive atoms: an atom here is negated."""


def evaluated(expression: Expr, valuation: Mapping[str, Known]) -> Known:
    """The value; otherwise a fault with the codes of all parts that have none."""
    match expression:
        case Const(value):
            return value + 0.0 if isinstance(value, float) else value
        case Var(name):
            return valuation[name]
        case Neg(operand):
            return negated(evaluated(operand, valuation))
        case Op(symbol, left, right):
            operands = _values_or_null((left, right), valuation)
            return None if operands is None else operated(symbol, *operands)
        case Call("is_null", (argument,)):
            return evaluated(argument, valuation) is None
        case Call("coalesce", arguments):
            found = (evaluated(argument, valuation) for argument in arguments)
            return next((value for value in found if value is not None), None)
        case Call(function, arguments):
            values = _values_or_null(arguments, valuation)
            return None if values is None else called(function, values)
        case If(condition, first, second):
            return evaluated(first if _is_met(condition, valuation) else second, valuation)
        case _:
            assert_never(expression)


def _is_met(condition: Condition, valuation: Mapping[str, Known], is_negated: bool = False) -> bool:
    """Tells whether a condition holds, or its opposite: with a null in a part, neither does. What the first part
    settles leaves the others alone."""
    match condition:
        case Comparison(symbol, left, right):
            one, other = _all_evaluated((left, right), valuation)
            return holds(_OPPOSITE[symbol] if is_negated else symbol, one, other)
        case Test(call, is_test_negated):
            return _passes(Test(call, is_test_negated is not is_negated), valuation)
        case Logic("not", (one_part,)):
            return _is_met(one_part, valuation, not is_negated)
        case Logic(word, parts):
            met = (_is_met(part, valuation, is_negated) for part in parts)
            return all(met) if (word == "and") is not is_negated else any(met)
        case _:
            assert_never(condition)


_OPPOSITE = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def _passes(test: Test, valuation: Mapping[str, Known]) -> bool:
    call = test.call
    if call.function in WORDS:
        return word_holds(call.function, _all_evaluated(call.arguments, valuation), test.is_negated)
    value = evaluated(call, valuation)
    return value is not None and value is not test.is_negated


def _values_or_null(expressions: Sequence[Expr], valuation: Mapping[str, Known]) -> list[Known] | None:
    """The values; None if one of them is null, whether the others have values or not."""
    values: list[Known] = []
    codes: set[str] = set()
    for expression in expressions:
        try:
            values.append(evaluated(expression, valuation))
        except Fault as fault:
            codes |= fault.codes
    if None in values:
        return None
    if codes:
        raise Fault(*codes)
    return values


def _all_evaluated(expressions: Sequence[Expr], valuation: Mapping[str, Known]) -> list[Known]:
    values: list[Known] = []
    codes: set[str] = set()
    for expression in expressions:
        try:
            values.append(evaluated(expression, valuation))
        except Fault as fault:
            codes |= fault.codes
    if codes:
        raise Fault(*codes)
    return values


# --- bodies without alternatives, procedures and computed arguments --------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Definition:
    variable: str
    equations: tuple[Comparison, ...]
    """Each gives the variable a value; those that do not are comparisons with it."""


@dataclass(slots=True)
class _Step:
    """Matches an atom, if there is one, and does what becomes possible then."""

    atom: Atom | None
    actions: list[_Definition | Plain] = field(default_factory=list)


class Body:
    """One conjunction, made ready to be evaluated many times."""

    def __init__(self, literals: Sequence[Literal]) -> None:
        self._names = (f"#{number}" for number in count())
        self.atoms: list[Atom] = []
        self.plain: list[Plain] = []
        for literal in literals:
            self._take(literal)
        self.reads = set(read_relations(literals))
        self.steps = self._scheduled()
        bound = {name for atom in self.atoms for term in atom.terms for name in variables(term)}
        actions = [action for step in self.steps for action in step.actions]
        self.variables = bound | {one.variable for one in actions if isinstance(one, _Definition)}

    def _take(self, literal: Literal) -> None:
        match literal:
            case Atom(relation, terms, False):
                self.atoms.append(Atom(relation, tuple(map(self._matched_term, terms))))
            case Procedure():
                self.plain += _equations(literal)
            case Either():
                raise ValueError("alternatives are bodies of their own")
            case _:
                self.plain.append(literal)

    def _matched_term(self, term: Term) -> Term:
        """A computed argument is a variable of the atom, compared with the expression."""
        match term:
            case Neg() | Op() | Call() | If():
                variable = Var(next(self._names))
                self.plain.append(Comparison("=", variable, term))
                return variable
            case _:
                return term

    def _scheduled(self) -> list[_Step]:
        matched = {name for atom in self.atoms for term in atom.terms for name in variables(term)}
        definitions = self._definitions(matched)
        defining = {id(equation) for one in definitions for equation in one.equations}
        for literal in self.plain:
            match literal:
                case Test(Call("in", (Var(name), *_)), False) if name not in matched:
                    raise Unclear("values of a list may be what an equation is compared with")
        waiting: list[_Definition | Plain] = [*definitions, *(one for one in self.plain if id(one) not in defining)]
        steps = [_Step(None), *map(_Step, self.atoms)]
        known: set[str] = set()
        for step in steps:
            if step.atom is not None:
                known.update(name for term in step.atom.terms for name in variables(term))
            while ready := [one for one in waiting if _needed(one) <= known]:
                for one in ready:
                    waiting.remove(one)
                    step.actions.append(one)
                    if isinstance(one, _Definition):
                        known.add(one.variable)
        if waiting:
            raise Unclear(f"nothing gives a value to the variables of {waiting}")
        return steps

    def _definitions(self, matched: set[str]) -> list[_Definition]:
        """The equations of each variable that no atom has; an equation defines one variable only."""
        found: dict[str, list[Comparison]] = {}
        for literal in self.plain:
            if not isinstance(literal, Comparison) or literal.symbol != "=":
                continue
            for target, other in ((literal.left, literal.right), (literal.right, literal.left)):
                if isinstance(target, Var) and target.name not in matched and target.name not in variables(other):
                    if isinstance(other, Var) and other.name not in matched:
                        raise Unclear("which of two variables is defined by the other?")
                    found.setdefault(target.name, []).append(literal)
                    break
        return [_Definition(name, tuple(equations)) for name, equations in found.items()]

    def valuations(
        self, facts: Facts, tick: Callable[[], None], fault: Callable[[Fault, Valuation], None]
    ) -> Iterator[Valuation]:
        """Those that satisfy the body. The faults of others are told, if they count, with the values that there are."""
        for valuation, codes in self._extended(0, {}, frozenset(), facts, tick):
            if codes:
                fault(Fault(*codes), valuation)
            else:
                yield valuation

    @property
    def never_holds(self) -> bool:
        """Tells whether a literal without variables is false, whatever the facts are."""
        constant = [one for one in self.steps[0].actions if not isinstance(one, Atom)]
        return _acted(constant, {}, frozenset(), {}) is None

    def _extended(
        self, place: int, valuation: Valuation, codes: frozenset[str], facts: Facts, tick: Callable[[], None]
    ) -> Iterator[tuple[Valuation, frozenset[str]]]:
        if place == len(self.steps):
            yield valuation, codes
            return
        step = self.steps[place]
        matches = [valuation] if step.atom is None else _matches(step.atom, facts[step.atom.relation], valuation)
        for matched in matches:
            tick()
            acted = _acted(step.actions, matched, codes, facts)
            if acted is not None:
                yield from self._extended(place + 1, *acted, facts, tick)


def alternatives(literals: Sequence[Literal]) -> Iterator[tuple[Literal, ...]]:
    """The bodies that a body with alternatives stands for."""
    choices = []
    for literal in literals:
        if isinstance(literal, Either):
            choices.append([part for one in literal.alternatives for part in alternatives(one)])
        else:
            choices.append([(literal,)])
    for chosen in product(*choices):
        yield tuple(literal for part in chosen for literal in part)


def agrees(terms: Sequence[Term], fact: Sequence[Known], valuation: Valuation) -> bool:
    """Tells whether a fact fits, and adds to the valuation what the fact says of new variables."""
    for term, value in zip(terms, fact, strict=True):
        if isinstance(term, Anything):
            continue
        if isinstance(term, Var) and term.name not in valuation:
            valuation[term.name] = value
        elif not holds("=", evaluated(term, valuation), value):
            return False
    return True


def _matches(atom: Atom, rows: Sequence[tuple[Known, ...]], valuation: Valuation) -> Iterator[Valuation]:
    for row in rows:
        extended = dict(valuation)
        if agrees(atom.terms, row, extended):
            yield extended


def _acted(
    actions: Sequence[_Definition | Plain], valuation: Valuation, codes: frozenset[str], facts: Facts
) -> tuple[Valuation, frozenset[str]] | None:
    """The valuation with what is defined, and the faults; None if a literal is false."""
    for action in actions:
        if isinstance(action, _Definition):
            codes |= _define(action, valuation)
            tests: Sequence[Plain] = action.equations[1:] if action.variable in valuation else ()
        else:
            tests = (action,)
        for test in tests:
            if not _needed(test) <= valuation.keys():
                continue
            try:
                if not _is_true(test, valuation, facts):
                    return None
            except Fault as fault:
                codes |= fault.codes
    return valuation, codes


def _define(definition: _Definition, valuation: Valuation) -> frozenset[str]:
    """Gives the variable the value of its first equation; the others are comparisons then."""
    values: list[Known] = []
    codes: frozenset[str] = frozenset()
    for equation in definition.equations:
        value = equation.right if equation.left == Var(definition.variable) else equation.left
        if set(variables(value)) <= valuation.keys():
            try:
                values.append(evaluated(value, valuation))
            except Fault as fault:
                codes |= fault.codes
    if len(values) < len(definition.equations) > 1:
        raise Unclear  # whether the variable then has the value of another equation
    if values:
        valuation[definition.variable] = values[0]
    return codes


def _is_true(test: Plain, valuation: Valuation, facts: Facts) -> bool:
    match test:
        case Comparison(symbol, left, right):
            one, other = _all_evaluated((left, right), valuation)
            return holds(symbol, one, other)
        case Test():
            return _passes(test, valuation)
        case Atom(relation, terms):
            values = iter(_all_evaluated([term for term in terms if not isinstance(term, Anything)], valuation))
            wanted = [None if isinstance(term, Anything) else (next(values),) for term in terms]
            return not any(
                all(one is None or holds("=", one[0], value) for one, value in zip(wanted, row, strict=True))
                for row in facts[relation]
            )
        case _:
            assert_never(test)


def _needed(action: _Definition | Plain) -> set[str]:
    match action:
        case _Definition(variable, equations):
            return {name for one in equations for name in _needed(one)} - {variable}
        case Comparison(_, left, right):
            return {*variables(left), *variables(right)}
        case Test(call):
            return set(variables(call))
        case Atom(_, terms):
            return {name for term in terms for name in variables(term)}
        case _:
            assert_never(action)


def _equations(procedure: Procedure) -> list[Plain]:
    arguments = procedure.arguments
    match procedure.name:
        case "larger" | "largest":
            values = arguments[1:]
            return [Comparison("=", arguments[0], values[0] if len(values) == 1 else Call("greatest", values))]
        case "encd":
            return [Comparison("=", arguments[2], Call("encd", arguments[:2]))]
        case "decd":
            return [
                Comparison("=", arguments[1], Call("decd_first", arguments[:1])),
                Comparison("=", arguments[2], Call("decd_second", arguments[:1])),
            ]
        case _:
            raise ValueError(procedure.name)
