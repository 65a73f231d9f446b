"""What people do with a live view: transactions, changes, questions, and what is refused."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from datetime import date
from typing import Any

import pytest

from emberlog.config import Limits
from emberlog.database import Database
from emberlog.diagnostics import EmberlogError
from emberlog.io.local_relation import LocalRelation
from emberlog.live.searches.facts import Facts
from emberlog.live.searches.step_order import next_step
from emberlog.live.view import Change, LiveView
from tests.programs import checked

REACH = "reach(X, Y) :- edge(X, Y).  reach(X, Z) :- reach(X, Y), edge(Y, Z)."


def live(text: str = REACH, *, sets: bool = False, limits: Limits | None = None, **data: Any) -> LiveView:
    db: Database[LocalRelation] = Database(engine="local")
    for name, rows in data.items():
        db[name] = rows
    return db.live(text, sets=sets, limits=limits or Limits())


def facts(relation: LocalRelation) -> set[tuple[Any, ...]]:
    return set(relation.collect())


def code_of(caught: pytest.ExceptionInfo[EmberlogError]) -> str:
    return caught.value.diagnostics[0].code


def test_answers_follow_a_transaction() -> None:
    view = live(edge=[(7, 8)])
    with view.transaction() as t:
        assert t.insert("edge", [(1, 2), (2, 3)]) == 2
        assert t.delete("edge", [(7, 8), (9, 9)]) == 1
        assert facts(view["reach"]) == {(7, 8)}, "nothing changes before the commit"
    assert facts(view["reach"]) == {(1, 2), (2, 3), (1, 3)}
    assert facts(view.changes["reach"].added) == {(1, 2), (2, 3), (1, 3)}
    assert facts(view.changes["reach"].removed) == {(7, 8)}


def test_a_circle_does_not_keep_itself() -> None:
    view = live(edge=[(0, 1), (1, 2), (2, 1)])
    with view.transaction() as t:
        t.delete("edge", [(0, 1)])
    assert facts(view["reach"]) == {(1, 2), (2, 1), (1, 1), (2, 2)}


def test_a_row_that_is_there_twice_is_deleted_twice() -> None:
    view = live(edge=[(1, 2), (1, 2)])
    with view.transaction() as t:
        t.delete("edge", [(1, 2)])
    assert facts(view["reach"]) == {(1, 2)}
    assert not view.changes["reach"]
    with view.transaction() as t:
        assert t.delete("edge", [(1, 2), (1, 2)]) == 1
    assert not facts(view["reach"])


def test_sets_have_each_row_once() -> None:
    view = live(edge=[(1, 2), (1, 2)], sets=True)
    with view.transaction() as t:
        assert t.insert("edge", [(1, 2)]) == 0
        assert t.delete("edge", [(1, 2)]) == 1
    assert not facts(view["reach"])
    assert "each row once" in view.explain()


def test_update_and_replace() -> None:
    view = live(edge=[(1, 2), (2, 3)])
    with view.transaction() as t:
        assert t.update("edge", (2, 3), (2, 4)) == 1
        assert t.update("edge", (5, 6), (5, 7)) == 0
    assert facts(view["reach"]) == {(1, 2), (2, 4), (1, 4)}
    with view.transaction() as t:
        t.replace("edge", [(8, 9)])
    assert facts(view["reach"]) == {(8, 9)}
    assert len(view.changes["reach"].removed) == 3


def test_an_exception_takes_a_transaction_back() -> None:
    view = live(edge=[(1, 2)])
    with pytest.raises(KeyError), view.transaction() as t:
        t.insert("edge", [(2, 3)])
        raise KeyError
    assert facts(view["reach"]) == {(1, 2)}


OVERFLOW = "total(sum<X>) :- amount(_, X).  twice(K, X + X) :- amount(K, X).  far(K, min<X>) :- amount(K, X)."


def test_a_fault_takes_a_transaction_back() -> None:
    view = live(OVERFLOW, amount=[(1, 5)])
    before = {name: facts(view[name]) for name in view}
    for _ in range(2):
        with pytest.raises(EmberlogError) as caught, view.transaction() as t:
            t.insert("amount", [(1, 2), (2, 2**63 - 1)])
            t.delete("amount", [(1, 5)])
        assert code_of(caught) == "DL502"
        assert {name: facts(view[name]) for name in view} == before
    with view.transaction() as t:
        t.insert("amount", [(1, 2)])
    assert facts(view["total"]) == {(7,)}
    assert facts(view["far"]) == {(1, 2)}


def test_a_recursion_without_end_takes_a_transaction_back() -> None:
    view = live(
        "p(X) :- q(X). p(X + 1) :- p(X), r(X).  r(X) :- p(X), X > 5.", q=[(1,)], limits=Limits(max_iterations=50)
    )
    with pytest.raises(EmberlogError) as caught, view.transaction() as t:
        t.insert("q", [(6,)])
    assert code_of(caught) == "DL510"
    assert facts(view["p"]) == {(1,)}


def test_rows_that_do_not_fit_are_refused() -> None:
    view = live(edge=[(1, 2)])
    for rows in ([(1, 2, 3)], [(1, "two")], 5):
        with pytest.raises(EmberlogError), view.transaction() as t:
            t.insert("edge", [(8, 9)])
            t.insert("edge", rows)
    assert facts(view["reach"]) == {(1, 2)}


def test_what_is_derived_cannot_be_changed() -> None:
    view = live(edge=[(1, 2)])
    with pytest.raises(EmberlogError) as caught, view.transaction() as t:
        t.insert("reach", [(1, 4)])
    assert code_of(caught) == "DL449"
    with pytest.raises(EmberlogError) as caught, view.transaction() as t:
        t.insert("edges", [(1, 4)])
    assert code_of(caught) == "DL401"
    assert "did you mean `edge`?" in str(caught.value)


def test_transactions_come_one_at_a_time() -> None:
    view = live(edge=[(1, 2)])
    with pytest.raises(EmberlogError) as caught, view.transaction(), view.transaction():
        pass
    assert code_of(caught) == "DL448"
    with view.transaction() as over:
        pass
    with pytest.raises(EmberlogError) as caught:
        over.insert("edge", [(2, 3)])
    assert code_of(caught) == "DL448"


def test_threads_take_turns() -> None:
    view = live(edge=[(0, 1)])

    def work(first: int) -> None:
        for number in range(20):
            with view.transaction() as t:
                t.insert("edge", [(first + number, first + number + 1)])
            assert len(view["reach"])

    threads = [threading.Thread(target=work, args=(1000 * one,)) for one in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(view["reach"]) == 1 + 3 * (20 * 21 // 2)


def test_subscribers_hear_of_changes() -> None:
    view, heard = live(edge=[(1, 2)]), list[Mapping[str, Change]]()
    unsubscribe = view.subscribe(heard.append)
    with view.transaction() as t:
        t.insert("edge", [(2, 3)])
    unsubscribe()
    with view.transaction() as t:
        t.insert("edge", [(3, 4)])
    assert [facts(one["reach"].added) for one in heard] == [{(2, 3), (1, 3)}]


def test_every_subscriber_hears_of_transactions_in_their_order() -> None:
    view = live(edge=[(1, 2)])
    first, second = list[int](), list[int]()

    def follow(changes: Mapping[str, Change]) -> None:
        first.append(len(changes["reach"].added))
        if len(first) < 3:
            with view.transaction() as t:
                t.insert("edge", [(len(first) + 1, len(first) + 2)])

    view.subscribe(follow)
    view.subscribe(lambda changes: second.append(len(changes["reach"].added)))
    with view.transaction() as t:
        t.insert("edge", [(0, 1)])
    assert first == second == [2, 3, 4]


def test_a_subscriber_that_fails_hears_of_later_transactions() -> None:
    view, heard = live(edge=[(1, 2)]), list[int]()

    def fail_once(changes: Mapping[str, Change]) -> None:
        heard.append(len(changes["reach"].added))
        if len(heard) == 1:
            raise KeyError

    view.subscribe(fail_once)
    with pytest.raises(KeyError), view.transaction() as t:
        t.insert("edge", [(2, 3)])
    with view.transaction() as t:
        t.insert("edge", [(3, 4)])
    assert heard == [2, 3]


def test_proofs_are_of_the_facts_as_they_are_now() -> None:
    view = live(edge=[(1, 2)])
    assert "no rule" in str(view.why_not("reach", (1, 3))) or view.why_not("reach", (1, 3)) is not None
    with view.transaction() as t:
        t.insert("edge", [(2, 3)])
    assert "edge(2, 3)" in str(view.why("reach", (1, 3)))
    with view.transaction() as t:
        t.delete("edge", [(2, 3)])
    with pytest.raises(EmberlogError) as caught:
        view.why("reach", (1, 3))
    assert code_of(caught) == "DL442"


def test_queries_restrict_answers_and_changes() -> None:
    view = live(REACH + " reach(1, Y)?", edge=[(1, 2), (5, 6)])
    with view.transaction() as t:
        t.insert("edge", [(2, 3), (6, 7)])
    assert facts(view["reach"]) == {(1, 2), (1, 3)}
    assert facts(view.changes["reach"].added) == {(1, 3)}


def test_values_of_all_types_come_in() -> None:
    view = live('late(N) :- due(N, D), D < date("2026-01-01").', due=[("a", date(2025, 5, 1))])
    with view.transaction() as t:
        t.insert("due", [("bé", date(2024, 5, 1)), ("c", date(2026, 5, 1))])
        t.insert("due", [{"c0": "d", "c1": date(2023, 5, 1)}])
    assert facts(view["late"]) == {("a",), ("bé",), ("d",)}


def test_closing_gives_everything_back() -> None:
    with live(edge=[(1, 2)]) as view:
        assert len(view["reach"]) == 1
    with pytest.raises(EmberlogError) as caught:
        view["reach"]
    assert code_of(caught) == "DL448"


def test_explain_tells_what_is_computed_anew_and_why() -> None:
    text = "n(X) :- e(X, _).  @iterations(40) n(Y) :- n(X), e(X, Y).  c(count<X>) :- n(X)."
    view = live(text, e=[(1, 2)])
    assert "n: computed anew, and compared: it has more than 32 rounds" in view.explain()
    with view.transaction() as t:
        t.insert("e", [(2, 3)])
    assert facts(view["c"]) == {(3,)}


def test_values_that_a_better_one_replaces_at_once_support_nothing() -> None:
    view = live(
        "best(X, min<V>) :- first(X, V).  best(X, min<V>) :- again(X), better(X, V).  again(X) :- best(X, V), V < 100.",
        first=[(9, 50)],
        better=[(1, 2)],
    )
    with view.transaction() as t:
        t.insert("first", [(1, 10)])  # so again(1), which makes 2 of 10, and then has only that to rest on
    assert facts(view["best"]) == {(9, 50), (1, 2)}
    with view.transaction() as t:
        t.delete("first", [(1, 10)])
    assert facts(view["best"]) == {(9, 50)}
    assert facts(view["again"]) == {(9,)}


def test_a_view_that_begins_empty_looks_things_up() -> None:
    [rule] = checked("c(Y, Z) :- p(X, Z), q(X, Y).", params={}).rules
    empty = {name: Facts(name) for name in ("p", "q")}
    assert next_step(rule, [0, 1], {"Y"}, empty) == 1  # of q a column is known, of p none


def test_data_beside_rules_is_an_input() -> None:
    view = live("edge(Y, X) :- edge(X, Y). " + REACH, edge=[(1, 2)])
    with view.transaction() as t:
        t.insert("edge", [(2, 3)])
    assert (3, 1) in facts(view["reach"])


def test_sums_of_floats_are_those_of_a_run() -> None:
    numbers = [0.1, 1e16, 0.2, -1e16, 1e-320, 3.3]
    view = live("s(sum<X>) :- v(_, X). a(avg<X>) :- v(_, X).", v=list(enumerate(numbers)))
    db: Database[LocalRelation] = Database(engine="local")
    left = dict(enumerate(numbers))
    for key in (1, 0, 3, 5):
        with view.transaction() as t:
            t.delete("v", [(key, left.pop(key))])
        db["v"] = list(left.items())
        anew = db.datalog("s(sum<X>) :- v(_, X). a(avg<X>) :- v(_, X).")
        assert facts(view["s"]) == facts(anew["s"])
        assert facts(view["a"]) == facts(anew["a"])


def test_what_has_no_ranks_at_first_has_none_after_a_transaction_that_is_taken_back() -> None:
    program = """
    part(Y) :- node(X), Y = 1 div X.
    high(X, max<D>) :- road(_, X, D).
    high(Y, max<D>) :- seen(X, C), link(X, Y), D = least(C + 1, 9).
    seen(Y, mmax<least(C, L)>) :- high(X, C), road(X, Y, L), name(X).
    """
    view = live(
        program,
        link=[(0, 3), (0, 4), (1, 0), (1, 1), (1, 2), (1, 3), (2, 0), (2, 2), (2, 3), (3, 0), (3, 1), (3, 2), (4, 2)],
        road=[(0, 0, 2), (0, 1, 2), (0, 4, 0), (1, 2, 3), (1, 3, 4), (2, 1, 3), (2, 2, 4), (3, 0, 0), (3, 4, 3)],
        name=[(1,)],
        node=[(1,)],
    )
    before = set(view["high"].collect())
    with pytest.raises(EmberlogError, match="DL501"), view.transaction() as change:
        change.insert("node", [(0,)])
    assert set(view["high"].collect()) == before
    with view.transaction() as change:
        change.delete("name", [(1,)])
    assert view["seen"].collect() == []
    assert set(view["high"].collect()) == {(0, 2), (1, 3), (2, 4), (3, 4), (4, 3)}


def test_what_goes_and_what_is_new_need_no_value_together() -> None:
    db: Database[LocalRelation] = Database(engine="local")
    db["road"], db["name"], db["size"] = [(4, 1)], [(4,), (0,)], [(9,)]
    live = db.live(
        "declare road(int a, int b). declare name(int a). declare size(int a).\n"
        "p(X) :- road(_, 1), name(X).\n"
        "p(2) :- p(X), p(Z), size(S), S < 5, Y = X / Z, Y > S."
    )
    with live.transaction() as transaction:
        transaction.delete("road", [(4, 1)])
        transaction.insert("size", [(1,)])
    assert live["p"].facts == frozenset()
    with pytest.raises(EmberlogError, match="division by zero"), live.transaction() as transaction:
        transaction.insert("road", [(4, 1)])
    assert live["p"].facts == frozenset()
