"""Evaluates the slides of a stream program as transactions: tuples that arrive are inserted, and what expires or is
deleted goes in one way, as facts of a live view do."""

from __future__ import annotations

import heapq
from bisect import insort
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from emberlog.config import Limits
from emberlog.deadline import within
from emberlog.engines.interpreter.interpreter import asked_facts
from emberlog.io.arrow_values import table_of
from emberlog.io.local_relation import LocalRelation, facts_of_table
from emberlog.language.faults import Fault
from emberlog.live.maintain.maintainer import Maintainer
from emberlog.live.methods import maintainers
from emberlog.live.searches.facts import Facts, Relations
from emberlog.semantics.model import Fact, TimeRole
from emberlog.source import Span
from emberlog.streams.evaluate.evaluator import Changes
from emberlog.streams.plan.batch_program import BatchProgram
from emberlog.streams.plan.slides import Schedule, Slide
from emberlog.workers.plan.faults import told

_BYTES_OF_A_FACT, _BYTES_OF_A_VALUE = 200, 40
"""About what Python takes for a fact in a table with an index or two."""


@dataclass(frozen=True, slots=True, eq=False)
class LivePlan:
    program: BatchProgram
    limits: Limits

    def evaluator(self, schedule: Schedule, statics: Mapping[str, pa.Table]) -> LiveEvaluator:
        return LiveEvaluator(self, schedule, statics)


class LiveEvaluator:
    def __init__(self, plan: LivePlan, schedule: Schedule, statics: Mapping[str, pa.Table]) -> None:
        self._plan = plan
        self._program = plan.program
        self._checked = plan.program.checked
        self._schedule = schedule
        self._statics = {name: self._facts_of(name, table) for name, table in statics.items()}
        self._outputs = self._checked.outputs
        self._queries = {
            name: [query for query in self._checked.queries if query.relation == name] for name in self._outputs
        }
        self._begin()

    def _begin(self) -> None:
        self._facts = Relations()
        for name, rows in self._statics.items():
            self._facts[name].rows.update(dict.fromkeys(rows, 1))
        self._streams = {
            name: _Held(self._program.times[name], self._facts[name], expires=self._schedule.size is not None)
            for name in self._program.streams
        }
        self._maintainers: list[Maintainer] = []
        self._changes: dict[str, tuple[frozenset[Fact], frozenset[Fact]]] = {}
        self._is_told = False
        self._expired = 0
        try:
            with within(self._plan.limits.timeout):
                for maintainer in maintainers(self._checked, self._facts, self._plan.limits):
                    maintainer.begin()
                    self._maintainers.append(maintainer)
        except Fault as fault:
            raise told(fault, self._places) from None

    def restore(self, slide: Slide, window: Mapping[str, pa.Table]) -> None:
        self._begin()
        self.advance(slide, window)

    def advance(
        self, slide: Slide, arrived: Mapping[str, pa.Table], gone: Mapping[str, pa.Table] | None = None
    ) -> None:
        """`gone` has the tuples that were deleted, with the times at which they arrived."""
        self._expired = 0
        for name, held in self._streams.items():
            if name in arrived:
                held.enter(facts_of_table(arrived[name]))
            if gone is not None and name in gone:
                held.delete(facts_of_table(gone[name]))
            self._expired += held.let_go(slide.since)
            held.put()
        try:
            with within(self._plan.limits.timeout):
                for maintainer in self._maintainers:
                    if any(self._facts[name].is_changed for name in maintainer.reads):
                        maintainer.update()
        except Fault as fault:
            raise told(fault, self._places) from None
        self._changes = {name: self._changed(name) for name in self._outputs}
        self._is_told = True
        for maintainer in self._maintainers:
            maintainer.commit()
        for facts in self._facts.values():
            facts.commit()

    def _changed(self, name: str) -> tuple[frozenset[Fact], frozenset[Fact]]:
        facts = self._facts[name]
        if not self._is_told:  # what was there before the first slide comes with it
            return self._asked(name, facts), frozenset()
        return self._asked(name, facts.come), self._asked(name, facts.gone)

    def answers(self) -> Mapping[str, pa.Table]:
        return {name: self._table(name, self._asked(name, self._facts[name])) for name in self._outputs}

    def changes(self) -> Mapping[str, Changes]:
        return {
            name: Changes(self._table(name, come), self._table(name, gone))
            for name, (come, gone) in self._changes.items()
        }

    def expired(self) -> int:
        return self._expired

    def state_bytes(self) -> int:
        return sum(
            len(facts) * (_BYTES_OF_A_FACT + _BYTES_OF_A_VALUE * len(next(iter(facts), ())))
            for facts in self._facts.values()
        )

    @property
    def _places(self) -> dict[str, Span]:
        return {rule.name: rule.span for rule in self._checked.rules}

    def _asked(self, name: str, facts: Iterable[Fact]) -> frozenset[Fact]:
        found = frozenset(facts)
        return frozenset(asked_facts(self._queries[name], found)) if self._queries[name] else found

    def _table(self, name: str, facts: Iterable[Fact]) -> pa.Table:
        columns = self._checked.relations[name].columns
        return table_of([one.name for one in columns], [one.type for one in columns], list(facts))

    def _facts_of(self, name: str, table: pa.Table) -> frozenset[Fact]:
        columns = self._checked.relations[name].columns
        return LocalRelation([one.name for one in columns], [one.type for one in columns], table).facts


