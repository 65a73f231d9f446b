"""Names the columns of a relation as a person would: by its declaration, its data, or the variables of its heads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from emberlog.syntax import ast
from emberlog.syntax.ast import BinaryOperator, Variable

_RESULTS = {
    BinaryOperator.ADD: "sum",
    BinaryOperator.SUBTRACT: "difference",
    BinaryOperator.MULTIPLY: "product",
    BinaryOperator.DIVIDE: "quotient",
    BinaryOperator.INTEGER_DIVIDE: "quotient",
    BinaryOperator.MODULO: "remainder",
}
_CHOOSING = ("min", "max", "mmin", "mmax", "argmin", "argmax")
"""Aggregates that give one of the values, which is still what its variable says."""


def names_from_heads(heads: Iterable[ast.Head], arity: int) -> list[str | None]:
    """Returns for each column a name that some head has for it, or None: the first that is a variable, otherwise the
    first that says something of an expression or an aggregate."""
    names: list[str | None] = [None] * arity
    computed: list[list[ast.HeadTerm]] = [[] for _ in range(arity)]
    for head in heads:
        for index, term in enumerate(head.terms):
            if isinstance(term, Variable):
                names[index] = names[index] or term.name.lstrip("_") or None
            else:
                computed[index].append(term)
    # `min<Fare>, max<Fare>` are told apart by their functions.
    aggregated = Counter(name for terms in computed for name in {_aggregated(term) for term in terms[:1]} if name)
    repeated = {name for name, count in aggregated.items() if count > 1}
    taken = frozenset({name.lower() for name in (*names, *repeated) if name is not None})
    described = [next(filter(None, (_described(term, taken) for term in terms)), None) for terms in computed]
    return [name or other for name, other in zip(names, described, strict=True)]


def _aggregated(term: ast.HeadTerm) -> str | None:
    names = {variable.name.lstrip("_") for variable in ast.variables_of(term)}
    return names.pop() if isinstance(term, ast.AggregateTerm) and len(names) == 1 else None


def _described(term: ast.HeadTerm, taken: frozenset[str]) -> str | None:
    """Returns a word for what is not a variable; its only variable, if that is not `taken` by another column."""
    names = {variable.name.lstrip("_") for variable in ast.variables_of(term)} - {""}
    own = names.pop() if len(names) == 1 else None
    if own is not None and own.lower() in taken:
        own = None
    match term:
        case ast.AggregateTerm("count" | "countd" | "collect" as function):
            return function
        case ast.AggregateTerm(_, (*_, Variable(name))) if name.lower() not in taken:
            return name.lstrip("_") or None
        case ast.AggregateTerm(function) if function not in _CHOOSING or own is None:
            return function
        case ast.Binary(operator) if own is None:
            return _RESULTS[operator]
        case ast.Call(function) if own is None:
            return function.strip("!$")  # `[X, Y]` is a call of what programs cannot write
    return own


def distinct_names(names: Sequence[str | None]) -> list[str]:
    """Returns names that differ, also for SQL, which does not see case: a missing one and a repeated one have their
    position in it."""
    result: list[str] = []
    taken = {name.lower() for name in names if name is not None}
    seen: set[str] = set()
    for index, name in enumerate(names, start=1):
        own = f"c{index}" if name is None else name
        if own.lower() in (taken if name is None else seen):
            own = f"{own}_{index}"
            while own.lower() in taken | seen:
                own += "_"
        seen.add(own.lower())
        result.append(own)
    return result
