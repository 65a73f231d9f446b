"""Finds the step that proves a fact, backwards from the iteration in which the fact came.

A fact of iteration k has a rule whose body holds on facts of iterations before k. So a proof is found without any
search that could go astray, and no proof needs fewer iterations: rounds derive everything as soon as they can.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from emberlog.diagnostics import InternalError
from emberlog.language.aggregates import Aggregate
from emberlog.language.faults import Fault
from emberlog.language.registry import AGGREGATES
from emberlog.logical.python_evaluation import evaluate
from emberlog.provenance.facts import FactBase, View
from emberlog.provenance.model import (
    Absence,
    Combination,
    CombinedColumn,
    Condition,
    Contributed,
    Goal,
    InputFact,
    Premise,
    ProofTree,
    RuleStep,
    Step,
    WrittenFact,
    goals_of,
)
from emberlog.provenance.valuations import Bindings, Body, Valuation, is_near, pattern_values
from emberlog.semantics.dependencies import rules_by_relation
from emberlog.semantics.model import Absent, CellValue, Contribution, CoreRule, Fact, Match
from emberlog.syntax.ast import Constant, Variable

MOST_COUNTED = 10_000
"""Contributions that are counted, though not listed."""


@dataclass(frozen=True, slots=True)
class Offer:
    """Holds a contribution before anybody asked what it rests on."""

    arguments: tuple[CellValue, ...]
    by: WrittenFact | tuple[CoreRule, Valuation]


class Prover:
    """Finds steps. `contributions` are listed for an aggregate that all of them decide."""

    def __init__(self, base: FactBase, *, contributions: int) -> None:
        self.base = base
        self.checked = base.checked
        self.most = contributions
        self._found: dict[Goal, Step] = {}
        self._functions = base.checked.functions
        self._rules: Mapping[str, tuple[CoreRule, ...]] = rules_by_relation(base.checked.rules)

    def proof(self, root: Goal, *, depth: int | None, facts: int) -> ProofTree:
        """Returns the smallest proof, down to `depth`, and with at most about `facts` facts."""
        return self.completed(root, {}, depth=depth, facts=facts)

    def completed(self, root: Goal, chosen: Mapping[Goal, Step], *, depth: int | None, facts: int) -> ProofTree:
        """Returns the proof that takes these steps, and the smallest ones everywhere else."""
        steps: dict[Goal, Step] = {}
        level, height = [root], 0
        while level and (depth is None or height < depth):
            below: dict[Goal, None] = {}
            for goal in level:
                if len(steps) >= facts:
                    return ProofTree(root, steps)
                steps[goal] = chosen.get(goal) or self.step(goal)
                below.update(dict.fromkeys(goals_of(steps[goal])))
            level = [goal for goal in below if goal not in steps]
            height += 1
        return ProofTree(root, steps)

    def step(self, goal: Goal) -> Step:
        """Returns a step whose facts all came in iterations before that of the goal."""
        if goal not in self._found:
            found = next(self.steps(goal, self.base.before(goal)), None)
            if found is None:
                raise InternalError(f"DL901: no rule derives the fact {goal.fact} of {goal.relation}")
            self._found[goal] = found
        return self._found[goal]

    def steps(self, goal: Goal, view: View) -> Iterator[Step]:
        """Yields the steps that the facts of a view allow: one for an aggregate, any number for a plain fact."""
        relation = self.checked.relations[goal.relation]
        if not relation.is_derived:
            yield InputFact()
        elif relation.is_aggregated:
            yield self._combination(goal, view)
        else:
            if goal.fact in self.checked.facts.get(goal.relation, ()):
                yield WrittenFact(goal.fact)
            for rule in self._rules.get(goal.relation, ()):
                for valuation in self.derivations(rule, goal.fact, view):
                    yield InputFact() if self.checked.copies_data(rule) else self.applied(rule, valuation, view)

    def other_steps(self, goal: Goal) -> Iterator[Step]:
        """Yields steps from facts of any iteration, the smallest among them: any rule that gives a plain fact, and any
        contribution that decides an aggregate as well as others do."""
        relation = self.checked.relations[goal.relation]
        view = self.base.ever(goal)
        aggregated = [index for index, column in enumerate(relation.columns) if column.aggregate is not None]
        if not relation.is_derived or not aggregated:
            yield from self.steps(goal, view)
            return
        step = self.step(goal)
        yield step
        if isinstance(step, Combination) and len(aggregated) == 1 and step.columns[0].is_winner:
            (column,) = step.columns
            for offer in self.offers(goal, view, column.column):
                if offer.arguments == column.contributions[0].arguments:
                    yield Combination((replace(column, contributions=(self._listed(offer, view),)),))

    # --- plain facts ------------------------------------------------------------------------------------------------

    def derivations(self, rule: CoreRule, fact: Fact, view: View) -> Iterator[Valuation]:
        """Yields the valuations for which the rule gives the fact, aggregated columns aside."""
        known = known_from_head(rule, fact)
        if known is None:
            return
        for valuation in Body(rule, view, self._functions).valuations(known):
            if self._gives(rule, valuation.bindings, fact):
                yield valuation

    def _gives(self, rule: CoreRule, bindings: Bindings, fact: Fact) -> bool:
        for value, wanted in zip(rule.head, fact, strict=True):
            if isinstance(value, Contribution):
                continue
            try:
                if not is_near(evaluate(value, bindings, self._functions), wanted):
                    return False
            except Fault:
                return False
        return True

    def applied(self, rule: CoreRule, valuation: Valuation, view: View) -> RuleStep:
        premises: list[Premise] = []
        for place, literal in enumerate(rule.body):
            match literal:
                case Match(relation):
                    premises.append(self.base.premise(view, relation, valuation.facts[place]))
                case Absent(relation, terms):
                    premises.append(Absence(literal, relation, pattern_values(terms, valuation.bindings)))
                case _:
                    premises.append(Condition(literal))
        return RuleStep(rule.name, tuple(valuation.bindings.items()), tuple(premises))

    # --- aggregates -------------------------------------------------------------------------------------------------

    def _combination(self, goal: Goal, view: View) -> Combination:
        columns = self.checked.relations[goal.relation].columns
        return Combination(
            tuple(
                self._column(goal, view, index, column.aggregate)
                for index, column in enumerate(columns)
                if column.aggregate is not None
            )
        )

    def _column(self, goal: Goal, view: View, column: int, function: str) -> CombinedColumn:
        value = goal.fact[column]
        if value is not None:
            known = AGGREGATES.get(function)
            if known is not None and _is_decided_by_one(known, value):
                candidates = self.offers(goal, view, column, value)
                winner = next(one for one in candidates if is_near(one.arguments[0], value))
                return CombinedColumn(column, function, True, (self._listed(winner, view),))
            if known is not None and known.by_cost:
                choose = min if known.direction < 0 else max
                complete = (one for one in self.offers(goal, view, column) if None not in one.arguments)
                winner = choose((one for one in complete if is_near(one.arguments[1], value)), key=_cost)
                return CombinedColumn(column, function, True, (self._listed(winner, view),))
        offers = _counting(function, self.offers(goal, view, column))
        listed = tuple(self._listed(one, view) for one in islice(offers, self.most))
        others = sum(1 for _ in islice(offers, MOST_COUNTED + 1))
        return CombinedColumn(column, function, False, listed, None if others > MOST_COUNTED else others)

    def _listed(self, offer: Offer, view: View) -> Contributed:
        if isinstance(offer.by, WrittenFact):
            return Contributed(offer.arguments, offer.by)
        return Contributed(offer.arguments, self.applied(*offer.by, view))

    def offers(self, goal: Goal, view: View, column: int, value: CellValue = None) -> Iterator[Offer]:
        """Yields what is contributed to a column of the goal's group; if a value is given, at least what has it."""
        relation = self.checked.relations[goal.relation]
        for fact in self.checked.facts.get(goal.relation, ()):
            if all(fact[place] == goal.fact[place] for place in relation.group):
                yield Offer((fact[column],), WrittenFact(fact))
        for rule in self._rules.get(goal.relation, ()):
            contribution = rule.head[column]
            assert isinstance(contribution, Contribution)
            known = known_from_head(rule, goal.fact)
            match contribution.arguments:
                case (Variable(name),) if value is not None and known is not None:
                    known = {**known, name: value} if known.get(name, value) == value else None
            if known is None:
                continue
            for valuation in Body(rule, view, self._functions).valuations(known):
                if self._gives(rule, valuation.bindings, goal.fact):
                    arguments = tuple(
                        evaluate(argument, valuation.bindings, self._functions) for argument in contribution.arguments
                    )
                    yield Offer(arguments, (rule, valuation))


