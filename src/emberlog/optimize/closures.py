"""Recognises closures: relations that are the chains made of steps, however their rules put chains together.

Let E be what the exit rules give. With `p(X, Y) :- p(X, Z), p(Z, Y)`, or `p(X, Z), E(Z, Y)`, or `E(X, Z), p(Z, Y)`, or
several of these, p is E⁺: every fact is a chain of steps of E, and each form derives every chain. Columns may
be carried along (`p(C, X, Y) :- p(C, X, Z), p(C, Z, Y)`), and one column may combine values along the chain with an
operation for which it does not matter where a chain is cut: `+` of ints, `least`, `greatest`. Sums of floats
depend on it in their last digits, so they are no such thing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

from emberlog.datatypes import INT
from emberlog.logical.expressions import substitute
from emberlog.optimize.rule_substitution import literal_with, variable_names
from emberlog.semantics.model import (
    Bind,
    CheckedProgram,
    Contribution,
    CoreRule,
    Literal,
    Match,
    RecursionCase,
    Relation,
    Stratum,
)
from emberlog.syntax.ast import Binary, BinaryOperator, Call, Expression, Variable, variables_of

Names = tuple[str, ...]
"""A variable for each column of a relation."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The columns of a closure. A target is linked with the source at the same place of these tuples."""

    sources: tuple[int, ...]
    targets: tuple[int, ...]
    carried: tuple[int, ...]
    value: int | None


@dataclass(frozen=True, slots=True)
class PlainRule:
    """A rule with what its body computes put into its head."""

    head: tuple[Expression, ...]
    """In an aggregated column, what it contributes."""
    body: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class Chain:
    """One recursive rule: chains of its first part and chains of its second part, put together."""

    rule: CoreRule
    first: Names
    """Where its targets are, the links to the second part."""
    second: Names
    """Where its sources are, the links to the first part."""
    is_own: tuple[bool, bool]
    """Which of the two parts are the relation itself; the other one is a step."""
    operation: str | None
    """`+`, `least` or `greatest`, if there is a value."""
    exit: int | None
    """Which exit the step is."""


@dataclass(frozen=True, slots=True)
class Closure:
    relation: Relation
    shape: Shape
    exits: tuple[CoreRule, ...]
    chains: tuple[Chain, ...]

    @property
    def is_linear(self) -> bool:
        return not any(chain.is_own == (True, True) for chain in self.chains)

    @property
    def operation(self) -> str | None:
        return self.chains[0].operation


def closure_of(checked: CheckedProgram, stratum: Stratum) -> Closure | None:
    """Returns the closure that the stratum computes, if it is one."""
    recursion = stratum.recursion
    if recursion is None or recursion.case not in (RecursionCase.SET, RecursionCase.MEET) or recursion.is_mutual:
        return None
    if any(rule.premappable for rule in stratum.rules):
        return None
    relation = checked.relations[stratum.relations[0]]
    recursive = [rule for rule in stratum.rules if _own_atoms(rule.body, relation)]
    exits = tuple(rule for rule in stratum.rules if not _own_atoms(rule.body, relation))
    for shape in _shapes(relation, recursive[0]):
        chains = tuple(
            chain for rule in recursive if (chain := _Reader(relation, shape, exits, rule).chain()) is not None
        )
        if len(chains) == len(recursive) and len({chain.operation for chain in chains}) == 1:
            closure = Closure(relation, shape, exits, chains)
            if _is_complete(closure, has_facts=bool(checked.facts.get(relation.name))):
                return closure
    return None


def plain(rule: CoreRule) -> PlainRule | None:
    """None if the body goes on to use what it computes."""
    computed: dict[str, Expression] = {}
    body = []
    for literal in rule.body:
        if isinstance(literal, Bind):
            computed[literal.variable.name] = substitute(literal.expression, computed)
        else:
            body.append(literal)
    if any(computed.keys() & set(variable_names(literal)) for literal in body):
        return None
    values = (value.arguments[-1] if isinstance(value, Contribution) else value for value in rule.head)
    return PlainRule(tuple(substitute(value, computed) for value in values), tuple(body))


def _is_complete(closure: Closure, *, has_facts: bool) -> bool:
    """Tells whether the rules derive every chain: by putting chains together, or by extending them with each of the
    exits."""
    if not closure.is_linear:
        return True
    if has_facts:
        return False  # what the program writes down is an exit that no rule extends with
    return any(
        {chain.exit for chain in closure.chains if chain.is_own == form} == set(range(len(closure.exits)))
        for form in ((True, False), (False, True))
    )


def _own_atoms(body: Sequence[Literal], relation: Relation) -> list[Match]:
    return [literal for literal in body if isinstance(literal, Match) and literal.relation == relation.name]


def _shapes(relation: Relation, rule: CoreRule) -> Iterator[Shape]:
    """Yields the shapes that the rule could have, read from its first atom of the relation."""
    aggregated = [i for i, column in enumerate(relation.columns) if column.aggregate is not None]
    if len(aggregated) > 1 or any(relation.columns[i].aggregate not in ("min", "max") for i in aggregated):
        return
    value = aggregated[0] if aggregated else None
    keys = [i for i in range(relation.arity) if i != value]
    for atom in _own_atoms(rule.body, relation):
        kept = [i for i in keys if rule.head[i] == atom.terms[i]]
        targets = tuple(i for i in keys if i not in kept)
        if targets:
            for sources in permutations(kept, len(targets)):
                yield Shape(sources, targets, tuple(i for i in kept if i not in sources), value)


