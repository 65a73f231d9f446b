"""Tells what is in a body: its atoms, its variables, and which of these have values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import assert_never

from emberlog.source import Span
from emberlog.syntax import ast
from emberlog.syntax.ast import ComparisonOperator


def body_atoms(parts: Iterable[ast.BodyPart]) -> Iterator[ast.Atom]:
    """Yields the atoms of a body, those of alternatives and of negated conjunctions among them."""
    for part in parts:
        match part:
            case ast.Atom():
                yield part
            case ast.Disjunction(alternatives):
                for alternative in alternatives:
                    yield from body_atoms(alternative.parts)
            case ast.Negation(body) | ast.Aggregation(body=body):
                yield from body_atoms(body.parts)
            case ast.Comparison():
                pass
            case _:
                assert_never(part)


def body_variables(parts: Iterable[ast.BodyPart]) -> Iterator[str]:
    """Yields the variables of a body, repeated ones repeated."""
    for part in parts:
        match part:
            case ast.Atom(_, terms):
                yield from (variable.name for term in terms for variable in ast.variables_of(term))
            case ast.Comparison(_, left, right):
                yield from (variable.name for side in (left, right) for variable in ast.variables_of(side))
            case ast.Disjunction(alternatives):
                for alternative in alternatives:
                    yield from body_variables(alternative.parts)
            case ast.Negation(body):
                yield from body_variables(body.parts)
            case ast.Aggregation(value=value, aggregate=aggregate, body=body):
                yield from (variable.name for side in (value, aggregate) for variable in ast.variables_of(side))
                yield from body_variables(body.parts)
            case _:
                assert_never(part)


def scope_variables(parts: Iterable[ast.BodyPart]) -> Iterator[str]:
    """Yields the variables of a body without those inside of its aggregates, which are their own affair."""
    for part in parts:
        match part:
            case ast.Aggregation(value=value):
                yield from (variable.name for variable in ast.variables_of(value))
            case ast.Disjunction(alternatives):
                for alternative in alternatives:
                    yield from scope_variables(alternative.parts)
            case ast.Negation(body):
                yield from scope_variables(body.parts)
            case _:
                yield from body_variables((part,))


def bound_by(parts: Iterable[ast.BodyPart], is_builtin: Callable[[str], bool]) -> set[str]:
    """Returns the variables that these parts give values."""
    bound: set[str] = set()
    for part in parts:
        match part:
            case ast.Atom(negated=False) if not is_builtin(part.predicate):
                bound.update(body_variables((part,)))
            case ast.Disjunction(alternatives):
                bound |= set.intersection(*(bound_by(one.parts, is_builtin) for one in alternatives))
            case ast.Aggregation(operator=ComparisonOperator.EQUAL, value=ast.Variable(name)):
                bound.add(name)
            case _:
                pass
    comparisons = [part for part in parts if isinstance(part, ast.Comparison)]
    before = -1
    while before < len(bound):
        before = len(bound)
        bound.update([name for one in comparisons for name in assigned(one, bound)])
    return bound


def assigned(part: ast.Comparison, bound: set[str]) -> Iterator[str]:
    """Yields the variable that an equation gives a value, if the other side has one."""
    for one, other in ((part.left, part.right), (part.right, part.left)):
        is_known = bound.issuperset(term_variables((other,)))
        if not (part.operator is ComparisonOperator.EQUAL and is_known):
            continue
        if isinstance(one, ast.Variable):
            yield one.name
        elif isinstance(one, ast.Call) and one.function.startswith("$"):
            yield from (variable.name for variable in ast.variables_of(one))


def givers(parts: Sequence[ast.BodyPart]) -> tuple[ast.BodyPart, ...]:
    """Returns the parts that can be joined to know which values variables have: atoms, and comparisons of what they
    bind."""
    atoms = [part for part in parts if is_positive(part) or isinstance(part, ast.Disjunction)]
    known = set(scope_variables(atoms))
    comparisons = [part for part in parts if isinstance(part, ast.Comparison)]
    chosen: list[ast.BodyPart] = []
    while True:
        ready = [
            part
            for part in comparisons
            if part not in chosen and (known.issuperset(body_variables((part,))) or any(assigned(part, known)))
        ]
        if not ready:
            return (*atoms, *chosen)
        chosen += ready
        known.update(body_variables(ready))


def is_positive(part: ast.BodyPart) -> bool:
    return isinstance(part, ast.Atom) and not part.negated


def all_variables(rule: ast.Rule) -> Counter[str]:
    found = Counter(body_variables(rule.body.parts if rule.body else ()))
    for head in rule.heads:
        found.update(head_variables(head))
    return found


def head_variables(head: ast.Head) -> Iterator[str]:
    return term_variables(head.terms)


def term_variables(terms: Iterable[ast.HeadTerm]) -> Iterator[str]:
    return (variable.name for term in terms for variable in ast.variables_of(term))


def numbered_variables(letter: str, count: int, span: Span) -> tuple[ast.Variable, ...]:
    """Returns `X1`, `X2` and so on."""
    return tuple(ast.Variable(f"{letter}{number}", span) for number in range(1, count + 1))


def plain_atom(name: str, terms: Sequence[ast.Expression], span: Span, *, negated: bool = False) -> ast.Atom:
    """Returns an atom whose name is where all of it is."""
    return ast.Atom(name, tuple(terms), negated, span, span)
