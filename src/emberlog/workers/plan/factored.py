"""Recursions that factor: a relation whose columns fall into two sides that no rule brings together.

In `tc(X, Y) :- tc(X, Z), arc(Z, Y)` the left side is handed through and the right side takes a step along `arc`; in
`sg(X, Y) :- arc(A, X), sg(A, B), arc(B, Y)` each side takes one. What a rule does to a side depends on that side and
on relations that do not change, so it is a relation of its own: the side before, the side after. All that such
a recursion can ever derive are pairs of values from two finite domains, and sets of pairs have better
representations than rows in a hash table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from emberlog.logical.expressions import columns_of
from emberlog.semantics.model import Compare, RecursionCase
from emberlog.semantics.totality import can_fail, condition_can_fail
from emberlog.syntax.ast import ComparisonOperator, Variable
from emberlog.workers.plan.compile import CyclicProgram
from emberlog.workers.plan.placement import Placement
from emberlog.workers.plan.rules import (
    Assign,
    Atom,
    Keep,
    Probe,
    Refute,
    RelationLayout,
    RuleChain,
    Send,
    Start,
    Step,
    variables_of,
)


@dataclass(frozen=True, slots=True)
class FactoredRule:
    """What a rule does to each side: a chain over relations that do not change, whose head is the side before and the
    side after. None is a side that is handed through."""

    name: str
    left: RuleChain | None
    right: RuleChain | None


@dataclass(frozen=True, slots=True)
class Factored:
    """A recursion whose rules factor."""

    relation: RelationLayout
    left: tuple[int, ...]
    """The lanes of the left side. If any lanes are handed through by every rule, these are they."""
    right: tuple[int, ...]
    rules: tuple[FactoredRule, ...]

    @property
    def is_one_sided(self) -> bool:
        """Tells whether every rule hands the left side through: what belongs to a left value is a closure by itself."""
        return all(rule.left is None for rule in self.rules)

    @property
    def relations_of_steps(self) -> frozenset[str]:
        """Returns what the steps are made from. Every worker needs all steps, and so all of these."""
        chains = (chain for rule in self.rules for chain in (rule.left, rule.right) if chain is not None)
        return frozenset(name for chain in chains for step in chain.steps for name in _relations_of(step))


class DoesNotFactor(Exception):
    """The text says why."""


def factored_for(program: CyclicProgram, placement: Placement, workers: int) -> Factored | None:
    """Returns the factors of a recursion, if so many workers can use them."""
    try:
        factored = factor(program)
    except DoesNotFactor:
        return None
    spread = placement.statics
    is_whole = workers == 1 or all(spread[name] is None for name in factored.relations_of_steps)
    return factored if is_whole else None


def factor(program: CyclicProgram) -> Factored:
    """Returns the two sides of a recursion; raises DoesNotFactor."""
    if program.recursion.case is not RecursionCase.SET or len(program.relations) != 1:
        raise DoesNotFactor("it is not one relation without aggregates")
    if program.nullable:
        raise DoesNotFactor("values may be null")
    (relation,) = program.relations
    bodies = [_Body(chain, relation) for chain in program.rules]
    blocks = _Groups(range(relation.width))
    for body in bodies:
        body.join_lanes(blocks)
    moved = {
        blocks.root(lane) for lane in range(relation.width) if not all(body.hands_through(lane) for body in bodies)
    }
    handed_through = [lane for lane in range(relation.width) if blocks.root(lane) not in moved]
    others = [lane for lane in range(relation.width) if lane not in handed_through]
    if not others:
        raise DoesNotFactor("its rules derive nothing new")
    if not handed_through:
        first = blocks.root(others[0])
        handed_through = [lane for lane in others if blocks.root(lane) == first]
        others = [lane for lane in others if lane not in handed_through]
        if not others:
            raise DoesNotFactor("a rule brings all its columns together")
    left, right = tuple(handed_through), tuple(others)
    rules = tuple(FactoredRule(body.chain.name, body.side(left), body.side(right)) for body in bodies)
    return Factored(relation, left, right, tuple(rule for rule in rules if rule.left or rule.right))


def relations_needed_whole(program: CyclicProgram) -> frozenset[str]:
    """Returns the relations that every worker needs all of, so that the recursion can be run by its factors; none if it
    has no factors."""
    try:
        return factor(program).relations_of_steps
    except DoesNotFactor:
        return frozenset()


class _Groups:
    """Things that hang together."""

    def __init__(self, members: Iterable[int | str] = ()) -> None:
        self.parents: dict[int | str, int | str] = {member: member for member in members}

    def root(self, member: int | str) -> int | str:
        self.parents.setdefault(member, member)
        while self.parents[member] != member:
            member = self.parents[member]
        return member

    def join(self, members: Iterable[int | str]) -> None:
        first: int | str | None = None
        for member in members:
            root = self.root(member)
            if first is None:
                first = root
            self.parents[root] = self.root(first)


class _Body:
    """A recursive rule, taken apart by what its variables hang together with."""

    def __init__(self, chain: RuleChain, relation: RelationLayout) -> None:
        self.chain = chain
        first, *self.steps = chain.steps
        assert isinstance(first, Start)
        self.delta = [first.atom.variables[column] for column in _columns_by_lane(relation)]
        self.groups = _Groups(self.delta)
        for step in self.steps:
            if isinstance(step, Send) or (isinstance(step, Probe) and step.atom.relation == relation.name):
                raise DoesNotFactor("a rule reads the recursion twice")
            if _can_fail(step, chain):
                raise DoesNotFactor("a rule computes what can fail, and may compute it only for its own facts")
            if not variables_of(step):
                raise DoesNotFactor("a part of a rule hangs together with no column of the recursion")
            self.groups.join(variables_of(step))
        if any(can_fail(value, chain.types) for value in chain.head):
            raise DoesNotFactor("a rule computes what can fail, and may compute it only for its own facts")
        bound = {self.groups.root(variable) for variable in self.delta}
        for variables in (*map(variables_of, self.steps), *(columns_of(value) for value in chain.head)):
            if any(self.groups.root(variable) not in bound for variable in variables):
                raise DoesNotFactor("a part of a rule hangs together with no column of the recursion")

    def join_lanes(self, blocks: _Groups) -> None:
        """Lanes of one side: those whose variables hang together, and those that a value of the head comes from."""
        for lane, value in enumerate(self.chain.head):
            roots = {self.groups.root(variable) for variable in (*columns_of(value), self.delta[lane])}
            blocks.join([lane, *(other for other, name in enumerate(self.delta) if self.groups.root(name) in roots)])

    def hands_through(self, lane: int) -> bool:
        variable = self.delta[lane]
        return (
            self.chain.head[lane] == Variable(variable)
            and self.delta.count(variable) == 1
            and not any(variable in variables_of(step) for step in self.steps)
        )

    def side(self, lanes: tuple[int, ...]) -> RuleChain | None:
        """Returns the chain of a side; None if it is handed through."""
        if all(self.hands_through(lane) for lane in lanes):
            return None
        before = [self.delta[lane] for lane in lanes]
        roots = {self.groups.root(variable) for variable in before}
        own = [step for step in self.steps if any(self.groups.root(name) in roots for name in variables_of(step))]
        steps = tuple(_from_the_start(own))
        bound = {name for step in steps if isinstance(step, Start | Probe) for name in step.atom.variables}
        if not bound.issuperset(before):
            raise DoesNotFactor("a column of the recursion is in no relation that does not change")
        head = (*map(Variable, before), *(self.chain.head[lane] for lane in lanes))
        return RuleChain(self.chain.name, self.chain.relation, steps, head, self.chain.types)


def _columns_by_lane(relation: RelationLayout) -> list[int]:
    return sorted(range(len(relation.columns)), key=lambda column: relation.columns[column].lane)


def _relations_of(step: Step) -> tuple[str, ...]:
    match step:
        case Start(atom) | Probe(atom):
            return (atom.relation,)
        case Refute(relation):
            return (relation,)
        case _:
            return ()


def _can_fail(step: Step, chain: RuleChain) -> bool:
    match step:
        case Assign(_, expression):
            return can_fail(expression, chain.types)
        case Keep(condition):
            return condition_can_fail(condition, chain.types)
        case _:
            return False


def _from_the_start(steps: list[Step]) -> Iterator[Step]:
    """Yields the steps in an order that begins with an atom and not with the delta."""
    atoms = [step.atom for step in steps if isinstance(step, Probe)]
    waiting = [step for step in steps if not isinstance(step, Probe)]
    bound: set[str] = set()
    while atoms:
        atom = max(atoms, key=lambda one: sum(name in bound for name in one.variables))
        atoms.remove(atom)
        yield _entered(atom, bound)
        bound.update(atom.variables)
        while (ready := next((step for step in waiting if _reads(step) <= bound), None)) is not None:
            waiting.remove(ready)
            yield _after_atoms(ready, bound)
    if waiting:
        raise DoesNotFactor("a column of the recursion is in no relation that does not change")


def _entered(atom: Atom, bound: set[str]) -> Step:
    if not bound:
        return Start(atom)
    keys = tuple(index for index, name in enumerate(atom.variables) if name in bound)
    if not keys:
        raise DoesNotFactor("a side of a rule has two atoms that share no variable")
    return Probe(atom, keys)


def _reads(step: Step) -> frozenset[str]:
    match step:
        case Assign(_, expression):
            return columns_of(expression)
        case _:
            return variables_of(step)


def _after_atoms(step: Step, bound: set[str]) -> Step:
    """Compares a value that an atom has brought already, instead of assigning it."""
    match step:
        case Assign(variable, expression) if variable in bound:
            return Keep(Compare(ComparisonOperator.EQUAL, Variable(variable), expression))
        case Assign(variable):
            bound.add(variable)
            return step
        case _:
            return step