class _Reader:
    """Reads one recursive rule as a chain of a given shape."""

    def __init__(self, relation: Relation, shape: Shape, exits: tuple[CoreRule, ...], rule: CoreRule) -> None:
        self.relation = relation
        self.shape = shape
        self.exits = [plain(exit) for exit in exits]
        self.rule = rule
        self.plain = plain(rule)

    def chain(self) -> Chain | None:
        if self.plain is None:
            return None
        own = [_names(atom) for atom in _own_atoms(self.plain.body, self.relation)]
        rest = [literal for literal in self.plain.body if literal not in _own_atoms(self.plain.body, self.relation)]
        head = self._head_names()
        parts = [names for names in own if names is not None]
        if head is None or len(parts) != len(own):
            return None
        if len(parts) == 2 and not rest:
            return self._of_two(head, parts[0], parts[1]) or self._of_two(head, parts[1], parts[0])
        if len(parts) == 1 and rest:
            return self._of_one(head, parts[0], rest)
        return None

    def _head_names(self) -> Names | None:
        """Returns a variable for every column, the same one where a value is computed."""
        assert self.plain is not None
        names = []
        for column, expression in enumerate(self.plain.head):
            if column == self.shape.value:
                names.append("")
            elif isinstance(expression, Variable):
                names.append(expression.name)
            else:
                return None
        return tuple(names)

    def _of_two(self, head: Names, first: Names, second: Names) -> Chain | None:
        if not self._fit(head, first, second):
            return None
        value = self.shape.value
        if value is None:
            return Chain(self.rule, first, second, (True, True), None, None)
        operation, operands = self._operation()
        parts = (Variable(first[value]), Variable(second[value]))
        if operation is None or operands not in (parts, parts[::-1]):
            return None
        return Chain(self.rule, first, second, (True, True), operation, None)

    def _of_one(self, head: Names, own: Names, step: list[Literal]) -> Chain | None:
        """Returns the part that is a step gets the variables that it must have; then it has to be one of the exits."""
        shape = self.shape
        first, second = list(own), list(own)
        for source, target in zip(shape.sources, shape.targets, strict=True):
            second[source], second[target] = own[target], head[target]
            first[source], first[target] = head[source], own[source]
        for parts, is_own, part in (((own, tuple(second)), (True, False), 1), ((tuple(first), own), (False, True), 0)):
            if not self._fit(head, *parts):
                continue
            operation, value = None, None
            if shape.value is not None:
                operation, operands = self._operation()
                before = Variable(own[shape.value])
                if operation is None or operands.count(before) != 1:
                    continue
                value = operands[1 - operands.index(before)]
            found = self._exit(step, value, parts[part], {*own, *head})
            if found is not None:
                return Chain(self.rule, *parts, is_own, operation, found)
        return None

    def _fit(self, head: Names, first: Names, second: Names) -> bool:
        """Tells whether the parts hang together as the shape says, and in no other way."""
        shape = self.shape
        links = [first[target] for target in shape.targets]
        expected = (
            [head[i] == first[i] == second[i] for i in shape.carried]
            + [head[i] == first[i] for i in shape.sources]
            + [head[i] == second[i] for i in shape.targets]
            + [link == second[source] for link, source in zip(links, shape.sources, strict=True)]
        )
        keys = [name for i, name in enumerate(head) if i != shape.value]
        return all(expected) and len({*keys, *links}) == len(keys) + len(links)

    def _operation(self) -> tuple[str | None, tuple[Expression, ...]]:
        """How the head computes its value, and what of."""
        assert self.plain is not None and self.shape.value is not None
        match self.plain.head[self.shape.value]:
            case Binary(BinaryOperator.ADD, left, right) if self.relation.columns[self.shape.value].type == INT:
                return "+", (left, right)
            case Call("least" | "greatest" as name, (left, right)):
                return name, (left, right)
            case _:
                return None, ()

    def _exit(self, step: list[Literal], value: Expression | None, part: Names, kept: set[str]) -> int | None:
        """Returns the exit that gives the same as the step, if its head had the variables of the part."""
        wanted = _canonical(step, value, {name: name for name in kept})
        for number, exit in enumerate(self.exits):
            if exit is None:
                continue
            keys = {
                expression.name: part[column]
                for column, expression in enumerate(exit.head)
                if column != self.shape.value and isinstance(expression, Variable)
            }
            if len(keys) != len(exit.head) - (self.shape.value is not None):
                continue
            own_value = None if self.shape.value is None else exit.head[self.shape.value]
            if _canonical(exit.body, own_value, keys) == wanted:
                return number
        return None


def _names(atom: Match) -> Names | None:
    """Returns the variables of an atom that has nothing else, none of them twice."""
    names = tuple(term.name for term in atom.terms if isinstance(term, Variable))
    return names if len(set(names)) == len(atom.terms) else None


def _canonical(
    body: Sequence[Literal], value: Expression | None, keys: dict[str, str]
) -> tuple[tuple[Literal, ...], Expression | None]:
    """With given names for some variables, and numbers for the others in the order in which they occur."""
    names = {old: Variable(new) for old, new in keys.items()}
    occurring = [name for literal in body for name in variable_names(literal)]
    if value is not None:
        occurring += [variable.name for variable in variables_of(value)]
    others = dict.fromkeys(name for name in occurring if name not in names)
    names |= {name: Variable(f"?{number}") for number, name in enumerate(others)}
    return tuple(literal_with(literal, names) for literal in body), value and substitute(value, names)
