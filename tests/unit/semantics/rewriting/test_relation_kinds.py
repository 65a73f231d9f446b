"""What a relation is besides a set of facts is told, and made of relations that nobody sees."""

from __future__ import annotations

from emberlog.database import Database
from emberlog.logical.summary import program_summary
from tests.programs import checked

OFFERS = """
offer(Thing, Price, Days) :- asked(Thing), price(Thing, Price, Days).
offer(T, P1, D1) <= offer(T, P2, D2) :- P2 <= P1, D2 <= D1.
asked("lamp"). price("lamp", 50, 1). price("lamp", 30, 2). price("lamp", 40, 3).
"""


def test_a_relation_that_is_not_declared_is_an_answer_of_its_subsumption() -> None:
    with Database(engine="local") as database:
        result = database.datalog(OFFERS)
        assert list(result) == ["offer"]
        assert result["offer"].columns == ["Thing", "Price", "Days"]
        assert sorted(map(tuple, result["offer"].collect())) == [("lamp", 30, 2), ("lamp", 50, 1)]


def test_facts_alone_with_a_subsumption_are_an_answer() -> None:
    with Database(engine="local") as database:
        result = database.datalog(
            "best(1, 5). best(1, 4). best(X, A) <= best(X, B), B < A.".replace(", B <", " :- B <")
        )
        assert {name: [tuple(row) for row in result[name].collect()] for name in result} == {"best": [(1, 4)]}


def test_what_is_made_up_is_not_counted() -> None:
    assert program_summary(checked(OFFERS)).startswith("3 relations (3 derived), 4 facts, ")
    written = {name for name, one in checked(OFFERS).relations.items() if one.is_written}
    assert written == {"offer", "asked", "price"}
