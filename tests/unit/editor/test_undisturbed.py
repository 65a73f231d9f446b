"""No collection of garbage lies between a key and what is wrong with a program."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from threading import Barrier, Thread

import pytest

from emberlog.editor.undisturbed import without_collections
from emberlog.editor.view import ProgramView
from emberlog.source import Source
from emberlog.studio.session import Session

PROGRAM = "".join(f"p{n}(X, Y) :- q{n}(X, Z), q{n}(Z, Y), X < Y + {n}.\n" for n in range(40)) + "r(X) :- q0(Y, Y).\n"


@pytest.fixture
def collections() -> Iterator[list[int]]:
    """Tells of each collection, which nearly every new object calls for."""
    found: list[int] = []

    def hear(phase: str, told: dict[str, int]) -> None:
        if phase == "start":
            found.append(told["generation"])

    before = gc.get_threshold()
    gc.callbacks.append(hear)
    gc.set_threshold(5)
    try:
        yield found
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(hear)


def test_nothing_is_collected_while_somebody_waits(collections: list[int]) -> None:
    with without_collections():
        collections.clear()
        kept = [[number] for number in range(1000)]
        assert not collections
    kept += [[number] for number in range(1000)]
    assert collections


def test_a_check_of_an_editor_or_of_the_studio_is_not_held_up(collections: list[int]) -> None:
    view = ProgramView(Source("p.dl", PROGRAM))
    collections.clear()
    assert view.diagnostics
    assert len(collections) < 10
    session = Session(PROGRAM)
    collections.clear()
    assert session.check().mistakes
    assert len(collections) < 10
    session.close()


def test_who_waits_longest_ends_it() -> None:
    first_is_in, second_is_out = Barrier(2), Barrier(2)
    seen: list[bool] = []

    def wait() -> None:
        with without_collections():
            first_is_in.wait(20)
            second_is_out.wait(20)
            seen.append(gc.isenabled())

    thread = Thread(target=wait)
    thread.start()
    first_is_in.wait(20)
    with without_collections():
        pass
    seen.append(gc.isenabled())
    second_is_out.wait(20)
    thread.join(20)
    assert seen == [False, False]
    assert gc.isenabled()


def test_it_stays_off_where_it_was() -> None:
    gc.disable()
    try:
        with without_collections():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
