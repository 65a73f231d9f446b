"""A stream advanced by hand: the same slides as by the definition, and what each of them changed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from emberlog.diagnostics import EmberlogError
from emberlog.studio.answers import LocalAnswer, View
from emberlog.studio.session import Session

PROGRAM = """\
STREAM edge(t: timestamp, x: int, y: int).
reach(T, X, Y) :- edge(T, X, Y).
reach(T, X, Z) :- reach(T1, X, Y), edge(T2, Y, Z), larger(T, T1, T2).
query reach(_, X, Y), WINDOW(2, 1).
"""


@pytest.fixture
def session() -> Iterator[Session]:
    made = Session(PROGRAM)
    checked = made.check()
    assert checked.is_right, checked.mistakes
    assert checked.has_streams
    relation, path = made.data.place_for("edge.csv")
    path.parent.mkdir(parents=True)
    path.write_text("1,1,2\n2,2,3\n4,3,4\n")
    made.data.register(relation, path)
    yield made
    made.close()


def facts(answers: dict[str, LocalAnswer], name: str = "reach") -> set[tuple[int, int]]:
    return {row[-2:] for row in answers[name].page(View(), 0, 100).rows} if name in answers else set()


def test_slides_close_one_after_the_other_until_the_window_is_empty(session: Session) -> None:
    session.begin_stream()
    assert session.slides is not None
    assert session.slides.waiting == 3
    assert [(one.name, one.kind) for one in session.check().relations] == [("reach", "derived"), ("edge", "stream")]
    known: set[tuple[int, int]] = set()
    seen = {}
    while (slide := session.slides.advance()) is not None:
        added, removed = facts(dict(slide.added)), facts(dict(slide.removed))
        assert removed <= known
        assert not added & known
        known = (known - removed) | added
        assert known == facts(dict(slide.answers))
        seen[slide.at] = known
    assert seen == {
        "1": {(1, 2)},
        "2": {(1, 2), (2, 3), (1, 3)},
        "3": {(1, 2), (2, 3), (1, 3)},
        "4": {(2, 3), (3, 4), (2, 4)},
        "5": {(3, 4)},
        "6": {(3, 4)},
        "7": set(),
    }
    assert session.slides.next_slide is None
    assert [one.held for one in session.slides.shown] == [1, 2, 2, 2, 1, 1, 0]
    assert [one.sizes["reach"] for one in session.slides.shown[:4]] == [(1, 1, 0), (3, 2, 0), (3, 0, 0), (3, 2, 2)]
    assert [bool(one.answers) for one in session.slides.shown] == [False] * 6 + [True]  # sizes alone are kept


def test_facts_of_the_last_slide_are_proved_and_refuted(session: Session) -> None:
    with pytest.raises(EmberlogError, match="no slide has closed"):
        session.begin_stream()
        session.why("reach", (1, 3))
    session.advance_stream(2)
    assert "holds until 3" in str(session.why("reach", (1, 3)))
    session.advance_stream(2)
    refuted = str(session.why_not("reach", (1, 3)))
    assert "edge(1, 2)" in refuted or "edge(1, _)" in refuted
    assert "slide 4" in refuted
    session.text = "a(1). b(X) :- a(X)."
    run = session.start()
    assert run.wait(60)
    assert "a(1)" in str(session.why("b", (1,)))  # of the run now


def test_sessions_end_one_after_the_other(session: Session) -> None:
    session.text = PROGRAM.replace("WINDOW(2, 1)", "SESSION(2, x)")
    session.begin_stream()
    assert session.slides is not None
    session.type_rows("edge(2, 1, 7)\nedge(9, 1, 8)")
    ended = []
    while (one := session.slides.advance()) is not None:
        ended.append((one.since, one.at, one.arrived, facts(dict(one.answers))))
    assert ended == [
        ("1", "2", 2, {(1, 2), (1, 7)}),
        ("2", "2", 1, {(2, 3)}),
        ("4", "4", 1, {(3, 4)}),
        ("9", "9", 1, {(1, 8)}),
    ]
    assert session.type_rows("edge(3, 5, 5)") == 1  # its session would have been over
    proof = str(session.why("reach", (1, 8)))
    assert "session that ended at 9" in proof
    assert "edge(1, 8)" in proof
    assert "edge(3, _)" in str(session.why_not("reach", (3, 4)))  # which was in the session before


def test_typed_rows_arrive_and_late_ones_are_counted(session: Session) -> None:
    session.advance_stream(2)
    assert session.slides is not None
    assert session.type_rows("edge(1, 9, 9).\n\nedge(5, 4, 1)") == 1
    assert session.slides.late == 1
    session.advance_stream(3)
    assert (4, 1) in facts(dict(session.slides.shown[-1].answers))


@pytest.mark.parametrize("text", ["edge(5, X, 1)", "reach(1, 2)", "nonsense", "edge(1)"])
def test_rows_that_are_none_are_told(session: Session, text: str) -> None:
    with pytest.raises(EmberlogError, match="DL441"):
        session.type_rows(text)


def test_a_program_without_streams_has_no_slides(session: Session) -> None:
    session.text = "a(1)."
    with pytest.raises(EmberlogError, match="DL342"):
        session.begin_stream()


def test_a_program_over_streams_is_not_run_at_once(session: Session) -> None:
    run = session.start()
    assert run.wait(60)
    assert run.problems[0].code == "DL533"
