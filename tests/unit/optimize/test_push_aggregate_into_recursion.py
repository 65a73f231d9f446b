"""The naive program for shortest paths comes to its end on a graph with cycles, where there is no end of paths."""

from __future__ import annotations

import pytest

from emberlog.engines.interpreter import interpreter
from emberlog.optimize.pipeline import plan_program
from emberlog.semantics.model import CheckedProgram, Fact
from tests.local_runs import SETUPS, run_locally
from tests.oracle import evaluate as reference
from tests.programs import checked

DECLARED = "declare arc(int a, int b, int w).\n"

ALL_PATHS = """
    path(X, Y, D) :- arc(X, Y, D).
    path(X, Y, D) :- {first}(X, Z, C), {second}(Z, Y, B), D = C + B.
    near({source}Y, min<D>) :- path({from}, Y, D).
    near({source}Y, D)?
"""

SHORTEST_PATHS = """
    near(X, Y, min<D>) :- arc(X, Y, D).
    near(X, Y, min<D>) :- near(X, Z, C), arc(Z, Y, B), D = C + B.
"""

CYCLES: dict[str, tuple[Fact, ...]] = {
    "arc": ((1, 2, 7), (2, 3, 1), (3, 1, 2), (1, 3, 9), (3, 4, 0), (4, 3, 0), (4, 5, 3), (5, 5, 1), (6, 1, 1))
}


def naive(first: str, second: str, source: str) -> CheckedProgram:
    is_bound = source != "X"
    text = ALL_PATHS.format(
        first=first, second=second, source="" if is_bound else "X, ", **{"from": source if is_bound else "X"}
    )
    return checked(DECLARED + text)


def shortest(source: str) -> frozenset[Fact]:
    facts = reference.evaluate(checked(DECLARED + SHORTEST_PATHS), CYCLES)["near"]
    return facts if source == "X" else frozenset(fact[1:] for fact in facts if fact[0] == int(source))


@pytest.mark.parametrize("source", ["X", "1"])
@pytest.mark.parametrize(("first", "second"), [("path", "arc"), ("arc", "path"), ("path", "path")])
@pytest.mark.parametrize("executor", ["interpreter", *SETUPS])
def test_all_paths_then_the_least(first: str, second: str, source: str, executor: str) -> None:
    plan = plan_program(naive(first, second, source)).plan
    if executor == "interpreter":
        answer = interpreter.run(plan, CYCLES)
    else:
        answer = run_locally(plan, CYCLES, execution=SETUPS[executor])
    assert answer["near"] == shortest(source)
