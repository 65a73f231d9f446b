"""Brings what the recursion reads to the workers: each reads its share, and rows go to those who need them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TypeAlias, assert_never

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from emberlog.datatypes import BOOL, FLOAT, STRING, DataType
from emberlog.io.local_relation import cell_of
from emberlog.workers.kernels.hashing import parts_by_owner
from emberlog.workers.kernels.lanes import NULL, Lane, Lanes, floats_to_lane, joined
from emberlog.workers.kernels.memory import claim
from emberlog.workers.kernels.tuning import COPIES_IN_MEMORY
from emberlog.workers.plan.worker_plan import WorkerPlan
from emberlog.workers.store.folders import Unopened, open_file, said_why
from emberlog.workers.store.hot_keys import NO_HOT_KEYS, HotKeys
from emberlog.workers.store.partitioning import Partitioning
from emberlog.workers.store.stores import StaticStore, distinct_rows
from emberlog.workers.store.texts import Texts
from emberlog.workers.wire.messages import Carrier, Message


@dataclass(frozen=True, slots=True)
class InlineRows:
    """Few rows, sent along with the task: an Arrow table as bytes."""

    data: bytes


@dataclass(frozen=True, slots=True)
class ParquetFiles:
    """Files that every worker can open, and their columns in the order of the relation."""

    paths: tuple[str, ...]
    """Paths, or addresses of Arrow."""
    columns: tuple[str, ...]
    rows: int
    groups: tuple[int, ...]
    """How many groups of rows each has: a worker opens only those that it reads from."""
    sizes: tuple[int, ...]
    """How many bytes each has: on a machine with another file of that name a worker sees that it is another."""

    @staticmethod
    def of(footers: Sequence[Footer], columns: Sequence[str]) -> ParquetFiles:
        return ParquetFiles(
            tuple(one.path for one in footers),
            tuple(columns),
            sum(one.rows for one in footers),
            tuple(one.groups for one in footers),
            tuple(one.size for one in footers),
        )


@dataclass(frozen=True, slots=True)
class Footer:
    """Holds what the end of a Parquet file tells of it."""

    path: str
    rows: int
    groups: int
    size: int
    schema: pa.Schema


def read_footer(path: str) -> Footer:
    """Reads the footer of a file by its path or address. Raises Unopened."""
    with open_file(path) as file:
        found = pq.read_metadata(file)
        rows, groups = int(found.num_rows), int(found.num_row_groups)
        return Footer(path, rows, groups, int(file.size()), found.schema.to_arrow_schema())


@dataclass(frozen=True, slots=True)
class StageRows:
    """Rows that come with the stage itself, where workers and driver share no disk: tagged with this number."""

    tag: int


Source: TypeAlias = InlineRows | ParquetFiles | StageRows


@dataclass(frozen=True, slots=True)
class Feed:
    """Describes one relation that the recursion reads."""

    relation: str
    types: tuple[DataType, ...]
    source: Source
    partitioned_by: int | None
    """The column by which its rows are spread; None where every worker needs all of them."""
    is_set: bool
    """False where rows may be repeated and somebody would notice."""
    used: frozenset[int]
    """The columns that somebody reads; the others are not brought."""
    nullable: frozenset[int] = frozenset()
    """The columns that may have nulls."""
    copy_of: str | None = None
    """The relation whose rows these are, spread in another way."""


def with_copies(feeds: Iterable[Feed], worker_plan: WorkerPlan) -> tuple[Feed, ...]:
    """Adds the copies of relations that are spread by further columns."""
    found = {one.relation: one for one in feeds}
    copies = [
        replace(found[name], relation=copy, partitioned_by=worker_plan.spread[copy], copy_of=name)
        for copy, name in worker_plan.copied.items()
        if name in found  # else the job makes it
    ]
    return (*found.values(), *copies)


def bytes_on_each(one: Feed, workers: int) -> int:
    """Estimates how much memory a relation takes on each worker, if its files tell how long it is."""
    if not isinstance(one.source, ParquetFiles):
        return 0
    rows = one.source.rows
    share = rows if one.partitioned_by is None else -(-rows // workers)
    return 8 * len(one.types) * share * COPIES_IN_MEMORY


class Unseen(Exception):
    """Says why a worker cannot read the files of an input, which the driver can."""

    def __init__(self, relation: str, why: str) -> None:
        super().__init__(why)
        self.relation = relation


class Unfit(Exception):
    """Says that the data has something that this executor cannot keep; the text says what."""


class MeetsNulls(Exception):
    """Says that relations have nulls where none were expected: in which columns, by relation."""

    def __init__(self, columns: Mapping[str, list[int]]) -> None:
        super().__init__()
        self.columns = columns


def feed(
    feeds: Sequence[Feed],
    number: int,
    workers: int,
    exchange: Carrier,
    stage_rows: Mapping[int, Sequence[pa.RecordBatch]],
    texts: Texts,
    divide: Callable[[Mapping[str, Lanes]], tuple[Partitioning, HotKeys]],
) -> tuple[dict[str, StaticStore], Partitioning, HotKeys]:
    """Returns the relations as this worker keeps them, and how they are spread, which `divide` says when everyone has
    read its part of them. Texts are codes of `texts`, which the exchange hands round."""
    plain = [one for one in feeds if one.copy_of is None]
    read = {one.relation: _share(one, number, workers, stage_rows) for one in plain}
    unexpected = {one.relation: [*_unexpected_nulls(one, read[one.relation])] for one in plain}
    if any(unexpected.values()):
        raise MeetsNulls({name: columns for name, columns in unexpected.items() if columns})
    shares = {one.relation: encoded(one, read.pop(one.relation), texts) for one in plain}
    shares |= {one.relation: shares[one.copy_of] for one in feeds if one.copy_of is not None}
    partitioning, hot_keys = divide(shares)
    mail = [Message() for _ in range(workers)]
    for channel, one in enumerate(feeds):
        _address(mail, channel, one.relation, shares.pop(one.relation), one.partitioned_by, partitioning, hot_keys)
    received = exchange.swap(mail)
    statics: dict[str, StaticStore] = {}
    for channel, one in enumerate(feeds):
        parts = [message.batches.pop(channel) for message in received if channel in message.batches]
        lanes = joined(parts, len(one.types))
        statics[one.relation] = StaticStore(lanes if one.is_set else distinct_rows(lanes))
    return statics, partitioning, hot_keys


def spread_rows(exchange: Carrier, workers: int, lanes: Lanes, column: int | None, partitioning: Partitioning) -> Lanes:
    """Returns rows that arose somewhere, where they are needed."""
    mail = [Message() for _ in range(workers)]
    _address(mail, 0, "", lanes, column, partitioning, NO_HOT_KEYS)
    received = exchange.swap(mail)
    return joined([message.batches[0] for message in received if 0 in message.batches], lanes.shape[0])


def _address(
    mail: list[Message],
    channel: int,
    relation: str,
    lanes: Lanes,
    column: int | None,
    partitioning: Partitioning,
    hot_keys: HotKeys,
) -> None:
    if not lanes.shape[1]:
        return
    if column is None or len(mail) == 1:
        for message in mail:
            message.batches[channel] = lanes
        return
    claim(lanes.nbytes + 8 * lanes.shape[1])
    owner = hot_keys.owners(relation, lanes, column, partitioning, len(mail))
    for worker, part in parts_by_owner(lanes, owner, len(mail)):
        mail[worker].batches[channel] = part


def _share(
    one: Feed, number: int, workers: int, stage_rows: Mapping[int, Sequence[pa.RecordBatch]]
) -> list[pa.ChunkedArray]:
    """This worker's part of the rows, a column each; those that nobody reads may be anything of the same length."""
    match one.source:
        case InlineRows(data):
            table = pa.ipc.open_stream(data).read_all()
            begin, end = _bounds(table.num_rows, number, workers)
            return list(table.slice(begin, end - begin).columns)
        case ParquetFiles(_, columns) as files:
            used = sorted(one.used) or [0]
            try:
                read = _read_parquet(files, [columns[place] for place in used], number, workers)
            except Unopened as problem:
                raise Unseen(one.relation, str(problem)) from None
            by_place = dict(zip(used, read, strict=bool(read)))
            return [by_place.get(place, read[0]) for place in range(len(columns))] if read else []
        case StageRows(tag):
            batches = stage_rows.get(tag, ())
            return list(pa.Table.from_batches(batches).columns) if batches else []
        case _:
            assert_never(one.source)


