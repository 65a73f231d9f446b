"""The predicate connection graph: an AND/OR tree of goals and rules, with binding adornments.

A goal (OR node) is a predicate of the query or of a body: any one of its rules can give a fact. A rule
(AND node) is a head: all goals of its body must hold. The adornment has one letter per argument, `b` when its
value is known before the goal is asked and `f` when the goal finds it; what a literal binds, the literals behind
it in the body know (sideways information passing).
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias, assert_never

from emberlog.semantics.model import (
    Absent,
    Bind,
    CheckedProgram,
    Compare,
    Contribution,
    CoreRule,
    HeadValue,
    Holds,
    Literal,
    Match,
    Term,
)
from emberlog.syntax.ast import ComparisonOperator, Expression, Parameter, Variable, variables_of

BOUND, FREE = "b", "f"

DEEPEST = 12
"""Goals below one another; what would stand deeper is expanded beside the roots, where a person can still see it."""

_GENERATED = re.compile(r"_\d+")
"""The names of variables that stand for `_` or for an expression among the arguments of an atom."""


class GoalKind(Enum):
    """Why a goal has rules below it, or why it has none."""

    EXPANDED = "expanded"
    INPUT = "input"
    """The caller supplies the facts."""
    FACTS = "facts"
    """The program has facts for it and no rules."""
    RECURSIVE = "recursive"
    """The goal is asked for while it is being answered: an expanded goal of this relation stands above it."""
    SHARED = "shared"
    """The same relation with the same adornment is expanded elsewhere in the graph."""


GoalTerm: TypeAlias = Term | Parameter
"""A query may have a parameter without a value: it is known before, like a constant."""


@dataclass(frozen=True, slots=True)
class GoalNode:
    """An OR node."""

    relation: str
    terms: tuple[GoalTerm, ...]
    adornment: str
    kind: GoalKind
    negated: bool = False
    rules: tuple[RuleNode, ...] = ()
    fact_count: int = 0
    """How many facts of the relation the program itself states."""


BodyTest: TypeAlias = Bind | Compare | Holds
"""A part of a body that asks no relation."""


@dataclass(frozen=True, slots=True)
class RuleNode:
    """An AND node."""

    name: str
    relation: str
    head: tuple[HeadValue, ...]
    adornment: str
    is_recursive: bool
    goals: tuple[GoalNode, ...]
    tests: tuple[BodyTest, ...]


@dataclass(frozen=True, slots=True)
class ConnectionGraph:
    """One root per query; without queries one root per output, all its arguments free."""

    roots: tuple[GoalNode, ...]
    continuations: tuple[GoalNode, ...] = ()
    """Goals that stand too deep below the roots to be expanded there."""

    @property
    def trees(self) -> tuple[GoalNode, ...]:
        return self.roots + self.continuations


def build_connection_graph(checked: CheckedProgram) -> ConnectionGraph:
    return _Builder(checked).graph()


class _Builder:
    def __init__(self, checked: CheckedProgram) -> None:
        self._checked = checked
        self._rules: dict[str, list[CoreRule]] = {}
        for rule in checked.rules:
            self._rules.setdefault(rule.relation, []).append(rule)
        self._strata = {relation: stratum for stratum in checked.strata for relation in stratum.relations}
        self._expanded: set[tuple[str, str]] = set()
        self._path: list[str] = []
        self._too_deep: deque[GoalNode] = deque()

    def graph(self) -> ConnectionGraph:
        asked: list[tuple[str, tuple[GoalTerm, ...]]]
        if self._checked.queries:
            asked = [(query.relation, query.terms) for query in self._checked.queries]
        else:
            asked = [(name, self._free_terms(name)) for name in self._checked.outputs]
        roots = tuple(self._root(relation, terms) for relation, terms in asked)
        continuations = []
        while self._too_deep:
            continuations.append(self._expanded_goal(self._too_deep.popleft()))
        return ConnectionGraph(roots, tuple(continuations))

    def _free_terms(self, relation: str) -> tuple[GoalTerm, ...]:
        return tuple(Variable(column.name) for column in self._checked.relations[relation].columns)

    def _root(self, relation: str, terms: tuple[GoalTerm, ...]) -> GoalNode:
        return self._goal(relation, terms, negated=False, known=set(), wildcards=_wildcards(terms))

    def _goal(
        self,
        relation: str,
        asked: tuple[GoalTerm, ...],
        *,
        negated: bool,
        known: set[str],
        wildcards: frozenset[str],
    ) -> GoalNode:
        adornment = "".join(BOUND if _is_known(term, known) else FREE for term in asked)
        terms = tuple(
            Variable("_") if isinstance(term, Variable) and term.name in wildcards else term for term in asked
        )
        goal = GoalNode(
            relation,
            terms,
            adornment,
            self._kind(relation, adornment),
            negated,
            fact_count=len(self._checked.facts.get(relation, ())),
        )
        if goal.kind is not GoalKind.EXPANDED:
            return goal
        self._expanded.add((goal.relation, adornment))
        if len(self._path) < DEEPEST:
            return self._expanded_goal(goal)
        self._too_deep.append(replace(goal, negated=False))
        return replace(goal, kind=GoalKind.SHARED)

    def _expanded_goal(self, goal: GoalNode) -> GoalNode:
        self._path.append(goal.relation)
        rules = tuple(self._rule(rule, goal.adornment) for rule in self._rules[goal.relation])
        self._path.pop()
        return replace(goal, rules=rules)

    def _kind(self, relation: str, adornment: str) -> GoalKind:
        if relation not in self._rules:
            return GoalKind.FACTS if self._checked.relations[relation].is_derived else GoalKind.INPUT
        if relation in self._path:
            return GoalKind.RECURSIVE
        return GoalKind.SHARED if (relation, adornment) in self._expanded else GoalKind.EXPANDED

    def _rule(self, rule: CoreRule, adornment: str) -> RuleNode:
        known = {
            value.name
            for value, binding in zip(rule.head, adornment, strict=True)
            if binding == BOUND and isinstance(value, Variable)
        }
        wildcards = _wildcards(part for item in (*rule.head, *rule.body) for part in _expressions(item))
        goals: list[GoalNode] = []
        tests: list[BodyTest] = []
        for literal in rule.body:
            known |= _computed(rule, known)
            match literal:
                case Match(relation, terms):
                    goals.append(self._goal(relation, terms, negated=False, known=known, wildcards=wildcards))
                    known.update(term.name for term in terms if isinstance(term, Variable))
                case Absent(relation, terms):
                    goals.append(self._goal(relation, terms, negated=True, known=known, wildcards=wildcards))
                case Bind():
                    tests.append(literal)
                    known.add(literal.variable.name)
                case Compare() | Holds():
                    tests.append(literal)
                case _:
                    assert_never(literal)
        return RuleNode(
            rule.name, rule.relation, rule.head, adornment, self._is_recursive(rule), tuple(goals), tuple(tests)
        )

    def _is_recursive(self, rule: CoreRule) -> bool:
        stratum = self._strata[rule.relation]
        return stratum.recursion is not None and any(
            isinstance(literal, Match | Absent) and literal.relation in stratum.relations for literal in rule.body
        )


def _is_known(term: GoalTerm, known: set[str]) -> bool:
    return not isinstance(term, Variable) or term.name in known


def _wildcards(expressions: Iterable[Expression]) -> frozenset[str]:
    """Returns the generated variables that occur once, and so say no more than `_`."""
    counts = Counter(variable.name for expression in expressions for variable in variables_of(expression))
    return frozenset(name for name, count in counts.items() if count == 1 and _GENERATED.fullmatch(name))


def _expressions(part: HeadValue | Literal) -> tuple[Expression, ...]:
    match part:
        case Contribution(_, arguments):
            return arguments
        case Match(_, terms) | Absent(_, terms):
            return terms
        case Bind(variable, expression):
            return (variable, expression)
        case Compare(_, left, right):
            return (left, right)
        case Holds(test):
            return (test,)
        case _:
            return (part,)


def _computed(rule: CoreRule, known: set[str]) -> set[str]:
    """Returns the variables that equations of the body give a value to, once others are known."""
    found: set[str] = set()
    for literal in rule.body:
        if isinstance(literal, Compare) and literal.operator is ComparisonOperator.EQUAL:
            for side, other in ((literal.left, literal.right), (literal.right, literal.left)):
                if isinstance(side, Variable) and {one.name for one in variables_of(other)} <= known:
                    found.add(side.name)
    return found
