"""The log of a checkpoint: the tuples that a window ahead may still hold, from which the state can be made again.

Files are written once and never changed. Which of them count says the record of a step, so that a file which no record
names is as good as not there. Small files are merged into larger ones, level by level: each tuple is written again only
a few times while it is in a window, and what has left it is dropped on the way.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from emberlog.streams.state.backlog import TIME
from emberlog.streams.steps.tables import TableWriter, read_table
from emberlog.workers.store.folders import Folder

MERGED_AT_ONCE = 8
"""The number of files of a level that become one of the next."""


@dataclass(frozen=True, slots=True)
class LogFile:
    """Names a file of the log."""

    relation: str
    name: str
    rows: int
    greatest: int
    """The greatest time in it: when that has left the window, so has the file. 0 in a log that is not by time."""
    level: int = 0


class TupleLog:
    def __init__(self, folder: Folder, *, is_by_time: bool = True) -> None:
        """`is_by_time` unless nothing in it is ever dropped because of its time."""
        self.folder = folder
        self._is_by_time = is_by_time

    def append(self, tuples: Mapping[str, pa.Table]) -> list[LogFile]:
        return [self._write(relation, table, 0) for relation, table in tuples.items() if table.num_rows]

    def read(self, files: Iterable[LogFile], relation: str, schema: pa.Schema) -> pa.Table:
        found = [read_table(self.folder, file.name) for file in files if file.relation == relation]
        return pa.concat_tables([schema.empty_table(), *(table.cast(schema) for table in found)])

    def pruned(
        self,
        files: Sequence[LogFile],
        since: Callable[[str], int | None] = lambda _: None,
        compact: Callable[[str, pa.Table], pa.Table] = lambda _, rows: rows,
    ) -> list[LogFile]:
        """Returns the files without what came before `since`, which no window ahead can hold, and with small files
        merged. `compact` drops from merged rows what is of no use any more."""
        live = [file for file in files if (begin := since(file.relation)) is None or file.greatest >= begin]
        while (full := _full_level(live)) is not None:
            relation, level = full
            merged = [file for file in live if (file.relation, file.level) == full]
            table = pa.concat_tables([read_table(self.folder, file.name) for file in merged])
            if (begin := since(relation)) is not None:
                table = table.filter(pc.greater_equal(table.column(TIME), begin))
            table = compact(relation, table)
            live = [file for file in live if file not in merged]
            if table.num_rows:
                live.append(self._write(relation, table, level + 1))
        return live

    def _write(self, relation: str, table: pa.Table, level: int) -> LogFile:
        name = f"{uuid.uuid4().hex}.parquet"
        writer = TableWriter(self.folder, name, table.schema)
        writer.write(table)
        writer.close()
        greatest = pc.max(table.column(TIME)).as_py() if self._is_by_time else 0
        return LogFile(relation, name, table.num_rows, greatest, level)

    def filtered(self, files: Sequence[LogFile], keep: Callable[[str, pa.Table], pa.Table]) -> list[LogFile]:
        """Returns the files without the rows that `keep` leaves out of them."""
        found: list[LogFile] = []
        for file in files:
            kept = keep(file.relation, read_table(self.folder, file.name))
            if kept.num_rows == file.rows:
                found.append(file)
            elif kept.num_rows:
                found.append(self._write(file.relation, kept, file.level))
        return found


def _full_level(files: Iterable[LogFile]) -> tuple[str, int] | None:
    counts: dict[tuple[str, int], int] = {}
    for file in files:
        place = (file.relation, file.level)
        counts[place] = counts.get(place, 0) + 1
        if counts[place] == MERGED_AT_ONCE:
            return place
    return None
