"""Random programs whose workers are short of memory at odd moments: the answer is that of the reference, and it comes
in the same rounds as with enough of it."""

from __future__ import annotations

from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from emberlog.config import Execution
from emberlog.events import Event, IterationFinished
from emberlog.optimize.pipeline import plan_program
from emberlog.semantics.model import Fact
from tests.local_runs import run_locally
from tests.oracle.evaluate import evaluate
from tests.programs import checked
from tests.property.programs import RandomProgram
from tests.property.shapes import programs
from tests.property.test_programs import LIMITS, SURE_DIGITS, assert_same, by_reference, outcome, properties, read
from tests.short_memory import short_memory

PORTION = 16
"""Bytes of memory for each byte that is shipped at a time."""

SETUPS = {
    "one worker": Execution(workers=1, representation="hash", memory=100 * PORTION),
    "one worker, bsp": Execution(workers=1, mode="bsp", representation="hash", memory=PORTION),
    "bsp": Execution(workers=2, mode="bsp", representation="hash", memory=PORTION),
    "bsp, larger portions": Execution(workers=3, mode="bsp", representation="hash", memory=500 * PORTION),
    "decomposed": Execution(workers=3, representation="hash", memory=100 * PORTION),
}


@given(programs(), st.sampled_from(list(SETUPS)), st.integers(0, 2**32), st.sampled_from((0.02, 0.2, 0.6)))
@properties
def test_short_of_memory_the_answer_is_that_of_the_reference(
    random: RandomProgram, setup: str, seed: int, likely: float
) -> None:
    program = read(random)
    plan = plan_program(program).plan
    with short_memory(seed, likely):
        found = outcome(partial(run_locally, plan, random.facts, LIMITS, SETUPS[setup]), SURE_DIGITS)
    assert_same(found, by_reference(program, random, SURE_DIGITS), setup)


ARC = "declare arc(int a, int b).\n"
DECOMPOSED = {
    "closure": """
tc(X, Y) :- arc(X, Y).
tc(X, Y) :- tc(X, Z), arc(Z, Y).
""",
    "several relations": """
odd(X, Y) :- arc(X, Y).
odd(X, Y) :- even(X, Z), arc(Z, Y).
even(X, Y) :- odd(X, Z), arc(Z, Y), Y != 3.
""",
    "minimum": """
near(X, Y, min<D>) :- arc(X, Y), D = X + 40.
near(X, Y, min<D>) :- near(X, Z, C), arc(Z, Y), D = greatest(C - Z, Y).
""",
    "minimum by two rules": """
near(X, Y, min<D>) :- arc(X, Y), D = 7 * Y.
near(X, Y, min<D>) :- near(X, Z, C), arc(Z, Y), D = C + Z.
near(X, Y, min<D>) :- near(X, Z, C), arc(Y, Z), D = C + Y.
""",
    "minima by turns": """
here(X, Y, min<D>) :- arc(X, Y), D = 5 * Y.
here(X, Y, min<D>) :- there(X, Z, C), arc(Z, Y), D = C + 1.
there(X, Y, min<D>) :- here(X, Z, C), arc(Y, Z), D = C + Z.
there(X, Y, min<D>) :- arc(Y, X), D = 9 * Y.
""",
    "a set beside a minimum": """
near(X, Y, min<D>) :- arc(X, Y), D = 5 * Y.
near(X, Y, min<D>) :- seen(X, Z), arc(Z, Y), D = Z + Y.
seen(X, Y) :- near(X, Y, D), D < 30.
seen(X, Y) :- seen(X, Z), arc(Y, Z).
""",
    "argmin": """
via(X, Y, argmin<D, Z>) :- arc(X, Y), D = 9, Z = X.
via(X, Y, argmin<D, Z>) :- via(X, Z, _), arc(Z, Y), D = (Z + Y) % 7.
""",
}
GRAPHS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=25)


@given(
    st.sampled_from(list(DECOMPOSED)),
    GRAPHS,
    st.sampled_from((1, 2)),
    st.integers(0, 2**32),
    st.sampled_from((0.05, 0.2, 0.6)),
)
@properties
def test_slices_go_through_the_rounds_of_a_run_that_fits(
    name: str, arc: list[Fact], workers: int, seed: int, likely: float
) -> None:
    text = ARC + DECOMPOSED[name]
    program = checked(text)
    plan = plan_program(program).plan
    execution = Execution(workers=workers, mode="decomposed", representation="hash", memory=100 * PORTION)

    def rounds(likely: float) -> list[tuple[int, int, int]]:
        events: list[Event] = []
        with short_memory(seed, likely):
            found = run_locally(plan, {"arc": arc}, LIMITS, execution, events.append)
        assert found == evaluate(program, {"arc": arc}, LIMITS)
        return [(one.iteration, one.delta_rows, one.total_rows) for one in events if isinstance(one, IterationFinished)]

    assert rounds(likely) == rounds(0)