class _Held:
    """Holds the tuples of a stream, and the facts that they stand for."""

    def __init__(self, role: TimeRole, facts: Facts, *, expires: bool) -> None:
        """`role` says what becomes of the time in the facts; `expires` whether tuples go by themselves."""
        self._role = role
        self._facts = facts
        self._expires = expires
        self._times: dict[Fact, list[int]] = {}
        """The times of each tuple without its time, the earliest first."""
        self._due: list[tuple[int, int, Fact]] = []
        """A heap of all tuples by their time. Those that were deleted are still in it."""
        self._count = 0
        self._touched: dict[Fact, None] = {}
        self._shown: dict[Fact, frozenset[Fact]] = {}
        """The facts that each tuple stood for at the last slide."""

    def enter(self, tuples: Iterable[Fact]) -> None:
        for time, *rest in tuples:
            assert isinstance(time, int)
            key = tuple(rest)
            insort(self._times.setdefault(key, []), time)
            if self._expires:
                self._count += 1
                heapq.heappush(self._due, (time, self._count, key))
            self._touched[key] = None

    def delete(self, tuples: Iterable[Fact]) -> None:
        for time, *rest in tuples:
            assert isinstance(time, int)
            self._take(tuple(rest), time)

    def let_go(self, since: int | None) -> int:
        """Lets tuples go that came before a time, and returns the number of facts that are gone with them."""
        if since is None:
            return 0
        gone: dict[tuple[object, ...], None] = {}
        while self._due and self._due[0][0] < since:
            time, _, key = heapq.heappop(self._due)
            if self._take(key, time) and (self._role is TimeRole.ORDINARY or key not in self._times):
                gone[(time, *key) if self._role is TimeRole.ORDINARY else key] = None
        return sum(one in self._facts.rows if self._role is TimeRole.ORDINARY else one in self._shown for one in gone)

    def _take(self, key: Fact, time: int) -> bool:
        times = self._times.get(key, [])
        if time not in times:
            return False
        times.remove(time)
        if not times:
            del self._times[key]
        self._touched[key] = None
        return True

    def put(self) -> None:
        """Lets the facts follow the tuples."""
        for key in self._touched:
            now, before = frozenset(self._stands_for(key)), self._shown.get(key, frozenset())
            for fact in before - now:
                self._facts.renumber(fact, 0)
                self._facts.remove(fact)
            for fact in now - before:
                self._facts.add(fact, 1)
            if now:
                self._shown[key] = now
            else:
                self._shown.pop(key, None)
        self._touched.clear()

    def _stands_for(self, key: Fact) -> Iterator[Fact]:
        times = self._times.get(key)
        if not times:
            return
        match self._role:
            case TimeRole.NONE:
                yield key
            case TimeRole.ANNOTATION:
                yield (times[0], *key)
            case TimeRole.ORDINARY:
                yield from ((time, *key) for time in times)
