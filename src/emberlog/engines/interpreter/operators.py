"""The nodes of a plan, each as a function from lists of rows to a list of rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Protocol, TypeAlias, assert_never

from emberlog.engines.interpreter.aggregates import Groups
from emberlog.engines.interpreter.limits import Watch
from emberlog.language.faults import Fault
from emberlog.language.registry import Functions
from emberlog.logical.nodes import (
    Aggregate,
    AntiJoin,
    Condition,
    Distinct,
    Filter,
    Join,
    Plan,
    Project,
    Scan,
    Union,
    Values,
    Version,
)
from emberlog.logical.python_evaluation import by_position, compile_conditions, compile_expression, error_in_rule
from emberlog.logical.traverse import column_names, scans, walk
from emberlog.semantics.model import Fact

Rows: TypeAlias = Collection[Fact]
Index: TypeAlias = dict[Fact, list[Fact]]


class Facts(Protocol):
    """Where scans read from."""

    def read(self, relation: str, version: Version) -> Rows: ...


class Operators:
    """Evaluates plans over facts.

    A plan node that reads none of the `changing` relations gives the same rows every time, so the hash index over
    it is built once: that is what makes an iteration cost what its delta costs.
    """

    def __init__(
        self, facts: Facts, watch: Watch, functions: Functions, changing: frozenset[str] = frozenset()
    ) -> None:
        self._facts = facts
        self._watch = watch
        self._functions = functions
        self._changing = changing
        self._indexes: dict[tuple[int, tuple[str, ...]], Index] = {}

    def rows(self, plan: Plan) -> Rows:
        self._watch.check_time()
        found = self._rows(plan)
        self._watch.saw(plan, len(found))
        return found

    def _rows(self, plan: Plan) -> Rows:
        match plan:
            case Scan(relation, _, version):
                return self._facts.read(relation, version)
            case Values(_, rows):
                return rows
            case Filter(source, conditions):
                return self._filter(source, conditions)
            case Project():
                return self._project(plan)
            case Join():
                return self._join(plan)
            case AntiJoin(left, right, on):
                index = self._index(right, on)
                key = _key_function(left, on)
                return [row for row in self.rows(left) if None in (wanted := key(row)) or wanted not in index]
            case Union(inputs):
                return [row for one in inputs for row in self.rows(one)]
            case Distinct(source):
                return set(self.rows(source))
            case Aggregate():
                return self._aggregate(plan)
        assert_never(plan)

    def _filter(self, source: Plan, conditions: Sequence[Condition]) -> Rows:
        holds = compile_conditions(conditions, by_position(column_names(source)), self._functions)
        return [row for row in self.rows(source) if holds(row)]

    def _project(self, plan: Project) -> Rows:
        lookup = by_position(column_names(plan.input))
        compiled = [compile_expression(output.expression, lookup, self._functions) for output in plan.outputs]
        try:
            return [tuple([one(row) for one in compiled]) for row in self.rows(plan.input)]
        except Fault as fault:
            if plan.rule is None:
                raise
            raise error_in_rule(fault, plan.rule) from None

    def _join(self, plan: Join) -> Rows:
        added = [position for position, name in enumerate(column_names(plan.right)) if name not in plan.on]
        result: list[Fact] = []
        if self._is_fixed(plan.left) and not self._is_fixed(plan.right):
            index, key = self._index(plan.left, plan.on), _key_function(plan.right, plan.on)
            for row in self.rows(plan.right):
                rest = tuple([row[position] for position in added])
                result += [match + rest for match in index.get(key(row), ())]
                self._watch.check_now_and_then()
        else:
            index, key = self._index(plan.right, plan.on), _key_function(plan.left, plan.on)
            for row in self.rows(plan.left):
                result += [row + tuple([match[position] for position in added]) for match in index.get(key(row), ())]
                self._watch.check_now_and_then()
        return result

    def _aggregate(self, plan: Aggregate) -> Rows:
        groups = Groups(column_names(plan.input), plan.keys, plan.aggregates, self._functions)
        for row in self.rows(plan.input):
            groups.add(row)
        return [groups.row(key) for key in groups.keys]

    def _is_fixed(self, plan: Plan) -> bool:
        return all(scan.relation not in self._changing for scan in scans(plan))

    def _index(self, plan: Plan, on: Sequence[str]) -> Index:
        """Returns the rows of the plan by their values in the columns `on`; rows with a null there match nothing."""
        place = (id(plan), tuple(on))
        if place in self._indexes:
            return self._indexes[place]
        index: Index = {}
        key = _key_function(plan, on)
        for row in self.rows(plan):
            wanted = key(row)
            if None not in wanted:
                index.setdefault(wanted, []).append(row)
        if self._is_fixed(plan):
            self._indexes[place] = index
        return index


def _key_function(plan: Plan, on: Sequence[str]) -> Callable[[Fact], Fact]:
    """Returns what reads the values of a row in the columns `on`. In Python an int is found under a float that is
    equal to it."""
    names = column_names(plan)
    positions = [names.index(name) for name in on]
    return lambda row: tuple([row[position] for position in positions])


def rule_names(plans: Iterable[Plan]) -> list[str]:
    """Returns the rules whose heads the plans compute."""
    found = (node.rule for plan in plans for node in walk(plan) if isinstance(node, Project))
    return list(dict.fromkeys(name for name in found if name is not None))
