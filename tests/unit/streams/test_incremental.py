"""What incremental evaluation keeps, gives up, forgets and refuses."""

from __future__ import annotations

import pyarrow as pa
import pytest

from emberlog.diagnostics import EmberlogError
from emberlog.semantics.model import Fact
from emberlog.streams.evaluate import incremental
from emberlog.streams.evaluate.incremental import MANY_TEXTS, IncrementalEvaluator
from emberlog.streams.plan.maintenance import Method, plan_maintenance
from emberlog.streams.plan.slides import Slide
from emberlog.workers.fixpoint.team import drive
from emberlog.workers.wire.messages import Running
from tests.programs import checked
from tests.streams import Tuples, by_definition, by_evaluator, facts_of, stream_case

REACH = """\
STREAM e(Ts: timestamp, X: int, Y: int).
reach(Ts, X, Y) :- e(Ts, X, Y).
reach(Ts, X, Z) :- reach(T1, X, Y), e(T2, Y, Z), largest(Ts, T1, T2).
"""
EARLIEST = """\
STREAM e(Ts: timestamp, X: int, Y: int).
first(Ts, X, min<X>) :- e(Ts, X, _).
first(Ts, Y, min<V>) :- first(T1, X, V), e(T2, X, Y), largest(Ts, T1, T2).
query first(_, X, V), WINDOW(5, 1).
"""
CHEAPEST = """\
STREAM w(Ts: timestamp, X: int, Y: int, W: int).
best(Ts, X, Y, min<W>) :- w(Ts, X, Y, W).
best(Ts, X, Z, min<W>) :- w(T1, X, Y, W1), best(T2, Y, Z, W2), W = W1 + W2, largest(Ts, T1, T2).
query best(_, X, Y, W), WINDOW(5, 1).
"""


def test_notes_say_what_is_done_with_each_relation_and_why() -> None:
    program = checked(
        REACH + "RELATION hub(X: int).\nbig(X) :- hub(X), X > 3.\n"
        "far(Ts, X, Y) :- reach(Ts, X, Y), !e(_, X, Y), !big(X).\n"
        "degree(Ts, X, count<Y>) :- reach(Ts, X, Y).\nquery far(_, X, Y). query degree(_, X, N)."
    )
    assert plan_maintenance(program).notes == (
        "e: kept up to date; a stream",
        "hub: computed once; it does not change",
        "reach: kept up to date; a fact holds as long as its longest-lived derivation",
        "big: computed once; no stream is below it",
        "far: computed anew at every slide; it negates e, whose facts come and go",
        "degree: computed anew at every slide; degree is aggregated with count",
    )


@pytest.mark.parametrize(
    ("window", "note"),
    [
        ("", "follows its changes tuple by tuple; nothing leaves"),
        (", WINDOW(1 hour, 2 seconds)", "follows its changes tuple by tuple; a tuple is in 1,800 slides"),
        (", WINDOW(1 hour, 1 minute)", "computed anew at every slide; n is aggregated with count"),
        (", SESSION(1 hour)", "computed anew at every slide; n is aggregated with count"),
    ],
)
def test_counts_follow_tuples_where_these_are_in_many_slides(window: str, note: str) -> None:
    program = checked(f"STREAM e(T: timestamp, X: int). n(X, count<_>) :- e(_, X). query n(X, N){window}.")
    assert plan_maintenance(program).notes[1] == f"n: {note}"


def test_a_minimum_that_changes_all_over_is_repaired() -> None:
    """Every slide brings all edges again, at other prices, and lets others go: on a cycle, so that nothing may be
    derived from what it was lost with."""
    case = stream_case(CHEAPEST)
    tuples: Tuples = {
        "w": [(at, x, (x + 1) % 4, 1 + (37 * at + 11 * x) % 97) for at in range(20) for x in range(4)],
    }
    for workers in (1, 3):
        evaluator = case.incremental(workers=workers)
        assert case.maintenance.names(Method.REPAIRED) == ("best",)
        slides = case.slides(tuples)
        for slide, answers in zip(slides, by_evaluator(case, evaluator, slides, tuples), strict=True):
            assert answers == by_definition(case, slide, tuples), slide