def _bounds(rows: int, number: int, workers: int) -> tuple[int, int]:
    return rows * number // workers, rows * (number + 1) // workers


def _read_parquet(files: ParquetFiles, columns: Sequence[str], number: int, workers: int) -> list[pa.ChunkedArray]:
    """Reads this worker's part of the files: whole groups of rows where there are enough of them, so that each is read
    once, else some rows of one or two."""
    groups = [(file, group) for file, count in enumerate(files.groups) for group in range(count)]
    first, last = _bounds(len(groups), number, workers)
    if len(groups) < workers:
        last = -(-len(groups) * (number + 1) // workers)
    tables: list[pa.Table] = []
    for number_of_file, own in groupby(enumerate(groups[first:last], first), lambda one: one[1][0]):
        path = files.paths[number_of_file]
        with open_file(path) as opened, said_why(path), pq.ParquetFile(opened, pre_buffer=True) as file:
            if opened.size() != files.sizes[number_of_file]:
                raise Unopened(f"`{path}` is another file here than where the run was started")
            for place, (_, group) in own:
                claim(file.metadata.row_group(group).total_byte_size)
                table = file.read_row_group(group, columns=list(columns), use_threads=False)
                if len(groups) < workers:
                    rows = table.num_rows
                    begin, end = (
                        min(max(rows * (len(groups) * one - place * workers) // workers, 0), rows)
                        for one in (number, number + 1)
                    )
                    table = table.slice(begin, end - begin)
                tables.append(table)
    if not tables:
        return []
    table = pa.concat_tables(tables)
    return [table.column(name) for name in columns]


def encoded(one: Feed, columns: Sequence[pa.ChunkedArray], texts: Texts) -> Lanes:
    """Returns columns of values as lanes."""
    rows = len(columns[0]) if columns else 0
    claim(8 * len(one.types) * rows)
    lanes = np.zeros((len(one.types), rows), np.int64)
    for place, (column, data_type) in enumerate(zip(columns, one.types, strict=bool(columns))):
        if place in one.used:
            try:
                lanes[place] = lane_of_column(column, data_type, texts, nullable=place in one.nullable)
            except LikeNull:
                raise Unfit(f"`{one.relation}` has nulls, and the int that stands for them") from None
    return lanes


def _unexpected_nulls(one: Feed, columns: Sequence[pa.ChunkedArray]) -> Iterator[int]:
    for place, column in enumerate(columns):
        if place in one.used and place not in one.nullable and column.null_count:
            yield place


class LikeNull(Exception):
    """Says that a column that has nulls has the int that stands for them, too."""


def lane_of_column(column: pa.ChunkedArray, data_type: DataType, texts: Texts, *, nullable: bool = False) -> Lane:
    """Returns a column of values as a lane; raises LikeNull. There are nulls in it only if it is `nullable`."""
    if nullable:
        null = column.is_null().to_numpy()
        there = lane_of_column(column.drop_null(), data_type, texts)
        if bool((there == NULL).any()):
            raise LikeNull
        filled = np.full(len(null), NULL, np.int64)
        filled[~null] = there
        return filled
    if data_type.parts:
        return texts.encode_values(map(cell_of, column.to_pylist()), data_type)
    if data_type == STRING:
        return texts.encode(column)
    if data_type == FLOAT:
        return floats_to_lane(column.to_numpy().astype(np.float64, copy=False))
    plain = column.cast(pa.int8()) if data_type == BOOL else column
    lane: Lane = plain.to_numpy().astype(np.int64, copy=False)
    return lane
