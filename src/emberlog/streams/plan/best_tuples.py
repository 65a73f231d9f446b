"""Lets tuples of a stream go at once that cannot be part of any best fact.

In `best(P, D, min<F>) :- ride(P, Q, F1), best(Q, D, F2), F = F1 + F2.` only the cheapest ride from P to Q matters, at
each slide the cheapest that has not expired. So the rule reads a relation of its own that has just those, and a tuple
that is dearer than a later one is never joined with anything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from emberlog.datatypes import BOOL, FLOAT
from emberlog.optimize.rule_substitution import variable_names
from emberlog.semantics.model import (
    CheckedProgram,
    Contribution,
    CoreRule,
    HeadValue,
    Match,
    Relation,
    Stratum,
)
from emberlog.semantics.monotonicity import non_monotone_step
from emberlog.syntax.ast import Variable, variables_of
from emberlog.workers.plan.capabilities import MEETS

_ORDERED = (FLOAT, BOOL)
_WITH = " with "


def with_best_tuples(checked: CheckedProgram, streams: Collection[str]) -> CheckedProgram:
    """Lets rules for a minimum or maximum read only the best tuples of a stream, where that means the same."""
    return _Rewriting(checked, streams).run()


def best_of(checked: CheckedProgram) -> dict[str, str]:
    """Returns the stream that each relation of best tuples is made of."""
    return {
        rule.relation: rule.body[0].relation
        for rule in checked.rules
        if rule.name == rule.relation and _WITH in rule.name and isinstance(rule.body[0], Match)
    }


class _Rewriting:
    def __init__(self, checked: CheckedProgram, streams: Collection[str]) -> None:
        self.checked = checked
        self.streams = streams
        self.relations = dict(checked.relations)
        self.copies: dict[str, CoreRule] = {}
        """The rule that defines each relation of best tuples, by the name of that relation."""

    def run(self) -> CheckedProgram:
        rules = {id(rule): self._rule(rule) for rule in self.checked.rules}
        if not self.copies:
            return self.checked
        own = [Stratum(0, (name,), (rule,)) for name, rule in self.copies.items()]
        strata = [
            replace(stratum, rules=tuple(rules[id(rule)] for rule in stratum.rules)) for stratum in self.checked.strata
        ]
        return replace(
            self.checked,
            relations=self.relations,
            rules=(*self.copies.values(), *rules.values()),
            strata=(*own, *strata),
        )

    def _rule(self, rule: CoreRule) -> CoreRule:
        functions = [value.function for value in rule.head if isinstance(value, Contribution)]
        if not functions or not MEETS.issuperset(functions):
            return rule
        for place, literal in enumerate(rule.body):
            if isinstance(literal, Match) and literal.relation in self.streams:
                rule = next(self._better(rule, place, literal), rule)
        return rule

    def _better(self, rule: CoreRule, place: int, atom: Match) -> Iterator[CoreRule]:
        """Yields the rule with the best tuples in place of all, in each way in which it means the same."""
        source = self.relations[atom.relation]
        if source.is_aggregated:
            return
        for column, term in enumerate(atom.terms):
            if (
                not (source.columns[column].type.is_whole or source.columns[column].type in _ORDERED)
                or not isinstance(term, Variable)
                or not _is_used(rule, term)
            ):
                continue
            for function in ("min", "max"):
                best = _best(source, column, function)
                body = (*rule.body[:place], replace(atom, relation=best.name), *rule.body[place + 1 :])
                better = replace(rule, body=body)
                relations = {**self.relations, best.name: best}
                if non_monotone_step(better, frozenset((best.name,)), relations) is None:
                    self.relations = relations
                    self.copies[best.name] = _copy(source, best)
                    yield better


def _is_used(rule: CoreRule, variable: Variable) -> bool:
    """Tells whether a variable is more than a name for any value: it occurs beside the atom that binds it."""
    names = [name for literal in rule.body for name in variable_names(literal)]
    for value in rule.head:
        for expression in value.arguments if isinstance(value, Contribution) else (value,):
            names += (one.name for one in variables_of(expression))
    return names.count(variable.name) > 1


def _best(source: Relation, column: int, function: str) -> Relation:
    columns = list(source.columns)
    columns[column] = replace(columns[column], aggregate=function)
    name = f"{source.name}{_WITH}{function} {columns[column].name}"
    return replace(source, name=name, columns=tuple(columns), is_derived=True)


def _copy(source: Relation, best: Relation) -> CoreRule:
    variables = [Variable(f"v{place}") for place in range(source.arity)]
    head: list[HeadValue] = [
        variable if column.aggregate is None else Contribution(column.aggregate, (variable,))
        for variable, column in zip(variables, best.columns, strict=True)
    ]
    types = {variable.name: column.type for variable, column in zip(variables, source.columns, strict=True)}
    return CoreRule(best.name, best.name, tuple(head), (Match(source.name, tuple(variables)),), types)