def test_tuples_that_come_again_and_again() -> None:
    """What was derived from them is lost when the first of them have gone, and found again from the later ones."""
    case = stream_case(CHEAPEST)
    edges = [(x, (x + step) % 9, 10 + x + step) for x in range(9) for step in (1, 2, 5)]
    tuples: Tuples = {
        "w": [
            (at, *edge) for at in range(24) for place, edge in enumerate(edges) if (at + place) % (place % 3 + 1) == 0
        ]
    }
    for workers in (1, 3):
        evaluator = case.incremental(workers=workers)
        slides = case.slides(tuples)
        for slide, answers in zip(slides, by_evaluator(case, evaluator, slides, tuples), strict=True):
            assert answers == by_definition(case, slide, tuples), slide


def test_a_choice_that_is_made_again_for_a_better_reason_has_not_changed() -> None:
    case = stream_case(
        "STREAM w(Ts: timestamp, X: int, Y: int).\ndearest(X, argmax<Y, 7>) :- w(_, X, Y).\nquery dearest(X, Z)."
    )
    tuples: Tuples = {"w": [(1, 1, 10), (2, 1, 20), (2, 2, 5)]}
    slides = case.slides(tuples)
    evaluator = case.incremental()
    for slide, answers in zip(slides, by_evaluator(case, evaluator, slides, tuples), strict=True):
        assert answers == by_definition(case, slide, tuples), slide


def test_what_the_program_says_itself_comes_back_when_something_better_is_lost() -> None:
    case = stream_case(
        "STREAM w(Ts: timestamp, X: int, Y: int, W: int).\nRELATION own(X: int, W: int).\n"
        "best(1, 50).\nbest(X, min<W>) :- own(X, W).\nbest(Y, min<W>) :- best(X, W1), w(_, X, Y, W2), W = W1 + W2.\n"
        "query best(X, W), WINDOW(2, 1).",
        {"own": [(2, 60)]},
    )
    tuples: Tuples = {"w": [(1, 2, 1, -30), (1, 1, 3, 1), (3, 3, 2, 40), (6, 1, 2, 5)]}
    evaluator = case.incremental()
    assert case.maintenance.names(Method.REPAIRED) == ("best",)
    slides = case.slides(tuples)
    for slide, answers in zip(slides, by_evaluator(case, evaluator, slides, tuples), strict=True):
        assert answers == by_definition(case, slide, tuples), slide


def test_what_reads_a_repaired_relation_is_repaired_if_its_keys_lead_there() -> None:
    more = "near(Ts, X) :- best(Ts, X, Y, W), W < 10.\nfar(Ts, N) :- best(Ts, X, Y, W), W < 10, N = X + Y.\n"
    program = checked(
        CHEAPEST.replace("query", more + "query near(_, X), WINDOW(5, 1). query far(_, N), WINDOW(5, 1). query")
    )
    notes = plan_maintenance(program).notes
    assert "near: repaired at every slide; a fact is derived again when what it was derived from has expired" in notes
    (far,) = (note for note in notes if note.startswith("far"))
    assert far.startswith("far: computed anew at every slide; it reads best, which has no values of later slides, and")


def test_a_restored_evaluator_goes_on_as_if_nothing_had_happened() -> None:
    case = stream_case(REACH + "query reach(Ts, X, Y), WINDOW(4, 2).")
    tuples: Tuples = {"e": [(0, 1, 2), (1, 2, 3), (3, 3, 4), (5, 1, 2), (6, 4, 5), (8, 5, 6)]}
    slides = case.slides(tuples)
    undisturbed = list(by_evaluator(case, case.incremental(), slides, tuples))
    for cut in range(1, len(slides)):
        evaluator = case.incremental()
        held = [row for row in tuples["e"] if slides[cut - 1].since <= row[0] <= slides[cut - 1].at]  # type: ignore[operator]
        evaluator.restore(slides[cut - 1], {"e": case.table("e", held)})
        assert _answer(evaluator) == undisturbed[cut - 1]["reach"]
        new = [row for row in tuples["e"] if slides[cut - 1].at < row[0] <= slides[cut].at]  # type: ignore[operator]
        evaluator.advance(slides[cut], {"e": case.table("e", new)})
        assert _answer(evaluator) == undisturbed[cut]["reach"]
        changes = evaluator.changes()["reach"]
        assert facts_of(case, "reach", changes.added) == undisturbed[cut]["reach"] - undisturbed[cut - 1]["reach"]


def _answer(evaluator: IncrementalEvaluator) -> frozenset[Fact]:
    table = evaluator.answers()["reach"]
    return frozenset(zip(*(column.to_pylist() for column in table.columns), strict=True))


