"""Random programs over values of declared types: patterns in heads, bodies and negations, in recursions and aggregates.
Every engine of this process has the oracle's answer.

`EMBERLOG_EXAMPLES` sets the number of programs.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emberlog.config import Limits
from emberlog.engines.interpreter.interpreter import run
from emberlog.optimize.pipeline import plan_program
from tests.local_runs import SETUPS, run_locally
from tests.oracle.evaluate import evaluate
from tests.programs import checked

EXAMPLES = int(os.environ.get("EMBERLOG_EXAMPLES", "25"))
LIMITS = Limits(max_iterations=50, max_rows=50_000)

TYPES = """type Tree = Leaf(value: int) | Node(left: Tree, right: Tree) | Tag(name: string, of: Tree) | Empty.
"""
LEAVES = st.sampled_from(["$Empty", "$Leaf(0)", "$Leaf(1)", "$Leaf(-7)"])
NAMES = st.sampled_from(['"a"', '"b, (c"', r'"\\\"]"', '""'])
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds("$Node({}, {})".format, inner, inner), st.builds("$Tag({}, {})".format, NAMES, inner)
    ),
    max_leaves=6,
)


def patterns(variables: list[str]) -> st.SearchStrategy[str]:
    """Patterns of trees whose fields are trees, with variables of trees among them."""
    term = st.sampled_from([*variables, "_"])
    flat = st.one_of(st.builds("$Node({}, {})".format, term, term), st.builds("$Tag(_, {})".format, term))
    deep = st.builds("$Node({}, {})".format, flat, term) | st.builds("$Node({}, {})".format, term, flat)
    return st.one_of(flat, deep, st.builds("$Node({}, {})".format, term, LEAVES))


@st.composite
def programs(draw: st.DrawFn) -> str:
    facts = draw(st.lists(TREES, min_size=1, max_size=5))
    rules = [f"tree({one})." for one in facts]
    rules += ["part(T) :- tree(T).", "part(L) :- part($Node(L, _)).", "part(R) :- part(T), T = $Node(_, R)."]
    rules += ["part(T) :- part($Tag(_, T))."]
    first, second = draw(patterns(["X", "Y"])), draw(patterns(["X", "Y"]))
    rules += [f"one(T, X) :- part(T), X = T, T = {draw(patterns(['X', 'Y']))}, part(Y)."]
    rules += [f"two(X, Y) :- part(X), part(Y), part({first})."]
    made = draw(patterns(["X", "Y"])).replace("$Tag(_", '$Tag("t"').replace("_", "X")
    rules += [f"two({made}, Y) :- part(X), part(Y), tree({second})."]
    rules += [f"none(X) :- part(X), !part({draw(patterns(['X', 'Z']))})."]
    rules += ["size($Leaf(V), V + 1) :- part($Leaf(V)).", "size($Empty, 0) :- part($Empty)."]
    rules += ["size(T, N1 + N2) :- part(T), T = $Node(L, R), size(L, N1), size(R, N2)."]
    rules += ["size($Tag(S, T), N + len(S)) :- part($Tag(S, T)), size(T, N)."]
    rules += ["by_size(N, count<T>) :- size(T, N)."]
    rules += [f"around(X, N) :- part(X), N = count : {{ part({draw(patterns(['X', 'W']))}) }}."]
    asked = draw(st.sampled_from(["", f"part({facts[0]})?", f"size({facts[0]}, N)?"]))
    asked = asked and "\n".join((asked, "one(_, _)?", "two(X, X)?", "none(_)?", "by_size(_, _)?", "around(_, 1)?"))
    return TYPES + "\n".join([*rules, asked])


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(programs())
def test_every_engine_has_the_answer_of_the_oracle(text: str) -> None:
    program = checked(text)
    expected = {name: frozenset(facts) for name, facts in evaluate(program, {}, LIMITS).items()}
    plan = plan_program(program).plan
    assert run(plan, {}, LIMITS) == expected
    for setup in ("cyclic-1", "cyclic-3"):
        assert run_locally(plan, {}, LIMITS, SETUPS[setup]) == expected
