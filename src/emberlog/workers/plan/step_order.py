"""The order of a rule's steps: it begins with the atom that changed and goes on with whatever is bound already.

So a small delta costs little. Conditions and negated atoms come as soon as they can, and what can fail when all else
has had its say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from emberlog.logical.expressions import columns_of, condition_columns
from emberlog.logical.nodes import Condition, Version
from emberlog.logical.statistics import Statistics
from emberlog.optimize.cardinality import NotKnown
from emberlog.optimize.join_order import best_order
from emberlog.semantics.model import Compare
from emberlog.semantics.totality import can_fail, condition_can_fail, type_of
from emberlog.syntax.ast import ComparisonOperator, Constant, Expression, Variable
from emberlog.workers.plan.atom_estimates import estimate_of
from emberlog.workers.plan.conjunctions import Conjunction, ScannedAtom
from emberlog.workers.plan.rules import Assign, Atom, Keep, Probe, Refute, Start, Step
from emberlog.workers.plan.solving import solved


@dataclass(frozen=True, slots=True)
class Members:
    """The relations of the recursion, and what is known of those that it reads."""

    names: frozenset[str]
    unique: Mapping[str, frozenset[int]]
    statistics: Statistics


class Ordering:
    """Puts a conjunction into the order of a chain."""

    def __init__(self, conjunction: Conjunction, position: int | None, known: Members) -> None:
        members = known.names
        self.conjunction = conjunction
        self.members = members
        self.unique = known.unique
        self.statistics = known.statistics
        # Where valuations move to other workers on the way, the order of steps is the same for all of them.
        self.may_be_early = sum(atom.relation in members for atom in conjunction.atoms) <= 1
        self.atoms = [
            _versioned(atom, index, conjunction, position, members) for index, atom in enumerate(conjunction.atoms)
        ]
        self.computed = dict(conjunction.computed)
        self.conditions = list(conjunction.conditions)
        self.negated = list(conjunction.negated)
        self.bound: set[str] = set()
        self.solving: list[Step] = []
        """The rest of the steps that solve an equation."""

    def steps(self) -> Iterator[Step]:
        first = next((atom for atom in self.atoms if atom.version is Version.DELTA), None)
        if first is None and self.atoms:
            first = self.atoms[0]
        planned = self._by_statistics(first) if first is not None else None
        if first is not None:
            first = planned[0] if planned else first
            self.atoms.remove(first)
            yield Start(first)
            self.bound.update(first.variables)
        yield from self._ready()
        while self.atoms:
            if planned:
                atom = planned[-len(self.atoms)]
            else:
                atom = max(self.atoms, key=lambda one: self._preference(one, self.bound))
            self.atoms.remove(atom)
            keys = tuple(index for index, name in enumerate(atom.variables) if name in self.bound)
            yield Probe(atom, keys)
            self.bound.update(atom.variables)
            yield from self._ready()

    def _by_statistics(self, first: Atom) -> list[Atom] | None:
        """All atoms in the order whose intermediate results are smallest; None where that cannot be told, or where
        valuations move between workers on the way: then it counts more that they can be joined where they are."""
        changing = sum(atom.relation in self.members for atom in self.atoms)
        if len(self.atoms) < 3 or changing > 1 or self._binds_by_computing():
            return None
        order = self._by_bound_columns(first)
        try:
            estimates = [estimate_of(atom, self.statistics) for atom in order]
        except NotKnown:
            return None
        safe = [one for one in self.conditions if not condition_can_fail(one, self.conjunction.types)]
        best = best_order(estimates, safe, keeps_first=changing == 1)
        return [order[place] for place in best.inputs]

    def _binds_by_computing(self) -> bool:
        """Whether some variable of an atom can get its value from an expression, which no estimate knows of."""
        in_atoms = {name for atom in self.atoms for name in atom.variables}
        equations = [
            one
            for one in self.conditions
            if isinstance(one, Compare)
            and one.operator is ComparisonOperator.EQUAL
            and not isinstance(one.left, Constant)
            and not isinstance(one.right, Constant)
        ]
        computed = {name for name, value in self.computed.items() if not isinstance(value, Constant)}
        return bool(equations) or not in_atoms.isdisjoint(computed)

    def _by_bound_columns(self, first: Atom) -> list[Atom]:
        order, left = [first], [atom for atom in self.atoms if atom is not first]
        bound = set(first.variables)
        while left:
            atom = max(left, key=lambda one: self._preference(one, bound))
            left.remove(atom)
            order.append(atom)
            bound.update(atom.variables)
        return order

    def _preference(self, atom: Atom, names: set[str]) -> tuple[bool, int, bool, bool]:
        """Ranks the atoms that could be joined next: one that has a single row first, then that with most bound
        columns, then one that does not change, then one that a computation or a condition waits for. What only the
        head asks for comes last, because it repeats all that is known by then."""
        bound = {column for column, name in enumerate(atom.variables) if name in names}
        key = self.unique.get(atom.relation)
        is_awaited = not self._awaited().isdisjoint(set(atom.variables) - names)
        return key is not None and key <= bound, len(bound), atom.relation not in self.members, is_awaited

    def _awaited(self) -> set[str]:
        """Returns the variables that computations and conditions read."""
        return set().union(*map(columns_of, self.computed.values()), *map(condition_columns, self.conditions))

    def _ready(self) -> Iterator[Step]:
        """Everything that the bound variables allow. What can fail waits until all else has had its say, so that it is
        not tried for valuations that the rule does not have."""
        is_last = not self.atoms
        while (step := self._next_safe() or (self._next_risky() if is_last else self._next_early())) is not None:
            yield step

    def _next_safe(self) -> Step | None:
        if self.solving:
            return self.solving.pop(0)
        types = self.conjunction.types
        for condition in self.conditions:
            if not condition_can_fail(condition, types) and (step := self._condition(condition)) is not None:
                self.conditions.remove(condition)
                return step
        for condition in self.conditions:
            # A valuation that has no solution would not meet what can fail.
            if not condition_can_fail(condition, types) and (found := solved(condition, self.bound, types)) is not None:
                unknown, (first, *self.solving) = found
                self.conditions.remove(condition)
                self.bound.add(unknown)
                return first
        for negated in self.negated:
            if set(negated.variables).union(*map(condition_columns, negated.guards)) <= self.bound:
                self.negated.remove(negated)
                keys, variables = tuple(negated.keys), tuple(negated.variables)
                return Refute(negated.relation, keys, variables, tuple(negated.guards))
        for name, expression in self.computed.items():
            if not can_fail(expression, types) and columns_of(expression) <= self.bound:
                return self._assigned(name)
        return None

    def _next_risky(self) -> Step | None:
        # A condition may be what keeps a value from being computed that there is none of.
        for condition in self.conditions:
            if (step := self._condition(condition)) is not None:
                self.conditions.remove(condition)
                return step
        for name, expression in self.computed.items():
            if columns_of(expression) <= self.bound:
                return self._assigned(name)
        return None

    def _next_early(self) -> Step | None:
        """What can fail but most often does not is computed before a join repeats it."""
        for name, expression in self.computed.items():
            if self.may_be_early and name not in self.bound and columns_of(expression) <= self.bound:
                del self.computed[name]
                self.bound.add(name)
                return Assign(name, expression, is_early=True)
        return None

    def _assigned(self, name: str) -> Step:
        expression = self.computed.pop(name)
        if name in self.bound:  # an atom has it, too
            return Keep(Compare(ComparisonOperator.EQUAL, Variable(name), expression))
        self.bound.add(name)
        return Assign(name, expression)

    def _condition(self, condition: Condition) -> Step | None:
        if condition_columns(condition) <= self.bound:
            return Keep(condition)
        for target, value in self._equations(condition):
            self.bound.add(target)
            return Assign(target, value)
        return None

    def _equations(self, condition: Condition) -> Iterator[tuple[str, Expression]]:
        """The variables that can get their value from the condition."""
        if isinstance(condition, Compare) and condition.operator is ComparisonOperator.EQUAL:
            for target, value in ((condition.left, condition.right), (condition.right, condition.left)):
                if (
                    isinstance(target, Variable)
                    and target.name not in self.bound
                    and not isinstance(value, Constant)
                    and columns_of(value) <= self.bound
                    and type_of(value, self.conjunction.types) == self.conjunction.types[target.name]
                ):
                    yield target.name, value


def _versioned(
    atom: ScannedAtom, index: int, conjunction: Conjunction, position: int | None, members: frozenset[str]
) -> Atom:
    """Atoms of the stratum before the one that drives the chain read what was known before the delta."""
    variables = tuple(atom.variables)
    if atom.relation not in members or position is None:
        return Atom(atom.relation, variables, asks=atom.asks)
    order = sum(other.relation in members for other in conjunction.atoms[:index])
    version = Version.DELTA if order == position else Version.BEFORE if order < position else Version.FULL
    return Atom(atom.relation, variables, version, atom.asks)