def test_state_and_texts_are_those_of_the_window() -> None:
    """Every slide has names of its own; after many windows there is no more than after one."""
    case = stream_case("STREAM s(Ts: timestamp, N: string).\nseen(Ts, N) :- s(Ts, N).\nquery seen(_, N), WINDOW(2).")
    evaluator = case.incremental()
    sizes = []
    names = MANY_TEXTS // 4
    for at in range(24):
        table = pa.table({"Ts": [at] * names, "N": [f"{at} {number}" for number in range(names)]})
        evaluator.advance(Slide(at, at - 2, at), {"s": table})
        sizes.append(evaluator.state_bytes())
        assert evaluator.answers()["seen"].num_rows == min(at + 1, 3) * names
        assert evaluator.expired() == (names if at > 2 else 0)
    assert max(sizes[12:]) <= max(sizes[:12])
    assert len(evaluator._texts) < 3 * MANY_TEXTS


def test_nulls_are_refused_with_a_way_out() -> None:
    case = stream_case(REACH + "query reach(_, X, Y), WINDOW(4, 2).")
    evaluator = case.incremental()
    table = pa.table({"Ts": [1], "X": pa.array([None], pa.int64()), "Y": [1]})
    with pytest.raises(EmberlogError, match=r"DL330.*`e` has nulls in the column X(?s:.*)from scratch at each slide"):
        evaluator.advance(Slide(2, -2, 2), {"e": table})


def test_without_a_window_nothing_expires() -> None:
    case = stream_case(REACH + "query reach(_, 1, Y).")
    evaluator = case.incremental()
    for at, row in ((1, (1, 1, 2)), (10**15, (10**15, 2, 3))):
        evaluator.advance(Slide(at, None, at), {"e": case.table("e", [row])})
    assert _answer(evaluator) == {(1, 2), (1, 3)}
    assert evaluator.expired() == 0


def test_a_value_that_is_looked_up_and_does_not_exist_is_an_error_only_if_it_is_met() -> None:
    """Workers do not decide that: they leave the stratum to the interpreter, which joins as written."""
    text = (
        "STREAM e(Ts: timestamp, X: int, Y: int).\nRELATION a(X: int).\nRELATION b(X: int).\n"
        "near(X) :- a(X), b(Y), Y = X - 1, X > 0.\nhit(Ts, X) :- e(Ts, X, _), near(X).\nquery hit(_, X), WINDOW(3, 1)."
    )
    smallest = -(2**63)
    tuples: Tuples = {"e": [(1, 5, 0), (2, 6, 0)]}
    case = stream_case(text, {"a": [(5,), (smallest,)], "b": [(4,), (6,)]})
    for workers in (1, 3):
        evaluator = case.incremental(workers=workers)
        slides = case.slides(tuples)
        for slide, answers in zip(slides, by_evaluator(case, evaluator, slides, tuples), strict=True):
            assert answers == by_definition(case, slide, tuples), slide
    met = stream_case(text.replace(", X > 0", ""), {"a": [(5,), (smallest,)], "b": [(4,), (6,)]})
    with pytest.raises(EmberlogError, match="DL502"):
        list(by_evaluator(met, met.incremental(), met.slides(tuples), tuples))


@pytest.mark.parametrize("text", [REACH + "query reach(_, X, Y), WINDOW(5, 1).", EARLIEST])
def test_workers_exchange_once_a_round_behind_the_first_and_once_in_silence(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What only arrives has no delta any more: its copies are up to date, and no rule sends what begins with it."""
    exchanges = 0

    def counted(running: Running) -> Running:
        nonlocal exchanges
        mail = next(running, None)
        while mail is not None:
            exchanges += 1
            received = yield mail
            try:
                mail = running.send(received)
            except StopIteration:
                return

    monkeypatch.setattr(incremental, "drive", lambda running: drive([counted(running[0]), *running[1:]]))
    case, found = stream_case(text), []
    for length in (10, 30):
        tuples: Tuples = {"e": [(1, number, number + 1) for number in range(length)]}
        slides, told = case.slides(tuples)[:2], []
        exchanges = 0
        for slide, answers in zip(slides, by_evaluator(case, case.incremental(workers=2), slides, tuples), strict=True):
            assert dict(answers) == dict(by_definition(case, slide, tuples))
            told.append(exchanges)
        found.append(told)
    (short, short_and_silent), (long, long_and_silent) = found
    assert long - short == 20
    assert short_and_silent - short == long_and_silent - long == 1, "nothing arrives, and nobody has anything to send"
