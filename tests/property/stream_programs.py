"""Random programs over random streams: any program of `shapes`, some of its inputs streams, and programs with times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from emberlog.semantics.model import Fact
from tests.programs import checked
from tests.property.programs import DECLARATIONS, INPUTS, STRINGS, RandomProgram
from tests.property.shapes import programs

MOMENTS = 14
"""Tuples have times under this."""


@dataclass(frozen=True, slots=True)
class RandomStream:
    text: str
    statics: Mapping[str, Sequence[Fact]]
    tuples: Mapping[str, Sequence[Fact]]


def window(draw: st.DrawFn) -> str:
    """Sometimes with gaps between windows, sometimes without any overlap, sometimes for ever."""
    if draw(st.integers(0, 5)) == 0:
        return ""
    size = draw(st.integers(1, 8))
    kind = draw(st.sampled_from(("WINDOW", "WINDOW", "HOP", "TUMBLE")))
    if kind == "TUMBLE":
        return f", TUMBLE({size})"
    return f", {kind}({size}, {draw(st.sampled_from((1, 1, 2, 3, size, size + 2)))})"


def arrivals(draw: st.DrawFn, facts: Sequence[Fact]) -> list[Fact]:
    """Each fact at none, one or several moments, some of them at the same; in any order. Some rows have nulls."""
    if not facts:
        return []
    burst = draw(st.integers(0, MOMENTS - 1))
    moments = st.one_of(st.integers(0, MOMENTS - 1), st.just(burst))
    rows = draw(st.lists(st.builds(lambda at, fact: (at, *fact), moments, st.sampled_from(facts)), max_size=24))
    broken = draw(st.lists(st.tuples(st.sampled_from(rows), st.integers(0, 9)), max_size=4)) if rows else []
    return rows + [with_null(row, place % len(row)) for row, place in broken]


def with_null(row: Fact, place: int) -> Fact:
    return (*row[:place], None, *row[place + 1 :])


@st.composite
def streamed_programs(draw: st.DrawFn) -> RandomStream:
    """A program over relations, where some relations are what a stream says, its times left out."""
    random: RandomProgram = draw(programs())
    streams = draw(st.lists(st.sampled_from(INPUTS), min_size=2, max_size=6, unique=True))
    lines = DECLARATIONS.splitlines()
    for one in streams:
        names = [chr(ord("A") + place) for place in range(len(one.types))]
        lines = [line for line in lines if not line.startswith(f"declare {one.name}(")]
        typed = ", ".join(f"{name}: {kind}" for name, kind in zip(names, one.types, strict=True))
        lines.append(f"STREAM {one.name}_stream(Ts: timestamp, {typed}).")
        lines.append(f"{one.name}({', '.join(names)}) :- {one.name}_stream(_, {', '.join(names)}).")
    lines += [*random.facts_in_text, *(rule.text for rule in random.rules)]
    facts = {name: sorted(fact for fact in rows if None not in fact) for name, rows in random.facts.items()}
    statics = {one.name: facts[one.name] for one in INPUTS if one not in streams}
    tuples = {f"{one.name}_stream": arrivals(draw, facts[one.name]) for one in streams}
    return RandomStream(_with_queries("\n".join(lines), random.queries, window(draw)), statics, tuples)


def _with_queries(text: str, queries: Sequence[str], window: str) -> str:
    """Queries of what is derived from a stream have the window; without any, everything derived is asked for."""
    relations = checked(text).relations
    if not queries:
        queries = [
            f"{relation.name}({', '.join(f'V{place}' for place in range(relation.arity))})?"
            for relation in relations.values()
            if relation.is_derived and relation.name.startswith("p")
        ]
    for query in queries:
        atom = query.removesuffix("?")
        text += f"\nquery {atom}{window if relations[atom.partition('(')[0]].is_stream else ''}."
    return text + "\n"


TIMED = (
    "reach(Ts, X, Y) :- e(Ts, X, Y). reach(Ts, X, Z) :- e(T1, X, Y), reach(T2, Y, Z), largest(Ts, T1, T2).",
    "reach(Ts, X, Y) :- e(Ts, X, Y). reach(Ts, X, Z) :- reach(T1, X, Y), reach(T2, Y, Z), largest(Ts, T1, T2).",
    "reach(Ts, X) :- X = 1, e(Ts, X, _). reach(Ts, Y) :- reach(T1, X), e(T2, X, Y), largest(Ts, T1, T2), !blocked(Y).",
    "best(Ts, X, Y, min<W>) :- w(Ts, X, Y, W). "
    "best(Ts, X, Z, min<W>) :- w(T1, X, Y, W1), best(T2, Y, Z, W2), W = W1 + W2 + 1, largest(Ts, T1, T2).",
    "wide(Ts, X, Y, max<W>) :- w(Ts, X, Y, W). "
    "wide(Ts, X, Z, max<W>) :- w(T1, X, Y, W1), wide(T2, Y, Z, W2), W = least(W1, W2), largest(Ts, T1, T2).",
    "org(Ts, X, mmin<X>) :- e(Ts, X, _). org(Ts, Y, mmin<V>) :- org(T1, X, V), e(T2, X, Y), largest(Ts, T1, T2).",
    "best(Ts, X, Y, min<W>) :- w(Ts, X, Y, W), !blocked(X). "
    "best(Ts, X, Z, min<W>) :- best(T1, X, Y, W1), best(T2, Y, Z, W2), W = W1 + W2 + 1, largest(Ts, T1, T2). "
    "cheap(Ts, X) :- best(Ts, X, _, W), W < 3. sum(Ts, N) :- best(Ts, X, Y, W), W < 3, N = X + Y. "
    "least_of(Ts, X, min<W>) :- best(Ts, X, _, W). closed(Ts, X, Z) :- cheap(T1, X), e(T2, X, Z), larger(Ts, T1, T2).",
    "low(Ts, X, min<W>) :- w(Ts, X, _, W).",
    "pair(Ts, X, Z) :- e(T1, X, Y), w(T2, Y, Z, W), W > 0, largest(Ts, T1, T2).",
    "quiet(Ts, X) :- e(Ts, X, Y), !w(_, X, Y, _). loud(Ts, X) :- e(Ts, X, _), !quiet(_, X).",
    "deg(Ts, X, count<Y>) :- e(Ts, X, Y). busy(Ts, X) :- deg(Ts, X, N), N > 1.",
    "load(Ts, X, sum<W>) :- w(Ts, X, _, W). mean(Ts, X, avg<W>) :- w(Ts, X, _, W).",
    "soon(T2, X) :- e(T1, X, Y), e(T2, Y, _), int(T1) < int(T2), int(T2) - int(T1) < 4.",
    "both(Ts, X) :- e(Ts, X, _), w(Ts, X, _, _).",
    "seen(Ts, X, count<_>) :- w(Ts, X, _, _).",
    "from(Ts, X, max<W>) :- w(Ts, X, _, W).",
    "last(max<Ts>, X) :- e(Ts, X, _).",
    "alarm(Ts) :- w(Ts, X, X, _).",
    "calls(Ts, X, mcount<(Y, 1)>) :- e(Ts, X, Y). "
    "calls(Ts, X, mcount<(Y, N)>) :- calls(T1, Y, N), e(T2, X, Y), X < Y, largest(Ts, T1, T2).",
    "named(Ts, X, N) :- e(Ts, X, _), name(X, N).",
    "near(Ts, X, min<W>, argmin<W, Y>) :- w(Ts, X, Y, W).",
    "seen(Ts, X) :- low(Ts, X, _). low(Ts, X, min<W>) :- w(Ts, X, _, W).",
    "path(Ts, X, Y, min<W>) :- w(Ts, X, Y, W). path(Ts, 1, 2, 5) :- e(Ts, 1, _). "
    "cheap(Ts, X) :- path(Ts, X, _, W), W < 3.",
)
"""Derived times in each kind of relation."""


@st.composite
def timed_programs(draw: st.DrawFn) -> RandomStream:
    """One or two of the programs above; each relation is asked for with its time or without."""
    rules = " ".join(draw(st.lists(st.sampled_from(TIMED), min_size=1, max_size=2, unique_by=_heads)))
    text = (
        "STREAM e(Ts: timestamp, X: int, Y: int).\nSTREAM w(Ts: timestamp, X: int, Y: int, W: int).\n"
        "RELATION name(X: int, N: string).\nRELATION blocked(X: int).\n" + rules
    )
    shown = window(draw)
    relations = checked(text).relations
    for relation in relations.values():
        if relation.is_derived and draw(st.integers(0, 3)):
            time = draw(st.sampled_from(("Ts", "_")))
            others = "".join(f", V{place}" for place in range(1, relation.arity))
            text += f"\nquery {relation.name}({time}{others}){shown}."
    small = st.integers(0, 3)
    pairs = draw(st.lists(st.tuples(small, small), min_size=1, max_size=8))
    triples = draw(st.lists(st.tuples(small, small, st.integers(0, 4)), min_size=1, max_size=8))
    statics: dict[str, list[Fact]] = {
        "name": draw(st.lists(st.tuples(small, st.sampled_from(STRINGS)), max_size=4)),
        "blocked": draw(st.lists(st.tuples(small), max_size=1)),
    }
    return RandomStream(text, statics, {"e": arrivals(draw, pairs), "w": arrivals(draw, triples)})


def _heads(rules: str) -> str:
    return rules.partition("(")[0]
