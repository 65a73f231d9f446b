"""For each pass, a program that it is made for, with the pass and without.

    python -m benchmarks.pass_cases [--only linearise …] [--timeout 60] [--repeat 1]

Everything runs in this process, on `Database(engine="local")`. The rows are those of all relations that were computed,
the rounds those of all recursions.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.data import randomness
from emberlog.config import Limits
from emberlog.database import Database
from emberlog.diagnostics import EmberlogError
from emberlog.events import Event, StratumFinished
from emberlog.syntax.ast import Value

Rows = list[tuple[int, ...]]
Data = dict[str, Rows]


@dataclass(frozen=True, slots=True)
class PassCase:
    title: str
    without: str
    """The pass."""
    program: str
    data: Callable[[float], Data]
    """Of a size: 1 is what is measured, a small part of it what tests run."""
    params: dict[str, Value]


@dataclass(frozen=True, slots=True)
class Measured:
    seconds: float
    rows: int
    rounds: int
    answer: frozenset[tuple[object, ...]] | None
    """None if it did not come to its end."""


def arcs(vertices: int, count: int, *, weights: int = 0, extra: int = 0, seed: int = 1) -> Rows:
    """Random arcs, each once, with a weight from 1 up and with further columns if asked for."""
    random = randomness.Sequence(seed, f"pass cases {vertices} {count}")
    ends = zip(random.below(vertices, count).tolist(), random.below(vertices, count).tolist(), strict=True)
    weight = random.below(max(weights, 1), count).tolist()
    return [
        (*pair, *([weight[i] + 1] if weights else []), *([0] * extra)) for i, pair in enumerate(dict.fromkeys(ends))
    ]


def layers(number: int, width: int, degree: int, labels: int) -> Rows:
    """Arcs from each layer of vertices to the next, each with a label."""
    random = randomness.Sequence(1, f"layers {number} {width} {degree}")
    count = width * degree
    found: dict[tuple[int, ...], None] = {}
    for layer in range(number - 1):
        columns = (random.below(width, count), random.below(width, count), random.below(labels, count))
        for source, target, label in zip(*(column.tolist() for column in columns), strict=True):
            found[layer * width + source, (layer + 1) * width + target, label] = None
    return list(found)


def _graph(vertices: int, count: int, *, weights: int = 0, extra: int = 0) -> Callable[[float], Data]:
    return lambda size: {
        "arc": arcs(max(int(vertices * size), 8), max(int(count * size), 16), weights=weights, extra=extra),
        "few": [(1,), (2,), (3,)],
        "ends": arcs(max(int(vertices * size), 8), max(int(vertices * size), 8), seed=2),
    }


def _payments(people: int, each: int) -> Callable[[float], Data]:
    """Who knows whom, and many payments of each."""

    def made(size: float) -> Data:
        count = max(int(people * size), 8)
        return {
            "knows": arcs(count, count * 20),
            "paid": [(place % count, place * 7_919 % 100_003) for place in range(count * each)],
        }

    return made


_STEP = "tc(X, Y) :- arc(X, Y). tc(X, Y) :- "
_SHORTEST = "far(X, Y, min<D>) :- path(X, Y, D). far(3, Y, D)?"
_WIDE = ", ".join("_" * 10)

CASES = (
    PassCase(
        "a number and the one before",
        "join_by_computed_keys",
        "pair(X, Y, Z) :- arc(X, Y), arc(X - 1, Z). pair(X, Y, Z)?",
        _graph(2_000, 6_000),
        {},
    ),
    PassCase(
        "components of links in both directions",
        "unfold_renamings",
        "link(X, Y) :- arc(X, Y). link(Y, X) :- arc(X, Y). "
        "component(X, min<X>) :- link(X, _). component(Y, min<L>) :- component(X, L), link(X, Y). component(X, L)?",
        _graph(20_000, 400_000),
        {},
    ),
    PassCase(
        "two hops from three vertices",
        "unfold_single_use",
        "two(X, Y, Z) :- arc(X, Y), arc(Y, Z). near(Z) :- two(X, _, Z), few(X). near(Z)?",
        _graph(2_000, 40_000),
        {},
    ),
    PassCase(
        "all paths, then the least, from one vertex of a graph with cycles",
        "push_aggregate_into_recursion",
        "path(X, Y, D) :- arc(X, Y, D). path(X, Y, D) :- path(X, Z, A), arc(Z, Y, B), D = A + B. " + _SHORTEST,
        _graph(3_000, 9_000, weights=100),
        {},
    ),
    PassCase("closure of paths and paths", "linearise", _STEP + "tc(X, Z), tc(Z, Y).", _graph(600, 1_200), {}),
    PassCase(
        "least lengths of paths and paths, from one vertex",
        "linearise",
        "d(X, Y, min<D>) :- arc(X, Y, D). d(X, Y, min<D>) :- arc(X, Z, A), d(Z, Y, B), D = A + B. d(3, Y, D)?",
        _graph(600, 1_800, weights=100),
        {},
    ),
    PassCase(
        "closure from three vertices",
        "rewrite_demand",
        _STEP + "tc(X, Z), arc(Z, Y). part(X, Y) :- few(X), tc(X, Y). part(X, Y)?",
        _graph(2_000, 4_000),
        {},
    ),
    PassCase(
        "a search that ends by other arcs than it goes by",
        "rewrite_demand",
        "to(X, Y) :- ends(X, Y). to(X, Y) :- arc(X, Z), to(Z, Y). to(3, Y)?",
        _graph(2_000, 4_000),
        {},
    ),
    PassCase(
        "two, three and four hops",
        "share_common_bodies",
        "two(X, Z) :- arc(X, Y), arc(Y, Z). three(X, W) :- arc(X, Y), arc(Y, Z), arc(Z, W). "
        "four(X, V) :- arc(X, Y), arc(Y, Z), arc(Z, W), arc(W, V).",
        _graph(300, 3_000),
        {},
    ),
    PassCase(
        "same generation by label, 20 children by label",
        "split_between_joins",
        "sg(X, Y, T) :- arc(P, X, T), arc(P, Y, T), X != Y. sg(X, Y, T) :- arc(A, X, T), sg(A, B, T), arc(B, Y, T).",
        lambda size: {"arc": layers(8, max(int(300 * size), 20), 40, 2)},
        {},
    ),
    PassCase(
        "a rule for a case that is switched off",
        "fold_constants",
        "all(X, Z) :- arc(X, Y), arc(Y, Z), $all = 1. from(X) :- arc(X, _).",
        _graph(1_000, 40_000),
        {"all": 0},
    ),
    PassCase(
        "a condition on the end of two hops",
        "push_down_filter",
        "two(X, Z) :- arc(X, Y), arc(Y, Z), Z < 10.",
        _graph(1_000, 20_000),
        {},
    ),
    PassCase(
        "two hops over rows of twelve columns",
        "prune_columns",
        f"two(X, Z) :- arc(X, Y, {_WIDE}), arc(Y, Z, {_WIDE}).",
        _graph(1_000, 20_000, extra=10),
        {},
    ),
    PassCase(
        "people who know somebody who paid, which is a set once the sum is left out",
        "prune_columns",
        "near(X) :- knows(X, Y), paid(Y, _). near(X)?",
        _payments(2_000, 100),
        {},
    ),
    PassCase(
        "a closure with rules for other cases than the one that is chosen",
        "simplify",
        _STEP
        + "tc(X, Z), arc(Z, Y), $by = 1. tc(X, Y) :- tc(X, Z), ends(Z, Y), $by = 2. tc(X, Y) :- tc(Y, X), $by = 3.",
        _graph(600, 900),
        {"by": 1},
    ),
    PassCase(
        "people who know somebody who paid",
        "reduce_by_semijoin",
        "near(X) :- knows(X, Y), paid(Y, _). near(X)?",
        _payments(2_000, 100),
        {},
    ),
    PassCase(
        "what those paid whom somebody knows, added up",
        "aggregate_eagerly",
        "total(X, sum<V>) :- knows(X, Y), paid(Y, V).",
        _payments(2_000, 100),
        {},
    ),
    PassCase(
        "the least that was paid by somebody whom one knows",
        "aggregate_eagerly",
        "least_paid(X, min<V>) :- knows(X, Y), paid(Y, V).",
        _payments(2_000, 100),
        {},
    ),
    PassCase(
        "whom somebody knows, if anybody paid",
        "ask_for_existence",
        "known(Y) :- knows(_, Y), paid(_, _).",
        _payments(200, 20),
        {},
    ),
    PassCase(
        "closure of a long path",
        "derive_delta_rules",
        _STEP + "tc(X, Z), arc(Z, Y).",
        lambda size: {"arc": [(place, place + 1) for place in range(max(int(500 * size), 8))]},
        {},
    ),
    PassCase(
        "three hops to one of three vertices, written from the far end",
        "reorder_joins",
        "to(A, D) :- arc(A, B), arc(B, C), arc(C, D), few(D).",
        _graph(2_000, 20_000),
        {},
    ),
)


def measure(case: PassCase, size: float, off: Sequence[str], timeout: float | None = None) -> Measured:
    finished: list[StratumFinished] = []

    def listen(event: Event) -> None:
        if isinstance(event, StratumFinished):
            finished.append(event)

    with Database(engine="local") as database:
        for name, rows in case.data(size).items():
            database[name] = rows
        since = time.perf_counter()
        answer = None
        try:
            limits = Limits(timeout=timeout)
            result = database.datalog(case.program, params=case.params, off=off, limits=limits, listener=listen)
            answer = frozenset((name, *fact) for name, relation in result.items() for fact in relation.facts)
        except EmberlogError as error:
            if not any(diagnostic.code == "DL512" for diagnostic in error.diagnostics):
                raise
        seconds = time.perf_counter() - since
    rounds = sum(one.iterations for one in finished)
    return Measured(seconds, sum(one.rows or 0 for one in finished), rounds, answer)


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--only", nargs="+", metavar="PASS", default=[])
    options.add_argument("--timeout", type=float, default=60.0)
    options.add_argument("--repeat", type=int, default=1)
    given = options.parse_args()
    header = ("pass", "case", "s with it", "s without", "slower by", "rows", "rounds")
    print(f"| {' | '.join(header)} |\n|{' --- |' * len(header)}")
    for case in CASES:
        if given.only and case.without not in given.only:
            continue
        measured = []
        for off in ((), (case.without,)):
            runs = [measure(case, 1, off, given.timeout) for _ in range(given.repeat)]
            measured.append(min(runs, key=lambda run: run.seconds))
        on, off_ = measured
        assert off_.answer in (None, on.answer)
        without = f"{off_.seconds:.2f}" if off_.answer is not None else f"over {given.timeout:.0f}"
        print(
            f"| {case.without} | {case.title} | {on.seconds:.2f} | {without} | {off_.seconds / on.seconds:.1f} × "
            f"| {on.rows:,} → {off_.rows:,} | {on.rounds:,} → {off_.rounds:,} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
