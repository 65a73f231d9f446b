"""What a query with a constant costs beside the program that somebody would write by hand for that constant.

    python -m benchmarks.demand_cost [--edges 1000000] [--vertices 100000] [--repeat 3] [--executor dataframe …]

`reach(977, Y)?` over the closure of a random graph should cost about a search from 977, whichever way round the closure
is written. The last lines of each executor have the ratios.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from benchmarks.data.randomness import Sequence
from emberlog.config import EXECUTORS, Execution
from emberlog.database import Database

SOURCE = 977
BY_HAND = f"""\
declare arc(a: int, b: int).
reach(Y) :- arc({SOURCE}, Y).
reach(Y) :- reach(X), arc(X, Y).
"""
BY_QUERY = f"""\
declare arc(a: int, b: int).
reach(X, Y) :- arc(X, Y).
reach(X, Y) :- reach(X, Z), arc(Z, Y).
reach({SOURCE}, Y)?
"""
PROGRAMS = {
    "by hand": BY_HAND,
    "by query": BY_QUERY,
    "the other way round": BY_QUERY.replace("reach(X, Z), arc(Z, Y)", "arc(X, Z), reach(Z, Y)"),
}


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--edges", type=int, default=1_000_000)
    options.add_argument("--vertices", type=int, default=100_000)
    options.add_argument("--repeat", type=int, default=3)
    options.add_argument("--executor", nargs="+", choices=EXECUTORS, default=["dataframe", "auto"])
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder, Database(conf={"spark.sql.shuffle.partitions": "16"}) as database:
        file = Path(folder) / "arc.parquet"
        random = Sequence(1, "demand cost")
        columns = [random.below(given.vertices, given.edges) for _ in range(2)]
        pa.parquet.write_table(pa.table(columns, names=["a", "b"]), file)
        database["arc"] = str(file)
        print(f"{given.edges:,} arcs, {given.vertices:,} vertices; seconds of each run, the first one apart")
        for executor in given.executor:
            runs: dict[str, list[tuple[int, float]]] = {name: [] for name in PROGRAMS}
            for _ in range(given.repeat + 1):
                for name, program in PROGRAMS.items():
                    runs[name].append(_seconds(database, program, executor))
            medians = {}
            for name, ((facts, first), *others) in runs.items():
                shown = " ".join(f"{seconds:.2f}" for _, seconds in others)
                print(f"{executor:10} {name:19} {facts:,} facts  {first:.2f}  {shown}")
                medians[name] = statistics.median(seconds for _, seconds in others)
            for name in list(PROGRAMS)[1:]:
                print(f"{executor:10} {name} costs {medians[name] / medians['by hand']:.2f} times as much", flush=True)


def _seconds(database: Database, program: str, executor: str) -> tuple[int, float]:
    since = time.perf_counter()
    with database.datalog(program, execution=Execution(executor=executor)) as result:
        facts = result["reach"].count()
    return facts, time.perf_counter() - since


if __name__ == "__main__":
    main()
