"""The answer of a relation that is computed as a whole, and how it differs from the one before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from emberlog.engines.interpreter.interpreter import asked_facts
from emberlog.io.arrow_values import table_of
from emberlog.io.local_relation import LocalRelation
from emberlog.logical.nodes import Field
from emberlog.semantics.model import CheckedProgram, Fact
from emberlog.streams.evaluate.evaluator import Changes
from emberlog.streams.state.asked_rows import asked_rows, difference
from emberlog.streams.state.lane_relations import LaneRelations, table_of_lanes
from emberlog.streams.state.stream_texts import StreamTexts
from emberlog.workers.kernels.lanes import Lanes, no_rows


class CompleteOutput:
    """It is lanes, or facts at a slide where lanes cannot hold it."""

    def __init__(
        self, checked: CheckedProgram, name: str, fields: Sequence[Field], texts: StreamTexts, codes: Mapping[str, int]
    ) -> None:
        self.name = name
        self._queries = [query for query in checked.queries if query.relation == name]
        self._fields = fields
        self._texts = texts
        self._codes = codes
        self.lanes = self.lanes_before = no_rows(len(fields))
        self._facts: frozenset[Fact] = frozenset()
        self._facts_before: frozenset[Fact] = frozenset()

    def update(self, relations: LaneRelations) -> None:
        """Takes over what a slide has computed."""
        self.lanes_before, self._facts_before = self.lanes, self._facts
        self.lanes, self._facts = no_rows(len(self._fields)), frozenset()
        if relations.has_lanes(self.name):
            self.lanes = asked_rows(self._queries, relations.lanes(self.name), self._codes)
        else:
            facts = relations.facts(self.name)
            self._facts = asked_facts(self._queries, facts) if self._queries else facts

    def answer(self) -> pa.Table:
        return self._table(self.lanes, self._facts)

    def changes(self) -> Changes:
        if self._facts or self._facts_before:
            now, before = (
                self._all_facts(self.lanes, self._facts),
                self._all_facts(self.lanes_before, self._facts_before),
            )
            return Changes(self._table(self._none, now - before), self._table(self._none, before - now))
        added, removed = difference(self.lanes, self.lanes_before)
        return Changes(self._table(added, frozenset()), self._table(removed, frozenset()))

    @property
    def _none(self) -> Lanes:
        return no_rows(len(self._fields))

    def _all_facts(self, lanes: Lanes, facts: frozenset[Fact]) -> frozenset[Fact]:
        names, types = [field.name for field in self._fields], [field.type for field in self._fields]
        return facts | LocalRelation(names, types, self._table(lanes, frozenset())).facts

    def _table(self, lanes: Lanes, facts: frozenset[Fact]) -> pa.Table:
        if lanes.shape[1]:
            return table_of_lanes(lanes, self._fields, self._texts)
        return table_of([field.name for field in self._fields], [field.type for field in self._fields], list(facts))
