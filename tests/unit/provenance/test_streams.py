"""Questions about one slide of a stream, in every form of their answers."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import emberlog
from emberlog.diagnostics import EmberlogError
from emberlog.provenance.streams import expiry
from emberlog.provenance.streams.questions import StreamQuestions
from tests.unit.render.tags import tags_of

PRICES = """
STREAM ride(Ts: timestamp, From: string, To: string, Fare: float).
way(Ts, A, B, min<F>) :- ride(Ts, A, B, F).
way(Ts, A, C, min<F>) :- way(Ts1, A, B, F1), ride(Ts2, B, C, F2), F = F1 + F2, largest(Ts, Ts1, Ts2).
query way(_, A, B, F), WINDOW(60 minutes, 15 minutes).
"""


def at(hour: int, minute: int) -> datetime:
    return datetime(2026, 3, 2, hour, minute, tzinfo=UTC)


def local(**relations: list[tuple[object, ...]]) -> emberlog.Database[emberlog.LocalRelation]:
    db = emberlog.Database(engine="local")
    for name, facts in relations.items():
        db[name] = facts
    return db


@pytest.fixture(scope="module")
def prices() -> StreamQuestions:
    rides: list[tuple[object, ...]] = [
        (at(8, 5), "a", "b", 6.5),
        (at(8, 10), "b", "c", 4.0),
        (at(8, 50), "a", "b", 7.0),
    ]
    return local(ride=rides).window(PRICES, at=at(8, 20))


def code_of(error: pytest.ExceptionInfo[EmberlogError]) -> str:
    return error.value.diagnostics[0].code


def test_a_proof_knows_its_slide_and_its_last_one(prices: StreamQuestions) -> None:
    proof = prices.why("way", ("a", "c", None))
    assert (proof.slide, proof.until) == (at(8, 15), at(9, 0))
    assert str(proof).splitlines()[-1] == (
        "holds until 2026-03-02 09:00:00, the last slide whose window has "
        'ride("a", "b", 6.5) of 2026-03-02 08:05:00 and 1 more, unless a better value comes'
    )
    assert str(prices.why("way", (at(8, 10), "a", "c", 10.5))) == str(proof)
    assert "not shown further" in str(prices.why("way", ("a", "c", None), depth=1))


def test_plain_values_say_what_expires_and_why(prices: StreamQuestions) -> None:
    proof = prices.why("way", ("a", "c", 10.5)).to_json()
    slide, nodes = proof["slide"], proof["nodes"]
    assert isinstance(slide, dict) and isinstance(nodes, list)
    assert proof["title"] == 'why way("a", "c", 10.5) at 2026-03-02 08:15:00'
    assert {key: slide[key] for key in ("at", "since", "until", "certainty")} == {
        "at": "2026-03-02 08:15:00",
        "since": "2026-03-02 07:15:00",
        "until": "2026-03-02 09:00:00",
        "certainty": "unless better",
    }
    assert {(nodes[place]["text"], nodes[place]["time"], nodes[place]["until"]) for place in slide["because"]} == {
        ('ride("a", "b", 6.5)', "2026-03-02 08:05:00", "2026-03-02 09:00:00"),
        ('ride("b", "c", 4.0)', "2026-03-02 08:10:00", "2026-03-02 09:00:00"),
    }
    refutation = prices.why_not("way", ("c", "a", None)).to_json()["slide"]
    assert isinstance(refutation, dict) and set(refutation) == {"at", "since", "text"}


def test_every_picture_tells_until_when(prices: StreamQuestions) -> None:
    proof = prices.why("way", ("a", "c", None))
    for picture in (proof.to_html(), proof.to_graphviz(), proof.to_mermaid()):
        assert "holds until 2026-03-02 09:00:00" in picture
        assert "input ride of 2026-03-02 08:05:00" in picture
    assert tags_of(proof.to_html()).count("li") == len(proof.outline.nodes)


def test_times_that_are_numbers_stay_numbers() -> None:
    window = local(e=[(1, 7), (3, 7)]).window("STREAM e(Ts: timestamp, X: int). p(Ts, X) :- e(Ts, X). query p(_, X).")
    proof = window.why("p", (7,))
    assert (proof.slide, proof.until) == (3, None)
    assert str(proof).endswith("slide 3, without a window\nholds from now on, as nothing leaves without a window")


def test_slides_that_are_not_looked_at_are_not_promised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expiry, "MOST_SLIDES", 2)
    text = "STREAM e(Ts: timestamp, X: int). p(Ts, X) :- e(Ts, X), !q(_, X). q(Ts, X) :- e(Ts, X), X > 5. "
    window = local(e=[(n, n % 2) for n in range(6)]).window(f"{text}query p(_, X), WINDOW(10, 1).")
    assert str(window.why("p", (1,))).endswith("if none comes, it holds at least until 12")


def test_mistakes(prices: StreamQuestions) -> None:
    for relation, fact, code in (
        ("wya", ("a", "c", None), "DL401"),
        ("way", ("a",), "DL441"),
        ("way", ("a", 5, None), "DL441"),
        ("way", ("c", "a", None), "DL442"),
        ("way", (at(8, 5), "a", "c", 10.5), "DL442"),
        ("way", ("a", None, None), "DL443"),
    ):
        with pytest.raises(EmberlogError) as error:
            prices.why(relation, fact)
        assert code_of(error) == code
    with pytest.raises(EmberlogError) as error:
        prices.why_not("way", ("a", "c", None))
    assert code_of(error) == "DL445"


def test_only_streams_have_windows() -> None:
    db = local(arc=[(1, 2)], ride=[(at(8, 5), "a", "b", 6.5)])
    with pytest.raises(EmberlogError) as error:
        db.window("tc(X, Y) :- arc(X, Y).")
    assert code_of(error) == "DL342"
    with pytest.raises(EmberlogError) as error:
        db.window(PRICES, at=12)
    assert code_of(error) == "DL441"
