"""The order of a rule's steps: it begins with the atom that changed and goes on with whatever is bound already.

So a small delta costs little. Conditions and negated atoms come as soon as they can, and what can fail when all else
has had its say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass

from emberlog.datatypes import INT, INT_MAX, INT_MIN, UNKNOWN, DataType
from emberlog.logical.expressions import columns_of, condition_columns
from emberlog.logical.nodes import Condition, Field, Filter, Plan, Scan, Version
from emberlog.logical.statistics import Statistics
from emberlog.optimize.cardinality import Estimate, NotKnown, estimate
from emberlog.optimize.join_order import best_order
from emberlog.semantics.model import Compare
from emberlog.semantics.totality import TRY, can_fail, condition_can_fail, type_of
from emberlog.syntax.ast import Binary, BinaryOperator, Call, ComparisonOperator, Constant, Expression, Variable
from emberlog.workers.plan.conjunctions import Conjunction, ScannedAtom
from emberlog.workers.plan.rules import Assign, Atom, Keep, Probe, Refute, Start, Step


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
        """Returns all atoms in the order whose intermediate results are smallest; None where that cannot be told, or
        where valuations move between workers on the way: then it counts more that they can be joined where they are."""
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
        """Tells whether some variable of an atom can get its value from an expression, which no estimate knows of."""
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
        """Yields everything that the bound variables allow. What can fail waits until all else has had its say, so that
        it is not tried for valuations that the rule does not have."""
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
        """Returns a step that can fail but most often does not, so that it comes before a join that repeats it."""
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
        """Yields the variables that can get their value from the condition."""
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


def estimate_of(atom: Atom, statistics: Statistics) -> Estimate:
    """Raises NotKnown. A variable that is repeated keeps few rows."""
    names: list[str] = []
    repeated = []
    for column, name in enumerate(atom.variables):
        if name in names:
            names.append(f"{name} in column {column + 1}")
            repeated.append(Compare(ComparisonOperator.EQUAL, Variable(name), Variable(names[-1])))
        else:
            names.append(name)
    plan: Plan = Scan(atom.relation, tuple(Field(name, UNKNOWN) for name in names), atom.version)
    return estimate(Filter(plan, tuple(repeated)) if repeated else plan, statistics)


# Solves an equation for the variable that an atom still has to bind, so that the atom can be looked up by it.
#
# A chain may begin with any atom of the recursion. In `p(X), Y = X - 1, q(Y)` one that begins with q knows Y, and
# finds X as Y + 1 instead of trying every fact of p. That is the same: an X whose difference is Y is Y + 1 exactly,
# and where Y + 1 is no int there is no such X.


def solved(condition: Condition, bound: Set[str], types: Mapping[str, DataType]) -> tuple[str, tuple[Step, ...]] | None:
    """Returns the one unknown of an equation, and the steps that bind it: conditions without which it has no value, and
    its value."""
    if not isinstance(condition, Compare) or condition.operator is not ComparisonOperator.EQUAL:
        return None
    for known, other in ((condition.left, condition.right), (condition.right, condition.left)):
        unknown = next(iter(columns_of(other)), "")
        if not isinstance(known, Variable) or known.name not in bound or unknown in bound:
            continue
        if types[known.name] == types.get(unknown) == INT and (steps := _steps(other, known)) is not None:
            return unknown, steps
    return None


def _steps(other: Expression, known: Expression) -> tuple[Step, ...] | None:
    """Returns the steps that make the variable of the expression such that the expression is what is known."""
    match other:
        case Variable(name):
            return (Assign(name, known),)
        case Call(function, (inner,)) if function == TRY:
            return _steps(inner, known)  # where it has no value, nothing is equal to it
        case Binary(BinaryOperator.ADD, inner, Constant(value)) | Binary(BinaryOperator.ADD, Constant(value), inner):
            operator = BinaryOperator.SUBTRACT
        case Binary(BinaryOperator.SUBTRACT, inner, Constant(value)):
            operator = BinaryOperator.ADD
        case _:
            return None
    if type(value) is not int:
        return None
    has_value = _has_value(known, value if operator is BinaryOperator.ADD else -value)
    steps = _steps(inner, Binary(operator, known, Constant(value)))
    return None if steps is None else (Keep(has_value), *steps)


def _has_value(known: Expression, added: int) -> Compare:
    """Tells whether the sum of both is an int."""
    if added > 0:
        return Compare(ComparisonOperator.LESS_OR_EQUAL, known, Constant(INT_MAX - added))
    return Compare(ComparisonOperator.GREATER_OR_EQUAL, known, Constant(INT_MIN - added))
