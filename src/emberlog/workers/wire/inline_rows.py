"""Sends rows through the Spark stage itself, in and out, where workers and driver share no disk.

All relations go as one frame: a tag that says which relation a row belongs to, then columns of each kind, as many as
the widest relation needs; each type of pairs and lists is a kind of its own. What a relation does not use is null.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from emberlog.datatypes import BOOL, FLOAT, INT, STRING, DataType
from emberlog.io.arrow_values import arrow_type
from emberlog.workers.kernels.lanes import Lane
from emberlog.workers.kernels.memory import check
from emberlog.workers.store.texts import Texts
from emberlog.workers.wire.draining import arrow_column

TAG, SUMMARY = "tag", "summary"
NO_RELATION = -1
KINDS = {"i": pa.int64(), "f": pa.float64(), "s": pa.string(), "b": pa.bool_()}
_KEPT_AS = {"i": INT, "f": FLOAT, "s": STRING, "b": BOOL}


def kind_of(data_type: DataType) -> str:
    if data_type.parts:
        return f"p{zlib.crc32(str(data_type).encode()):08x}_"
    return {FLOAT: "f", STRING: "s", BOOL: "b"}.get(data_type, "i")


def columns_for(types: Sequence[DataType]) -> list[str]:
    """Returns the stage's columns that hold the columns of a relation, in their order."""
    used: Counter[str] = Counter()
    names = []
    for data_type in types:
        kind = kind_of(data_type)
        names.append(f"{kind}{used[kind]}")
        used[kind] += 1
    return names


@dataclass(frozen=True, slots=True)
class InlineLayout:
    """Says which relation has which tag, on the way in and on the way out; both are empty where files are used."""

    inputs: Mapping[int, tuple[DataType, ...]]
    outputs: Mapping[str, tuple[DataType, ...]]

    @property
    def input_columns(self) -> dict[str, DataType]:
        """Returns the columns of the stage's input, each with a type of those that are kept in the same way."""
        return _widest(self.inputs.values())

    @property
    def output_columns(self) -> dict[str, DataType]:
        return _widest(self.outputs.values())

    def tag_of(self, output: str) -> int:
        return list(self.outputs).index(output)

    def collect(self, batches: Iterator[pa.RecordBatch]) -> dict[int, list[pa.RecordBatch]]:
        """Returns the rows that came with the stage, by tag, with the columns of their relation."""
        found: dict[int, list[pa.RecordBatch]] = {tag: [] for tag in self.inputs}
        for batch in batches:
            if not self.inputs:
                continue
            check()
            tags = batch.column(0)
            for tag, types in self.inputs.items():
                rows = batch.filter(pc.equal(tags, tag))
                if rows.num_rows:
                    found[tag].append(rows.select(columns_for(types)))
        return found

    def summary_batch(self, text: str) -> pa.RecordBatch:
        return self._batch(1, {TAG: pa.array([NO_RELATION], pa.int32()), SUMMARY: pa.array([text])})

    def result_batch(
        self,
        output: str,
        lanes: list[Lane],
        types: Sequence[DataType],
        texts: Texts,
        nullable: frozenset[int] = frozenset(),
    ) -> pa.RecordBatch:
        """Returns rows of a relation; `nullable` are its columns that may have nulls."""
        rows = len(lanes[0])
        columns = {
            name: arrow_column(lane, data_type, texts, narrow=False, nullable=place in nullable)
            for place, (name, lane, data_type) in enumerate(zip(columns_for(types), lanes, types, strict=True))
        }
        return self._batch(rows, {TAG: pa.array([self.tag_of(output)] * rows, pa.int32()), **columns})

    def _batch(self, rows: int, known: Mapping[str, pa.Array]) -> pa.RecordBatch:
        fields = {
            TAG: pa.int32(),
            SUMMARY: pa.string(),
            **{name: arrow_type(type_) for name, type_ in self.output_columns.items()},
        }
        arrays = [known[name] if name in known else pa.nulls(rows, kind) for name, kind in fields.items()]
        return pa.record_batch(arrays, names=list(fields))


def _widest(relations: Iterable[Sequence[DataType]]) -> dict[str, DataType]:
    found: dict[str, DataType] = {}
    for types in relations:
        found.update((name, _KEPT_AS.get(name[0], one)) for name, one in zip(columns_for(types), types, strict=True))
    return dict(sorted(found.items()))
