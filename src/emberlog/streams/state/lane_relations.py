"""Relations of a slide as lanes and as facts, each made when it is first asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pyarrow as pa

from emberlog.diagnostics import InternalError, fail
from emberlog.engines.interpreter.operators import Facts, Rows
from emberlog.io.local_relation import LocalRelation
from emberlog.logical.nodes import Field, Version
from emberlog.semantics.model import Fact
from emberlog.streams.state.stream_texts import StreamTexts
from emberlog.workers.kernels.lanes import Lanes
from emberlog.workers.store.stores import distinct_rows
from emberlog.workers.wire.draining import arrow_column
from emberlog.workers.wire.feeding import lane_of_column


def lanes_of_table(name: str, table: pa.Table, fields: Sequence[Field], texts: StreamTexts) -> Lanes:
    """The rows of a table, repeats included; a lane per column."""
    for column, field in zip(table.columns, fields, strict=True):
        if column.null_count:
            raise fail(
                "DL330",
                f"`{name}` has nulls in the column {field.name}, which cannot be kept from slide to slide",
                None,
                "leave such rows out, or evaluate the program from scratch at each slide",
            )
    lanes = np.empty((len(fields), table.num_rows), np.int64)
    for place, (column, field) in enumerate(zip(table.columns, fields, strict=True)):
        lanes[place] = lane_of_column(column, field.type, texts)
    return lanes


def table_of_lanes(lanes: Lanes, fields: Sequence[Field], texts: StreamTexts) -> pa.Table:
    columns = [
        arrow_column(np.ascontiguousarray(lane), field.type, texts, narrow=False)
        for lane, field in zip(lanes, fields, strict=True)
    ]
    return pa.table(columns, names=[field.name for field in fields])


class LaneRelations(Facts):
    """What a slide has computed so far. A relation is put in as lanes, or as facts where lanes cannot hold it."""

    def __init__(self, fields: Mapping[str, Sequence[Field]], texts: StreamTexts) -> None:
        self._fields = fields
        self._texts = texts
        self._lanes: dict[str, Lanes] = {}
        self._others: dict[str, LocalRelation] = {}

    def put_lanes(self, name: str, lanes: Lanes) -> None:
        """Each row once."""
        self._lanes[name] = lanes
        self._others.pop(name, None)

    def put(self, name: str, data: Collection[Fact] | pa.Table) -> None:
        """Rows of a table may be repeated."""
        fields = self._fields[name]
        self._others[name] = LocalRelation([one.name for one in fields], [one.type for one in fields], data)
        self._lanes.pop(name, None)

    @property
    def names_of_lanes(self) -> tuple[str, ...]:
        return tuple(self._lanes)

    def has_lanes(self, name: str) -> bool:
        return name in self._lanes

    def has_nulls(self, name: str) -> bool:
        """Lanes never have any."""
        return name not in self._lanes and self._others[name].has_nulls

    def lanes(self, name: str) -> Lanes:
        """Each row once."""
        if name not in self._lanes:
            rows = lanes_of_table(name, self._others[name].table, self._fields[name], self._texts)
            self._lanes[name] = distinct_rows(rows)
        return self._lanes[name]

    def facts(self, name: str) -> frozenset[Fact]:
        if name not in self._others:
            fields = self._fields[name]
            table = table_of_lanes(self._lanes[name], fields, self._texts)
            self._others[name] = LocalRelation([one.name for one in fields], [one.type for one in fields], table)
        return self._others[name].facts

    def read(self, relation: str, version: Version) -> Rows:
        if version is not Version.FULL:
            raise InternalError(f"DL902: {relation} is complete and has no {version.value} version")
        return self.facts(relation)
