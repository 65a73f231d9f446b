"""Programs over streams of every shape that people write, and how each relation of theirs follows a stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from emberlog.config import DEFAULT_LIMITS
from emberlog.live.maintain.recomputing import Recomputing
from emberlog.live.methods import maintainers
from emberlog.live.searches.facts import Relations
from emberlog.semantics.analysis import analyze
from emberlog.semantics.model import CheckedProgram
from emberlog.source import Source
from emberlog.streams.plan.maintenance import Method, plan_maintenance
from emberlog.syntax.parser import parse

_PAPERS = Path(__file__).parent / "golden" / "papers"
_STREAMS = (
    "STREAM e(Ts: timestamp, X: int, Y: int).\nSTREAM w(Ts: timestamp, X: int, Y: int, W: int).\n"
    "RELATION name(X: int, N: string).\nRELATION blocked(X: int).\n"
)
OF_THE_PAPER: Mapping[str, str] = {
    "Q2: employees of a department": "streamlog_query_2_employee_count",
    "Q3: sub-organisations": "streamlog_query_3_sub_organization",
    "Q4: cheapest path": "streamlog_query_4_cheap_path",
    "Q5: earliest organiser": "streamlog_query_5_earliest_organizer",
    "Q6: Lloyd clustering": "streamlog_query_6_lloyd_clustering",
    "Q7: PaperRank": "streamlog_query_7_paper_rank",
}
OTHERS: Mapping[str, tuple[str, str]] = {
    "a join": ("p(X, Z) :- e(_, X, Y), e(_, Y, Z).", "p(X, Z)"),
    "a join with a relation": ("p(X, N) :- e(_, X, _), name(X, N).", "p(X, N)"),
    "tuples soon after others": ("p(Y) :- e(S, X, Y), e(T, Y, _), int(S) < int(T), int(T) - int(S) < 4.", "p(Y)"),
    "the times of facts": ("p(Ts, X, Y) :- e(S, X, Y), e(T, Y, _), largest(Ts, S, T).", "p(Ts, X, Y)"),
    "negation of a relation": ("p(X, Y) :- e(_, X, Y), !blocked(X).", "p(X, Y)"),
    "negation of a stream": ("p(X) :- e(_, X, Y), !w(_, X, Y, _).", "p(X)"),
    "count": ("p(X, count<Y>) :- e(_, X, Y).", "p(X, N)"),
    "sum and average": ("p(X, sum<W>, avg<W>) :- w(_, X, _, W).", "p(X, S, A)"),
    "distinct values": ("p(X, countd<Y>) :- w(_, X, Y, _).", "p(X, N)"),
    "minimum": ("p(X, min<W>) :- w(_, X, _, W).", "p(X, W)"),
    "minimum and maximum": ("p(X, min<W>, max<W>) :- w(_, X, _, W).", "p(X, A, B)"),
    "who has the minimum": ("p(X, min<W>, argmin<W, Y>) :- w(_, X, Y, W).", "p(X, W, Y)"),
    "median": ("p(X, median<W>) :- w(_, X, _, W).", "p(X, M)"),
    "what is read of a count": ("n(X, count<Y>) :- e(_, X, Y).  p(X) :- n(X, N), N > 1.", "p(X)"),
    "closure, not linear": ("p(X, Y) :- e(_, X, Y).  p(X, Z) :- p(X, Y), p(Y, Z).", "p(X, Y)"),
    "mutual recursion": (
        "p(X) :- e(_, 1, X).  q(Y) :- p(X), e(_, X, Y).  p(Y) :- q(X), e(_, X, Y).",
        "p(X)",
    ),
    "components and their sizes": (
        "c(X, min<X>) :- e(_, X, _).  c(Y, min<L>) :- c(X, L), e(_, X, Y).  p(L, count<X>) :- c(X, L).",
        "p(L, N)",
    ),
    "stages": (
        "p(X, 0, sum<N>) :- e(_, X, _), N = 1.  p(Y, I + 1, sum<N>) :- p(X, I, N), e(_, X, Y), I < 5.",
        "p(X, I, N)",
    ),
}


def shapes() -> Iterator[tuple[str, CheckedProgram]]:
    """Yields the programs by what they are."""
    for name, folder in OF_THE_PAPER.items():
        # The 20 iterations of Q7 are an option of its run; they change no other program.
        iterations = 20 if name.startswith("Q7") else None
        source = Source(name, (_PAPERS / folder / "program.dl").read_text(encoding="utf-8"))
        yield name, analyze(parse(source), iterations=iterations)
    for name, (rules, query) in OTHERS.items():
        yield name, analyze(parse(Source(name, f"{_STREAMS}{rules}\nquery {query}, WINDOW(100, 10).")))


def slide_by_slide(checked: CheckedProgram) -> str:
    """Tells how the derived relations follow from slide to slide, and why some are computed anew."""
    return "; ".join(
        f"`{name}` anew: {choice.why}" if choice.method is Method.ANEW else f"`{name}` {choice.method.value}"
        for name, choice in plan_maintenance(checked).choices.items()
        if name in checked.relations and checked.relations[name].is_derived
    )


def tuple_by_tuple(checked: CheckedProgram) -> str:
    """Tells which relations a live view computes anew, and why; nothing if all follow their changes."""
    program = plan_maintenance(checked).program.checked
    anew = [one for one in maintainers(program, Relations(), DEFAULT_LIMITS) if isinstance(one, Recomputing)]
    return "; ".join(f"`{', '.join(one.relations)}` anew: {one.why}" for one in anew) or "follows"
