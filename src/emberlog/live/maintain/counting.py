"""Relations without recursion: sets by the number of their derivations, aggregates by the contributions to each group.

A transaction takes away the derivations that some fact of before was part of and no longer is, and adds those that
some new fact is part of, each once. So a fact is there as long as its number is not zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from emberlog.datatypes import FLOAT
from emberlog.language.faults import Fault
from emberlog.language.registry import Functions
from emberlog.live.maintain.groups import Bag, Group, bag_of, is_by_changes
from emberlog.live.maintain.loading import Loader
from emberlog.live.maintain.maintainer import Maintainer, counted_changes, prepare, read_by
from emberlog.live.searches.bodies import Body
from emberlog.live.searches.facts import Facts
from emberlog.logical.contributions import ContributionLayout
from emberlog.logical.nodes import Definition
from emberlog.logical.python_evaluation import error_in_relation
from emberlog.semantics.model import Fact


class Counting(Maintainer):
    """Keeps a set up to date by counting derivations."""

    def __init__(
        self, facts: Mapping[str, Facts], name: str, bodies: Sequence[Body], loader: Loader, definition: Definition
    ) -> None:
        self.relations = (name,)
        self.method = "derivations counted, and changed by deltas"
        self.reads = read_by(bodies)
        self._facts = facts
        self._own = facts[name]
        self._bodies = bodies
        self._loader = loader
        self._definition = definition

    def begin(self) -> None:
        self._own.rows.update(self._loader.rows(self._definition))
        prepare(self._bodies, exact=True)

    def update(self) -> None:
        changes = counted_changes(self._bodies, self._facts)
        own = self._own
        for fact, change in changes.items():
            before = own.rows.get(fact, 0)
            if not before:
                own.add(fact, change)
            else:
                own.renumber(fact, before + change)
                if before + change == 0:
                    own.remove(fact)

    def commit(self) -> None:
        return

    def abort(self) -> None:
        return


class Grouping(Maintainer):
    """Keeps an aggregated relation up to date by the contributions to each group."""

    def __init__(
        self,
        facts: Mapping[str, Facts],
        name: str,
        bodies: Sequence[Body],
        layout: ContributionLayout,
        functions: Functions,
        loader: Loader,
        definition: Definition,
    ) -> None:
        self.relations = (name,)
        self.reads = read_by(bodies)
        self._facts = facts
        self._own = facts[name]
        self._bodies = bodies
        self._loader = loader
        self._definition = definition
        columns = [field.name for field in layout.columns]
        aggregates = [one.column for one in layout.aggregates]
        self._functions = [functions.aggregates[one.function] for one in aggregates]
        self._arguments = [[columns.index(argument) for argument in one.arguments] for one in aggregates]
        self._width = len(layout.keys)
        self._is_float = [one.field.type == FLOAT for one in aggregates]
        types = {field.name: field.type for field in layout.columns}
        self._makers: list[Callable[[], Bag]] = [
            bag_of(function, is_whole=all(types[argument].is_whole for argument in one.arguments))
            for function, one in zip(self._functions, aggregates, strict=True)
        ]
        in_plan = [*(field.name for field in layout.keys), *(one.field.name for one in aggregates)]
        self._in_order = [in_plan.index(column.name) for column in layout.relation.columns]
        self._always = not self._width and all(function.is_count for function in self._functions)
        self._groups: dict[Fact, Group] = {}
        self._current: dict[Fact, Fact] = {}
        self._journal: list[tuple[Fact, int]] = []
        self._before: dict[Fact, Fact | None] = {}
        anew = [function.name for function in self._functions if not is_by_changes(function)]
        self.method = "contributions counted, and changed by deltas" + (
            f"; {', '.join(dict.fromkeys(anew))} of a group that changes is computed anew, from its contributions"
            if anew
            else ""
        )
        self._rules = [body.rule.name for body in bodies]

    def begin(self) -> None:
        touched = self._take(self._loader.rows(self._definition))
        if self._always:
            touched[()] = None
        for key in touched:
            fact = self._fact(key)
            if fact is not None:
                self._current[key] = fact
                self._own.rows[fact] = 1
        self._journal.clear()
        prepare(self._bodies, exact=True)

    def update(self) -> None:
        changes = counted_changes(self._bodies, self._facts)
        for key in self._take(changes):
            old, new = self._current.get(key), self._fact(key)
            if old == new:
                continue
            self._before.setdefault(key, old)
            if old is not None:
                self._own.remove(old)
            if new is None:
                del self._current[key]
            else:
                self._own.add(new, 1)
                self._current[key] = new

    def _take(self, rows: Mapping[Fact, int]) -> dict[Fact, None]:
        """Adds contributions, or takes them away; returns the groups that they are of."""
        touched: dict[Fact, None] = {}
        try:
            for row, times in rows.items():
                touched[row[: self._width]] = None
                self._put(row, times, is_checked=times > 0)
                self._journal.append((row, times))
        except Fault as fault:
            raise error_in_relation(fault, self.relations[0], self._rules) from None
        return touched

    def _put(self, row: Fact, times: int, *, is_checked: bool) -> None:
        all_arguments = [tuple([row[place] for place in places]) for places in self._arguments]
        if is_checked:
            for function, arguments in zip(self._functions, all_arguments, strict=True):
                function.check(arguments)
        key = row[: self._width]
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = Group(self._makers)
        group.size += times
        for bag, arguments in zip(group.bags, all_arguments, strict=True):
            if None not in arguments:
                bag.add(arguments, times)

    def _fact(self, key: Fact) -> Fact | None:
        """Returns the fact of a group; None if there is no group."""
        group = self._groups.get(key)
        if group is None or not group.size:
            self._groups.pop(key, None)
            if not (self._always and key == ()):
                return None
            group = Group(self._makers)
        try:
            values = [bag.value() for bag in group.bags]
        except Fault as fault:
            raise error_in_relation(fault, self.relations[0], self._rules) from None
        row = key + tuple(
            [
                # The 0 of a count that adds up floats is a float too.
                float(value) if is_float and isinstance(value, int) else value
                for value, is_float in zip(values, self._is_float, strict=True)
            ]
        )
        return tuple([row[place] for place in self._in_order])

    def commit(self) -> None:
        self._journal.clear()
        self._before.clear()

    def abort(self) -> None:
        for row, times in reversed(self._journal):
            self._put(row, -times, is_checked=False)
            if not self._groups[row[: self._width]].size:
                del self._groups[row[: self._width]]
        for key, fact in self._before.items():
            if fact is None:
                self._current.pop(key, None)
            else:
                self._current[key] = fact
        self.commit()
