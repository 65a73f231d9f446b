"""Relations of a slide as lanes, tables and facts; the rows that queries ask for, and how batches of rows differ."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pyarrow as pa

from emberlog.diagnostics import InternalError, fail
from emberlog.io.local_relation import LocalRelation
from emberlog.logical.nodes import Field
from emberlog.semantics.model import CheckedQuery, Fact
from emberlog.streams.state.stream_texts import StreamTexts
from emberlog.syntax.ast import Constant, Parameter
from emberlog.workers.fixpoint.evaluate import Evaluator
from emberlog.workers.kernels.lanes import Lane, Lanes, Mask, chosen
from emberlog.workers.kernels.tables import find_all, refill, table_for
from emberlog.workers.store.stores import distinct_rows
from emberlog.workers.store.texts import Texts
from emberlog.workers.wire.draining import arrow_column
from emberlog.workers.wire.feeding import lane_of_column


def lanes_of_table(
    name: str, table: pa.Table, fields: Sequence[Field], texts: StreamTexts, unread: Collection[int] = ()
) -> Lanes:
    """Returns the rows of a table, repeats included; a lane per column. Only columns that no rule reads may have
    nulls."""
    for place, (column, field) in enumerate(zip(table.columns, fields, strict=True)):
        if column.null_count and place not in unread:
            raise fail(
                "DL330",
                f"`{name}` has nulls in the column {field.name}, which cannot be kept from slide to slide",
                None,
                'leave such rows out, or evaluate from scratch at each slide: evaluation="simple"',
            )
    lanes = np.empty((len(fields), table.num_rows), np.int64)
    for place, (column, field) in enumerate(zip(table.columns, fields, strict=True)):
        lanes[place] = lane_of_column(column, field.type, texts, nullable=column.null_count > 0)
    return lanes


def table_of_lanes(lanes: Lanes, fields: Sequence[Field], texts: StreamTexts, unread: Collection[int] = ()) -> pa.Table:
    columns = [
        arrow_column(np.ascontiguousarray(lane), field.type, texts, narrow=False, nullable=place in unread)
        for place, (lane, field) in enumerate(zip(lanes, fields, strict=True))
    ]
    return pa.table(columns, names=[field.name for field in fields])


def relation_of(fields: Sequence[Field], data: Collection[Fact] | pa.Table) -> LocalRelation:
    return LocalRelation([field.name for field in fields], [field.type for field in fields], data)


def asked_rows(queries: Sequence[CheckedQuery], lanes: Lanes, texts: Texts) -> Lanes:
    """Returns the rows that one of the queries asks for; without queries, all of them."""
    if not queries:
        return lanes
    asked = np.zeros(lanes.shape[1], np.bool_)
    for query in queries:
        asked |= _agrees(query, lanes, texts)
    return lanes if asked.all() else chosen(lanes, asked)


def _agrees(query: CheckedQuery, lanes: Lanes, texts: Texts) -> Mask:
    agrees = np.ones(lanes.shape[1], np.bool_)
    bound: dict[str, Lane] = {}
    for term, lane in zip(query.terms, lanes, strict=True):
        if isinstance(term, Parameter):
            raise InternalError(f"DL902: the parameter ${term.name} has no value")
        if isinstance(term, Constant):
            agrees &= lane == Evaluator(query.relation, {}, texts).constant(term)
        elif term.name in bound:
            agrees &= lane == bound[term.name]
        else:
            bound[term.name] = lane
    return agrees


def difference(now: Lanes, before: Lanes) -> tuple[Lanes, Lanes]:
    """Returns the rows of the first batch that the second one does not have, and the other way round. In each batch
    all rows are different."""
    if not now.shape[1] or not before.shape[1]:
        return now, before
    now = np.ascontiguousarray(now)
    table = table_for(now.shape[1])
    refill(table, now, now.shape[0], now.shape[1])
    found = find_all(table, now, now.shape[0], np.ascontiguousarray(before))
    is_added = np.ones(now.shape[1], np.bool_)
    is_added[found[found >= 0]] = False
    return chosen(now, is_added), chosen(before, found < 0)


class LaneRelations:
    """Holds what a slide has computed so far. A relation is put in as lanes, or as facts where lanes cannot hold it;
    the other form is made when it is first asked for."""

    def __init__(
        self,
        fields: Mapping[str, Sequence[Field]],
        texts: StreamTexts,
        unread: Mapping[str, Collection[int]] | None = None,
    ) -> None:
        """`unread` are the columns that no rule reads: these may have nulls."""
        self._fields = fields
        self._unread = unread or {}
        self.texts = texts
        self._lanes: dict[str, Lanes] = {}
        self._others: dict[str, LocalRelation] = {}

    def put_lanes(self, name: str, lanes: Lanes) -> None:
        """Takes over the rows of a relation, each of which is there once."""
        self._lanes[name] = lanes
        self._others.pop(name, None)

    def put(self, name: str, data: Collection[Fact] | pa.Table) -> None:
        """Takes over facts, or a table whose rows may be repeated."""
        self._others[name] = relation_of(self._fields[name], data)
        self._lanes.pop(name, None)

    @property
    def names_of_lanes(self) -> tuple[str, ...]:
        return tuple(self._lanes)

    def has_lanes(self, name: str) -> bool:
        return name in self._lanes

    def has_nulls(self, name: str) -> bool:
        """Tells whether a relation has nulls; lanes never have any."""
        return name not in self._lanes and self._others[name].has_nulls

    def lanes(self, name: str) -> Lanes:
        """Returns each row once."""
        if name not in self._lanes:
            rows = lanes_of_table(
                name, self._others[name].table, self._fields[name], self.texts, self._unread.get(name, ())
            )
            self._lanes[name] = distinct_rows(rows)
        return self._lanes[name]

    def facts(self, name: str) -> frozenset[Fact]:
        if name not in self._others:
            fields = self._fields[name]
            self._others[name] = relation_of(
                fields, table_of_lanes(self._lanes[name], fields, self.texts, self._unread.get(name, ()))
            )
        return self._others[name].facts
