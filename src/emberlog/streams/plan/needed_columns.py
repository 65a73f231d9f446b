"""Finds the columns of inputs whose values a program looks at. In any other column a null does nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from emberlog.optimize.rule_substitution import variable_names
from emberlog.semantics.model import Absent, CheckedProgram, Contribution, CoreRule, Match
from emberlog.syntax.ast import Variable, variables_of


def needed_columns(checked: CheckedProgram) -> Mapping[str, frozenset[int]]:
    """Returns the places of these columns for each input: those with a constant or with a variable that occurs once
    more, all columns of an input that is asked for itself, and the time of a stream."""
    needed: dict[str, set[int]] = {name: set() for name in checked.inputs}
    for name, places in needed.items():
        relation = checked.relations[name]
        if relation.is_stream:
            places.add(0)
        if name in checked.outputs:
            places.update(range(relation.arity))
    for rule in checked.rules:
        counts = Counter(_occurrences(rule))
        for literal in rule.body:
            if isinstance(literal, Match | Absent) and literal.relation in needed:
                needed[literal.relation].update(
                    place
                    for place, term in enumerate(literal.terms)
                    if not isinstance(term, Variable) or counts[term.name] > 1
                )
    return {name: frozenset(places) for name, places in needed.items()}


def _occurrences(rule: CoreRule) -> Iterator[str]:
    for literal in rule.body:
        yield from variable_names(literal)
    for value in rule.head:
        for expression in value.arguments if isinstance(value, Contribution) else (value,):
            yield from (variable.name for variable in variables_of(expression))
