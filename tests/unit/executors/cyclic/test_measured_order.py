"""Lookups change places by what they gave, where they do not need each other."""

from __future__ import annotations

from emberlog.config import Execution
from emberlog.database import Database
from emberlog.events import Event, RulesProfiled
from emberlog.executors.cyclic.measured_order import Passed, in_measured_order
from emberlog.executors.cyclic.rules import Atom, Keep, Probe, RuleChain, Start, Step
from emberlog.semantics.model import Holds
from emberlog.syntax.ast import Variable

DELTA = Start(Atom("p", ("X",)))
WIDE = Probe(Atom("wide", ("X", "A")), (0,))
GATE = Probe(Atom("gate", ("X",)), (0,))
ON_A = Probe(Atom("on", ("A", "B")), (0,))
SAME = Probe(Atom("same", ("X", "A")), (0,))
MANY, FEW = Passed(10_000, 90_000), Passed(10_000, 10)


def ordered(*steps: Step, passed: dict[Step, Passed], fixed: int | None = None) -> tuple[Step, ...]:
    chain = RuleChain("r", "p", (DELTA, *steps), (Variable("X"),), {})
    return in_measured_order(chain, passed, fixed).steps[1:]


def test_what_drops_most_comes_first() -> None:
    assert ordered(WIDE, GATE, passed={WIDE: MANY, GATE: FEW}) == (GATE, WIDE)
    assert ordered(GATE, WIDE, passed={WIDE: MANY, GATE: FEW}) == (GATE, WIDE)


def test_what_needs_the_other_or_binds_what_it_binds_stays() -> None:
    assert ordered(WIDE, ON_A, passed={WIDE: MANY, ON_A: FEW}) == (WIDE, ON_A)
    assert ordered(WIDE, SAME, passed={WIDE: MANY, SAME: FEW}) == (WIDE, SAME)


def test_other_steps_and_the_last_join_are_not_passed() -> None:
    between = Keep(Holds(Variable("A")))
    assert ordered(WIDE, between, GATE, passed={WIDE: MANY, GATE: FEW}) == (WIDE, between, GATE)
    assert ordered(WIDE, GATE, passed={WIDE: MANY, GATE: FEW}, fixed=2) == (WIDE, GATE)


def test_little_is_not_judged_by() -> None:
    assert ordered(WIDE, GATE, passed={WIDE: MANY, GATE: Passed(10, 0)}) == (WIDE, GATE)
    assert ordered(WIDE, GATE, passed={WIDE: MANY, GATE: Passed(10, 60)}) == (WIDE, GATE)


def test_a_recursion_of_which_nothing_is_known_gets_into_order_as_it_runs() -> None:
    """As written, each fact is repeated forty times before most are dropped. `off` leaves the statistics out."""
    heard: list[Event] = []
    text = "p(X, Y) :- start(X), Y = X. p(X, Y) :- p(X, Z), wide(Z, _), gate(Z), next(Z, Y)."
    with Database(engine="local") as database:
        database["start"] = [(number,) for number in range(2_000)]
        database["wide"] = [(number, other) for number in range(2_100) for other in range(40)]
        database["gate"] = [(number,) for number in range(2_100) if number % 20]
        database["next"] = [(number, number + 1) for number in range(2_100)]
        result = database.datalog(
            text,
            off=["reorder_joins", "split_between_joins", "rewrite_demand"],
            listener=heard.append,
            execution=Execution(profile=True),
        )
        expected = {(x, x) for x in range(2_000)}
        expected |= {(x, y) for x in range(2_000) for y in range(x + 1, x + 20) if all(z % 20 for z in range(x, y))}
        assert result["p"].facts == expected
    (profile,) = (event for event in heard if isinstance(event, RulesProfiled))
    placed = {(one.place, one.step.partition("(")[0]): one.rows for one in profile.steps if one.rule == "r2"}
    first, second = placed[1, "wide"], placed[1, "gate"]
    assert first > 0 and second > 0, "it was looked up first in some iterations, and second in others"
