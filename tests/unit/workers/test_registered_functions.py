"""Functions of the user's in recursions, by workers: the answers and the faults of the oracle."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from emberlog.config import Execution
from emberlog.datatypes import FLOAT, INT, STRING, DataType
from emberlog.diagnostics import EmberlogError
from emberlog.events import Event, ExecutorChosen
from emberlog.language.registry import BUILT_IN
from emberlog.optimize.pipeline import plan_program
from emberlog.semantics.analysis import analyze
from emberlog.semantics.model import Fact
from tests.local_runs import SETUPS, run_locally
from tests.oracle import evaluate as reference
from tests.programs import parsed

SCALARS: tuple[tuple[str, Callable[..., object], tuple[DataType, ...], DataType], ...] = (
    ("half", lambda x: x // 2, (INT,), INT),
    ("label", lambda x: f"n{x}", (INT,), STRING),
    ("number", lambda s: int(s[1:]), (STRING,), INT),
    ("known", lambda x: x if x % 3 else None, (INT,), INT),
    ("mean", lambda x, y: (x + y) / 2, (INT, FLOAT), FLOAT),
    ("broken", lambda x: 1 // (x - 3), (INT,), INT),
    ("odd", lambda s: s + "\ud800", (STRING,), STRING),
)
FUNCTIONS = BUILT_IN
for one in SCALARS:
    FUNCTIONS = FUNCTIONS.with_scalar(*one)

ARC = "declare arc(int a, int b).\n"
ARCS: frozenset[Fact] = frozenset({(1, 2), (2, 3), (3, 4), (4, 1), (4, 7), (7, 8), (None, 2), (8, None)})
PROGRAMS = {
    "ints": "p(X) :- arc(X, _). p(half(Y)) :- p(X), arc(X, Y).",
    "texts": "p(X, label(X)) :- arc(X, _). p(Y, T) :- p(X, S), arc(X, Y), number(S) = X, T = label(Y).",
    "in a condition": "p(1). p(Y) :- p(X), arc(X, Y), mean(Y, 0.5) < 4.0.",
    "gives null": "p(X, known(X)) :- arc(X, _). p(Y, known(K)) :- p(X, K), arc(X, Y).",
    "of a null": "p(X) :- arc(X, _). p(Z) :- p(X), arc(X, Y), Z = known(Y), !arc(Z, 8).",
    "nested": "p(1, 0.5). p(Y, M) :- p(X, F), arc(X, Y), M = mean(half(Y), F) + 0.5, F < 3.0.",
    "in a minimum": "p(1, min<0>) :- arc(_, _). p(Y, min<D + half(Y)>) :- p(X, D), arc(X, Y), Y < 7.",
    "twice": "p(X, Y) :- arc(X, Y). p(half(X), Y) :- p(X, Z), p(Z, Y), half(X) < half(Y).",
}


@pytest.mark.parametrize("setup", [*SETUPS, "async"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_answer_is_that_of_the_oracle(name: str, setup: str) -> None:
    program = analyze(parsed(ARC + PROGRAMS[name]), functions=FUNCTIONS)
    execution = SETUPS.get(setup) or Execution(workers=2, mode="async")
    events: list[Event] = []
    plan = plan_program(program).plan
    answers = run_locally(plan, {"arc": ARCS}, execution=execution, listener=events.append)
    assert answers == reference.evaluate(program, {"arc": ARCS})
    chosen = {event.executor for event in events if isinstance(event, ExecutorChosen)}
    # What a function gives may be null, and is not aggregated then.
    assert chosen == ({"interpreter"} if name == "in a minimum" else {"cyclic"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("p(1). p(broken(X)) :- p(X). p(Y) :- p(X), arc(X, Y).", "`broken` failed with ZeroDivisionError.* in rule r1"),
        ('p("a"). p(odd(S)) :- p(S), len(S) < 3.', "`odd` gave a text with half a character"),
    ],
)
def test_faults(text: str, message: str) -> None:
    program = analyze(parsed(ARC + text), functions=FUNCTIONS)
    with pytest.raises(EmberlogError, match=message):
        run_locally(plan_program(program).plan, {"arc": ARCS}, execution=Execution(workers=2))
