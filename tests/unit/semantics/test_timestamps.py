from emberlog.semantics.model import TimeRole
from tests.programs import checked

RIDES = "STREAM ride(Ts: timestamp, A: string, B: string, F: float).\n"


def roles(text: str) -> dict[str, TimeRole]:
    return {name: relation.time for name, relation in checked(text).relations.items()}


def test_time_that_is_only_carried_is_an_annotation() -> None:
    text = RIDES + (
        "best(Ts, A, B, mmin<F>) :- ride(Ts, A, B, F).\n"
        "best(Ts, A, C, mmin<F>) :- ride(T1, A, B, F1), best(T2, B, C, F2), F = F1 + F2, largest(Ts, T1, T2).\n"
        "query best(_, A, B, F), WINDOW(60 minutes)."
    )
    assert roles(text) == {"ride": TimeRole.ANNOTATION, "best": TimeRole.ANNOTATION}


def test_time_that_is_compared_is_an_ordinary_column() -> None:
    text = RIDES + "later(T2, A, C) :- ride(T1, A, B, _), ride(T2, B, C, _), T1 < T2."
    assert roles(text)["ride"] is TimeRole.ORDINARY
    assert roles(text)["later"] is TimeRole.ANNOTATION


def test_what_is_derived_from_a_stream_is_a_stream() -> None:
    relations = checked(RIDES + "city(A) :- ride(_, A, _, _). big(X) :- city(X), known(X).").relations
    assert relations["big"].is_stream and relations["big"].time is TimeRole.NONE
    assert not relations["known"].is_stream


def test_times_that_have_to_be_equal_are_compared() -> None:
    text = RIDES + "STREAM fine(Ts: timestamp, A: string).\nboth(Ts, A) :- ride(Ts, A, _, _), fine(Ts, A)."
    assert roles(text) == {
        "ride": TimeRole.ORDINARY,
        "fine": TimeRole.ORDINARY,
        "both": TimeRole.ANNOTATION,
    }


def test_a_largest_time_that_is_compared_makes_its_sources_ordinary() -> None:
    text = RIDES + "late(T, A) :- ride(T1, A, B, _), ride(T2, B, _, _), largest(T, T1, T2), int(T) > 100."
    assert roles(text) == {"ride": TimeRole.ORDINARY, "late": TimeRole.ANNOTATION}


def test_what_feeds_an_ordinary_time_keeps_all_its_times() -> None:
    text = RIDES + "seen(T, A) :- ride(T, A, _, _).\nlate(T, A) :- seen(T, A), int(T) > 100."
    assert roles(text) == {"ride": TimeRole.ORDINARY, "seen": TimeRole.ORDINARY, "late": TimeRole.ANNOTATION}


def test_aggregated_times_are_ordinary() -> None:
    assert roles(RIDES + "last(max<T>, A) :- ride(T, A, _, _).") == {
        "ride": TimeRole.ORDINARY,
        "last": TimeRole.ORDINARY,
    }
