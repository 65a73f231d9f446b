"""Explicit local stratification: a stage argument that grows round every cycle of a recursion.

`PageRank(X, I + 1, sum<P / D>) :- …, PageRank(Y, I, P), I < 20`: the facts of a stage depend only on facts of
lower stages, or of the same stage along a path that does not come back, so any aggregate is complete before it
is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from emberlog.datatypes import INT, UNKNOWN
from emberlog.semantics.model import Bind, CheckedQuery, Compare, Contribution, CoreRule, HeadValue, Match, Relation
from emberlog.syntax import ast
from emberlog.syntax.ast import BinaryOperator, ComparisonOperator, Constant, Expression, Variable


@dataclass(frozen=True, slots=True)
class Stages:
    columns: Mapping[str, int]
    order: tuple[str, ...]
    """The relations in an order in which a stage can be completed: each after those it reads in its own stage."""
    unbounded: tuple[CoreRule, ...]
    """The rules that raise the stage without a condition that stops them."""


@dataclass(frozen=True, slots=True)
class StageOffset:
    """A stage written as a variable plus a number."""

    variable: str
    plus: int


def find_stages(
    component: Sequence[str], rules: Iterable[CoreRule], relations: Mapping[str, Relation]
) -> Stages | None:
    """Returns the stage arguments of the relations of a recursive component, or None if it has none."""
    members = frozenset(component)
    recursive = [rule for rule in rules if any(True for _ in _atoms(rule, members))]
    first = relations[component[0]]
    for position in range(first.arity):
        columns = _propagate({first.name: position}, recursive, members, relations)
        if columns is None or len(columns) != len(members):
            continue
        order = _order_in_stage(columns, recursive, members)
        if order is not None:
            return Stages(columns, order, tuple(_unbounded(columns, recursive, members)))
    return None


def query_limit(stages: Stages, queries: Sequence[CheckedQuery], rules: Iterable[CoreRule]) -> int | None:
    """Returns the highest stage that anyone asks for, when constants in the queries say so."""
    members = frozenset(stages.columns)
    for rule in rules:
        if rule.relation not in members and any(True for _ in _atoms(rule, members)):
            return None
    limits = []
    for query in queries:
        if query.relation in members:
            term = query.terms[stages.columns[query.relation]]
            if not isinstance(term, Constant) or type(term.value) is not int:
                return None
            limits.append(term.value)
    return max(limits) if limits else None


def stage_variable(rule: CoreRule, columns: Mapping[str, int]) -> str:
    """Returns the variable that a rule raises to its next stage."""
    stage = stage_offset(rule.head[columns[rule.relation]], rule)
    return stage.variable if stage else "I"


def _atoms(rule: CoreRule, members: frozenset[str]) -> Iterable[Match]:
    return (literal for literal in rule.body if isinstance(literal, Match) and literal.relation in members)


def _propagate(
    columns: dict[str, int],
    rules: Sequence[CoreRule],
    members: frozenset[str],
    relations: Mapping[str, Relation],
) -> dict[str, int] | None:
    """Follows a stage argument from heads into bodies; None where a rule does not hand it on."""
    changed = True
    while changed:
        changed = False
        for rule in rules:
            if rule.relation not in columns:
                continue
            stage = stage_offset(rule.head[columns[rule.relation]], rule)
            if stage is None or stage.plus < 0:
                return None
            for atom in _atoms(rule, members):
                places = [
                    index
                    for index, term in enumerate(atom.terms)
                    if isinstance(term, Variable) and term.name == stage.variable
                ]
                if not places:
                    return None
                known = columns.get(atom.relation)
                if known is None:
                    columns[atom.relation] = places[0]
                    changed = True
                elif known not in places:
                    return None
    for name, position in columns.items():
        column = relations[name].columns[position]
        if column.aggregate is not None or column.type not in (INT, UNKNOWN):
            return None
    return columns


def _growth(rule: CoreRule, columns: Mapping[str, int], members: frozenset[str]) -> int:
    stage = stage_offset(rule.head[columns[rule.relation]], rule)
    return stage.plus if stage else 0


def _order_in_stage(
    columns: Mapping[str, int], rules: Sequence[CoreRule], members: frozenset[str]
) -> tuple[str, ...] | None:
    """Returns an order of the relations inside a stage. None when some cycle does not raise the stage."""
    level: dict[str, set[str]] = {name: set() for name in sorted(members)}
    order: list[str] = []
    for rule in rules:
        if _growth(rule, columns, members) == 0:
            level[rule.relation].update(atom.relation for atom in _atoms(rule, members))
    while True:
        leaves = [name for name, needs in level.items() if not needs & level.keys()]
        if not leaves:
            return None if level else tuple(order)
        order += leaves
        for name in leaves:
            del level[name]


def _unbounded(columns: Mapping[str, int], rules: Sequence[CoreRule], members: frozenset[str]) -> Iterable[CoreRule]:
    """Yields the rules that raise the stage on a cycle of which no rule bounds it: one bound stops a whole cycle."""
    free = [rule for rule in rules if not _is_bounded(rule, columns)]
    reads: dict[str, set[str]] = {name: set() for name in members}
    for rule in free:
        reads[rule.relation].update(atom.relation for atom in _atoms(rule, members))
    for rule in free:
        reached: set[str] = set()
        to_visit = [atom.relation for atom in _atoms(rule, members)]
        while to_visit:
            name = to_visit.pop()
            if name not in reached:
                reached.add(name)
                to_visit += reads[name]
        if rule.relation in reached and _growth(rule, columns, members):
            yield rule


def stage_offset(value: HeadValue, rule: CoreRule) -> StageOffset | None:
    """Returns a stage in a head as what it is written as; None if it is something else."""
    if isinstance(value, Contribution):
        return None
    bindings = {literal.variable.name: literal.expression for literal in rule.body if isinstance(literal, Bind)}
    return _as_offset(value, bindings)


def _as_offset(expression: Expression, bindings: Mapping[str, Expression]) -> StageOffset | None:
    match expression:
        case Variable(name):
            return _as_offset(bindings[name], bindings) if name in bindings else StageOffset(name, 0)
        case ast.Binary(BinaryOperator.ADD, inner, Constant(int() as plus)) | ast.Binary(
            BinaryOperator.ADD, Constant(int() as plus), inner
        ):
            base = _as_offset(inner, bindings)
            return StageOffset(base.variable, base.plus + plus) if base else None
        case _:
            return None


def _is_bounded(rule: CoreRule, columns: Mapping[str, int]) -> bool:
    """Tells whether a comparison keeps the stage below something that does not move with it."""
    return next(_bounds(rule, columns), None) is not None


def last_stage(rule: CoreRule, columns: Mapping[str, int]) -> int | None:
    """Returns the highest stage that a rule can give, if a comparison with a number says so."""
    stage = stage_offset(rule.head[columns[rule.relation]], rule)
    found = [
        bound.value - is_strict - compared.plus + stage.plus
        for compared, bound, is_strict in _bounds(rule, columns)
        if stage is not None and isinstance(bound, Constant) and type(bound.value) is int
    ]
    return min(found, default=None)


def _bounds(rule: CoreRule, columns: Mapping[str, int]) -> Iterator[tuple[StageOffset, Expression, bool]]:
    """Yields comparisons that keep the stage below something that does not move with it: what is compared, with what,
    and whether it has to be smaller."""
    stage = stage_offset(rule.head[columns[rule.relation]], rule)
    bindings = {literal.variable.name: literal.expression for literal in rule.body if isinstance(literal, Bind)}
    below = (ComparisonOperator.LESS, ComparisonOperator.LESS_OR_EQUAL)
    above = (ComparisonOperator.GREATER, ComparisonOperator.GREATER_OR_EQUAL)
    for literal in rule.body:
        if not isinstance(literal, Compare) or stage is None:
            continue
        for operators, small, large in ((below, literal.left, literal.right), (above, literal.right, literal.left)):
            if literal.operator not in operators:
                continue
            compared = _as_offset(small, bindings)
            limit_moves = any(
                (base := _as_offset(variable, bindings)) is None or base.variable == stage.variable
                for variable in ast.variables_of(large)
            )
            if compared is not None and compared.variable == stage.variable and not limit_moves:
                yield compared, large, literal.operator in (ComparisonOperator.LESS, ComparisonOperator.GREATER)
