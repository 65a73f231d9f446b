"""An evaluator that answers with the tuples of its window: enough to test everything around evaluators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pyarrow as pa

from emberlog.streams.evaluate.evaluator import Changes
from emberlog.streams.plan.slides import Slide

TUPLES = pa.schema([("c0", pa.int64()), ("c1", pa.int64())])
Tuples = frozenset[tuple[int, int]]


def table_of(rows: Tuples) -> pa.Table:
    ordered = sorted(rows)
    return pa.table([[row[place] for row in ordered] for place in (0, 1)], schema=TUPLES)


class Echo:
    """Of the streams `left` and `right` as the outputs `left_seen` and `right_seen`."""

    def __init__(self, statics: Mapping[str, pa.Table], _part: int, _parts: int) -> None:
        self._statics = statics
        self._window: dict[str, Tuples] = {}
        self._before: dict[str, Tuples] = {}
        self._copies: dict[str, Counter[tuple[int, int]]] = {}

    def advance(
        self, slide: Slide, arrived: Mapping[str, pa.Table], gone: Mapping[str, pa.Table] | None = None
    ) -> None:
        self._before = dict(self._window)
        for stream, table in arrived.items():
            copies = self._copies.setdefault(stream, Counter())
            copies.update(zip(*(column.to_pylist() for column in table.columns), strict=True))
            if gone is not None and stream in gone:
                copies.subtract(zip(*(column.to_pylist() for column in gone[stream].columns), strict=True))
            held = frozenset(row for row, count in copies.items() if count > 0)
            self._window[stream] = frozenset(row for row in held if slide.since is None or row[0] >= slide.since)

    def restore(self, slide: Slide, window: Mapping[str, pa.Table]) -> None:
        self.advance(slide, window)

    def answers(self) -> Mapping[str, pa.Table]:
        return {f"{stream}_seen": table_of(rows) for stream, rows in self._window.items()}

    def changes(self) -> Mapping[str, Changes]:
        return {
            f"{stream}_seen": Changes(
                table_of(rows - self._before.get(stream, frozenset())),
                table_of(self._before.get(stream, frozenset()) - rows),
            )
            for stream, rows in self._window.items()
        }

    def expired(self) -> int:
        return sum(len(rows - self._window[stream]) for stream, rows in self._before.items())

    def state_bytes(self) -> int:
        return 16 * sum(map(len, self._window.values()))
