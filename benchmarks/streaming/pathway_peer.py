"""Runs transactions through Pathway, in an environment of its own: reads them, and writes the answer.

Each batch of rows is committed when the changes of the one before have been told, so that none are taken together.
"""

from __future__ import annotations

import json
import sys
import time
from threading import Event
from typing import Any

import pathway as pw

PATIENCE = 0.5
"""Seconds to wait for the changes of a batch: one that changes nothing may tell nothing."""


ARC = pw.schema_builder(
    {
        "number": pw.column_definition(primary_key=True, dtype=int),
        **{name: pw.column_definition(dtype=int) for name in ("u", "v", "w")},
    },
    name="Arc",
)


def components(arcs: Any) -> Any:
    arcs = arcs.select(u=pw.this.u, v=pw.this.v)
    links = pw.Table.concat_reindex(arcs, arcs.select(u=pw.this.v, v=pw.this.u))
    own = links.groupby(pw.this.u).reduce(x=pw.this.u, value=pw.reducers.min(pw.this.u))

    def step(known: Any, links: Any) -> dict[str, Any]:
        offered = links.join(known, pw.left.v == pw.right.x).select(x=pw.left.u, value=pw.right.value)
        both = pw.Table.concat_reindex(known.select(x=pw.this.x, value=pw.this.value), offered)
        best = both.groupby(pw.this.x).reduce(x=pw.this.x, value=pw.reducers.min(pw.this.value))
        return {"known": best.with_universe_of(known), "links": links}

    return pw.iterate(step, known=own, links=links).known


def distances(arcs: Any) -> Any:
    start = pw.debug.table_from_rows(pw.schema_from_types(x=int, value=int), [(0, 0)])
    start = start.groupby(pw.this.x).reduce(x=pw.this.x, value=pw.reducers.min(pw.this.value))

    def step(known: Any, arcs: Any) -> dict[str, Any]:
        offered = arcs.join(known, pw.left.u == pw.right.x).select(x=pw.left.v, value=pw.right.value + pw.left.w)
        both = pw.Table.concat_reindex(known.select(x=pw.this.x, value=pw.this.value), offered)
        best = both.groupby(pw.this.x).reduce(x=pw.this.x, value=pw.reducers.min(pw.this.value))
        return {"known": best, "arcs": arcs}

    return pw.iterate(step, known=pw.iterate_universe(start), arcs=arcs).known


def sums(arcs: Any) -> Any:
    return arcs.groupby(pw.this.u).reduce(x=pw.this.u, value=pw.reducers.sum(pw.this.w), count=pw.reducers.count())


PROGRAMS = {"wcc": components, "sssp": distances, "sum": sums}


def main() -> None:
    given = json.load(sys.stdin)
    told = Event()
    answer: dict[Any, tuple[int, ...]] = {}

    def run(self: Any) -> None:
        for come, gone in given["batches"]:
            told.clear()
            for number, u, v, w in gone:
                self.delete(number=number, u=u, v=v, w=w)
            for number, u, v, w in come:
                self.next(number=number, u=u, v=v, w=w)
            self.commit()
            told.wait(PATIENCE)

    def change(key: Any, row: Any, time: int, is_addition: bool) -> None:
        fact = tuple(row[name] for name in ("x", "value", "count") if name in row)
        if is_addition:
            answer[key] = fact
        elif answer.get(key) == fact:
            del answer[key]

    source = type("Source", (pw.io.python.ConnectorSubject,), {"run": run})()
    arcs = pw.io.python.read(source, schema=ARC, autocommit_duration_ms=None)
    pw.io.subscribe(PROGRAMS[given["program"]](arcs), on_change=change, on_time_end=lambda time: told.set())
    since = time.process_time()
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    seconds = time.process_time() - since
    print(json.dumps({"seconds": seconds, "facts": sorted(answer.values())}))


main()
