"""Classes of an equivalence: by uniting sets, whatever the links are, and without a round for each of them."""

from __future__ import annotations

import random

import pytest

from emberlog.database import Database
from emberlog.events import Event, ExecutorChosen

MANY = 20_000
"""More than the interpreter does."""

COUNTED = """
    declare same(a: {type}, b: {type}) equivalence.
    same(X, Y) :- link(X, Y).
    size(X, count<Y>) :- asked(X), same(X, Y).
    size(_, _)?
"""


def sizes(links: list[tuple[object, object]], type_: str, program: str = COUNTED) -> tuple[dict[object, int], bool]:
    """Returns how many elements the class of each asked element has, and whether sets were united."""
    events: list[Event] = []
    with Database(engine="local") as database:
        database["link"] = links
        database["asked"] = [(one,) for one, _ in links[:50]]
        rows = database.datalog(program.replace("{type}", type_), listener=events.append)["size"].collect()
    chosen = [event.executor for event in events if isinstance(event, ExecutorChosen)]
    return dict(rows), "union-find" in chosen


def by_hand(links: list[tuple[object, object]]) -> dict[object, int]:
    beside: dict[object, set[object]] = {}
    for one, other in links:
        beside.setdefault(one, set()).add(other)
        beside.setdefault(other, set()).add(one)
    found: dict[object, int] = {}
    for one, _ in links[:50]:
        seen, to_visit = {one}, [one]
        while to_visit:
            new = beside[to_visit.pop()] - seen
            seen |= new
            to_visit += new
        found[one] = len(seen)
    return found


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("type_", ["int", "string"])
def test_random_links(seed: int, type_: str) -> None:
    dice = random.Random(seed)
    count = MANY * (seed + 1)
    pairs = [(dice.randrange(-count, count), dice.randrange(-count, count)) for _ in range(MANY)]
    links: list[tuple[object, object]] = [(f"n{a}", f"n{b}") if type_ == "string" else (a, b) for a, b in pairs]
    assert sizes(links, type_) == (by_hand(links), True)


def test_a_chain_takes_no_round_for_each_link() -> None:
    links: list[tuple[object, object]] = [(number, number + 1) for number in range(100_000)]
    random.Random(0).shuffle(links)
    found, is_united = sizes(links, "int")
    assert is_united and set(found.values()) == {100_001}


def test_labels_along_arcs_that_go_one_way_are_no_classes() -> None:
    program = """
        label(X, min<X>) :- link(X, _).
        label(Y, min<Y>) :- link(_, Y).
        label(Y, min<L>) :- label(X, L), link(X, Y).
        size(X, L) :- asked(X), label(X, L).
        size(_, _)?
    """
    links: list[tuple[object, object]] = [(number % 300 + 1, number // 300 + 500) for number in range(MANY)]
    assert sizes(links, "int", program)[1] is False
