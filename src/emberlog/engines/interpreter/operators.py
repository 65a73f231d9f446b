"""The nodes of a plan, each made once into a function that gives its rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from operator import itemgetter
from typing import Any, Protocol, TypeAlias, assert_never

from emberlog.engines.interpreter.aggregates import Groups
from emberlog.engines.interpreter.limits import Watch
from emberlog.language.faults import Fault
from emberlog.language.registry import Functions
from emberlog.logical.nodes import (
    Aggregate,
    AntiJoin,
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
from emberlog.syntax.ast import Variable

Rows: TypeAlias = Collection[Fact]
Giver: TypeAlias = Callable[[], Rows]
Key: TypeAlias = Callable[[Fact], Any]
Index: TypeAlias = dict[Any, list[Fact]]


class Facts(Protocol):
    """Where scans read from."""

    def read(self, relation: str, version: Version) -> Rows: ...


class Operators:
    """Evaluates plans over facts.

    A plan is made into functions when it is first asked for, because an iteration may have no more than one row to
    handle. A plan node that reads none of the `changing` relations gives the same rows every time, so the hash index
    over it is built once: that is what makes an iteration cost what its delta costs.
    """

    def __init__(
        self, facts: Facts, watch: Watch, functions: Functions, changing: frozenset[str] = frozenset()
    ) -> None:
        self._facts = facts
        self._watch = watch
        self._functions = functions
        self._changing = changing
        self._made: dict[int, tuple[Plan, Giver]] = {}
        """By the identity of a plan, which is held so that no other one gets it."""
        self._indexes: dict[tuple[int, tuple[str, ...]], Index] = {}

    def rows(self, plan: Plan) -> Rows:
        made = self._made.get(id(plan))
        if made is None:
            made = self._made[id(plan)] = plan, self._giver(plan)
        return made[1]()

    def _giver(self, plan: Plan) -> Giver:
        """Makes the function that gives the rows of a plan, and tells how many."""
        give, check_time, saw = self._own_giver(plan), self._watch.check_time, self._watch.saw

        def rows() -> Rows:
            found = give()
            saw(plan, len(found))
            return found

        def rows_in_time() -> Rows:
            check_time()
            return rows()

        return rows_in_time if self._watch.is_timed else rows

    def _own_giver(self, plan: Plan) -> Giver:
        match plan:
            case Scan(relation, _, version):
                read = self._facts.read
                return lambda: read(relation, version)
            case Values(_, given):
                return lambda: given
            case Filter(source, conditions):
                rows = self._giver(source)
                holds = compile_conditions(conditions, by_position(column_names(source)), self._functions)
                return lambda: [row for row in rows() if holds(row)]
            case Project():
                return self._project(plan)
            case Join():
                return self._join(plan)
            case AntiJoin(left, right, on):
                return self._anti_join(self._giver(left), _key_of(left, on), self._index(right, on))
            case Union(inputs):
                givers = [self._giver(one) for one in inputs]
                return lambda: [row for rows in givers for row in rows()]
            case Distinct(source):
                rows = self._giver(source)
                return lambda: set(rows())
            case Aggregate():
                return self._aggregate(plan)
        assert_never(plan)

    def _project(self, plan: Project) -> Giver:
        rows, names = self._giver(plan.input), column_names(plan.input)
        expressions = [output.expression for output in plan.outputs]
        chosen = [names.index(one.name) for one in expressions if isinstance(one, Variable)]
        if len(chosen) == len(expressions):
            choose = _chooser(chosen)
            return lambda: list(map(choose, rows()))
        compiled = [compile_expression(one, by_position(names), self._functions) for one in expressions]

        def projected() -> Rows:
            try:
                return [tuple([one(row) for one in compiled]) for row in rows()]
            except Fault as fault:
                if plan.rule is None:
                    raise
                raise error_in_rule(fault, plan.rule) from None

        return projected

    def _join(self, plan: Join) -> Giver:
        names = column_names(plan.right)
        added = _chooser([position for position, name in enumerate(names) if name not in plan.on])
        check = self._watch.check_growing
        is_left_fixed = self._is_fixed(plan.left) and not self._is_fixed(plan.right)
        fixed, moving = (plan.left, plan.right) if is_left_fixed else (plan.right, plan.left)
        index_of, key, rows = self._index(fixed, plan.on), _key_of(moving, plan.on), self._giver(moving)

        def beside_left() -> Rows:
            find = index_of().get
            result: list[Fact] = []
            for row in rows():
                matches = find(key(row))
                if matches is not None:
                    rest = added(row)
                    result += [match + rest for match in matches]
                check(len(result))
            return result

        def beside_right() -> Rows:
            find = index_of().get
            result: list[Fact] = []
            for row in rows():
                matches = find(key(row))
                if matches is not None:
                    result += [row + added(match) for match in matches]
                check(len(result))
            return result

        return beside_left if is_left_fixed else beside_right

    def _anti_join(self, rows: Giver, key: Key, index_of: Callable[[], Index]) -> Giver:
        def kept() -> Rows:
            index = index_of()
            return [row for row in rows() if key(row) not in index]

        return kept

    def _aggregate(self, plan: Aggregate) -> Giver:
        rows, names = self._giver(plan.input), column_names(plan.input)

        def grouped() -> Rows:
            groups = Groups(names, plan.keys, plan.aggregates, self._functions)
            for row in rows():
                groups.add(row)
            return [groups.row(key) for key in groups.keys]

        return grouped

    def _is_fixed(self, plan: Plan) -> bool:
        return all(scan.relation not in self._changing for scan in scans(plan))

    def _index(self, plan: Plan, on: Sequence[str]) -> Callable[[], Index]:
        """Returns what gives the rows of a plan by their values in the columns `on`; rows with a null there are in no
        index, because they match nothing."""
        rows, key = self._giver(plan), _key_of(plan, on)
        place = (id(plan), tuple(on)) if self._is_fixed(plan) else None
        known = self._indexes
        is_single = len(on) == 1

        def index() -> Index:
            if place is not None and place in known:
                return known[place]
            found: Index = {}
            for row in rows():
                wanted = key(row)
                if wanted is not None if is_single else None not in wanted:
                    found.setdefault(wanted, []).append(row)
            if place is not None:
                known[place] = found
            return found

        return index


def _chooser(positions: Sequence[int]) -> Callable[[Fact], Fact]:
    """Returns what makes a row of the values at these positions."""
    match positions:
        case ():
            return lambda _row: ()
        case (only,):
            return lambda row: (row[only],)
        case _:
            return itemgetter(*positions)


def _key_of(plan: Plan, on: Sequence[str]) -> Key:
    """Returns what reads the values of a row in the columns `on`: the value itself if there is one. In Python an int is
    found under a float that is equal to it."""
    names = column_names(plan)
    positions = [names.index(name) for name in on]
    return itemgetter(*positions) if positions else lambda _row: ()


def rule_names(plans: Iterable[Plan]) -> list[str]:
    """Returns the rules whose heads the plans compute."""
    found = (node.rule for plan in plans for node in walk(plan) if isinstance(node, Project))
    return list(dict.fromkeys(name for name in found if name is not None))