def _is_decided_by_one(aggregate: Aggregate, value: CellValue) -> bool:
    """Tells whether the value is that of one contribution, which decides alone."""
    if aggregate.is_of_truth:
        return value is (aggregate.direction > 0)
    return aggregate.is_meet and not aggregate.by_cost


def _counting(function: str, offers: Iterator[Offer]) -> Iterator[Offer]:
    """Selects those that have a part in the value: the largest of each key of a monotone sum, and each value once for
    `countd`."""
    known = AGGREGATES.get(function)
    if known is not None and known.by_key:
        largest: dict[CellValue, Offer] = {}
        for one in offers:
            if None not in one.arguments:
                key = one.arguments[0]
                if key not in largest or _amount(one) > _amount(largest[key]):
                    largest[key] = one
        yield from largest.values()
        return
    seen: set[tuple[CellValue, ...]] = set()
    for one in offers:
        if known is not None and known.takes_repeats:
            if one.arguments in seen:
                continue
            seen.add(one.arguments)
        yield one


def known_from_head(rule: CoreRule, fact: Fact) -> dict[str, CellValue] | None:
    """Returns the variables that the fact gives values to; None if the head cannot be the fact.

    A null says nothing: it is any value in a pattern, and a variable that is null agrees with nothing in a body.
    """
    known: dict[str, CellValue] = {}
    for value, wanted in zip(rule.head, fact, strict=True):
        match value:
            case Variable(name) if wanted is not None:
                if known.setdefault(name, wanted) != wanted:
                    return None
            case Constant(own) if wanted is not None and own != wanted:
                return None
    return known


def _amount(offer: Offer) -> int | float:
    """Returns how much a contribution counts: `mcount` of a key alone counts it as one."""
    amount = offer.arguments[1] if len(offer.arguments) > 1 else 1
    assert isinstance(amount, int | float)
    return amount


def _cost(offer: Offer) -> Any:
    """Returns the cost of a contribution. Costs of one column have an order, whatever they are."""
    return offer.arguments[0]
