"""Pins what was found to depend on the engine, the size of the data or the order of a body."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import pytest

from emberlog import Database, EmberlogError
from emberlog.config import Execution, Limits
from emberlog.engines.interpreter.interpreter import run
from emberlog.optimize.pipeline import plan_program
from tests.local_runs import SETUPS, run_locally
from tests.oracle.evaluate import evaluate
from tests.programs import checked

Facts = Mapping[str, Sequence[tuple[Any, ...]]]


def answer(program: str, facts: Facts, *, workers: int = 1, relation: str = "p") -> set[tuple[Any, ...]] | str:
    """The facts of a relation, or the code of the error."""
    db = Database(engine="local")
    for name, rows in facts.items():
        db[name] = rows
    try:
        return set(db.datalog(program, execution=Execution(workers=workers))[relation])
    except EmberlogError as error:
        return error.diagnostics[0].code


LARGE: Facts = {"a": [(2**62,), (5,)], "b": [(5,)]}
CHAIN = [(i, i + 1) for i in range(3_000)]


@pytest.mark.parametrize("arcs", [500, 3_000])
def test_rounding_does_not_depend_on_the_number_of_arcs(arcs: int) -> None:
    program = "p(0, 1.005). p(Y, V) :- p(X, W), e(X, Y), V = round(W, 2). "
    found = answer(program, {"e": CHAIN[:arcs]})
    assert found == {(0, 1.005), *((i, 1.01) for i in range(1, arcs + 1))}


def test_prices_with_three_decimals_round_as_they_are_written() -> None:
    prices = [(i, i + 1, (i + 1) / 1000) for i in range(20_000)]
    found = answer("p(0, 0.0). p(K, R) :- p(J, _), e(J, K, X), R = round(X, 2).", {"e": prices})
    assert isinstance(found, set)
    assert dict(found) == {i: float(f"{(i + 5) // 10}e-2") for i in range(20_001)}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [("round(X * 0.49999999999999994)", 0), ("round(X * 1.5, 400)", 1.5), ("round(X * 0.5)", 1)],
)
def test_rounding_in_workers(expression: str, expected: float) -> None:
    program = f"r(0, 1.0). r(Y, X) :- r(Z, X), e(Z, Y). p(Y, {expression}) :- r(Y, X)."
    found = answer(program, {"e": CHAIN})
    assert isinstance(found, set)
    assert {value for _, value in found} == {expected}


SUM = (
    "@iterations(2)\np(K, sum<V>) :- n(K, _, V). p(K, sum<V>) :- p(K, _), never(K, V). declare never(int k, {type} v)."
)
MEAN = SUM.replace("sum", "avg").format(type="int")


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("order", list(itertools.permutations((2**63 - 1, 1, -1))))
def test_a_sum_of_ints_overflows_only_if_it_is_too_large(order: tuple[int, ...], workers: int) -> None:
    numbers = [(0, i, value) for i, value in enumerate(order)]
    facts: Facts = {"n": numbers, "never": []}
    assert answer(SUM.format(type="int"), facts, workers=workers) == {(0, 2**63 - 1)}
    facts = {"n": [*numbers, (0, 3, 1)], "never": []}
    assert answer(SUM.format(type="int"), facts, workers=workers) == "DL502"
    assert answer(MEAN, facts, workers=workers) == {(0, 2**63 / 4)}


def test_a_mean_of_ints_is_rounded_once() -> None:
    facts: Facts = {"n": [(0, 0, 2**53 + 1), (0, 1, 1), (0, 2, 1)], "never": []}
    expected = {(0, float(Fraction(2**53 + 3, 3)))}
    for workers in (1, 2, 3):
        assert answer(MEAN, facts, workers=workers) == expected
        mixed = answer(SUM.format(type="float").replace("sum", "avg"), facts, workers=workers)
        assert mixed == "DL506"  # the float of another rule makes all values floats


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_a_sum_of_floats_keeps_within_its_bound(workers: int) -> None:
    numbers = [1e16, 1.0, -1e16, 1.0]
    facts: Facts = {"n": [(0, i, value) for i, value in enumerate(numbers)], "never": []}
    found = answer(SUM.format(type="float"), facts, workers=workers)
    assert isinstance(found, set)
    ((_, total),) = found
    assert abs(total - math.fsum(numbers)) <= len(numbers) * 2**-52 * math.fsum(map(abs, numbers))


def test_why_of_a_sum_that_is_rounded() -> None:
    db = Database(engine="local")
    db["n"] = [(0, i, value) for i, value in enumerate((1e16, 1.0, -1e16, 1.0))]
    db["never"] = []
    result = db.datalog(SUM.format(type="float"), provenance=True)
    ((key, total),) = result["p"]
    assert "sum" in str(result.why("p", (key, total)))


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("[[:digit:]]+", {"12"}),
        ("fo{x}b.*", {"fo{x}bar"}),
        ("(a+)+b", set()),
        ("[^a-z]*", {"12", ":]]"}),
    ],
)
def test_one_dialect_of_patterns_that_takes_linear_time(pattern: str, expected: set[str]) -> None:
    texts = ["12", "dig", "d]", ":]]", "fo{x}bar", "a" * 31]
    found = answer(f'p(X) :- t(X), matches(X, "{pattern}").', {"t": [(text,) for text in texts]})
    assert found == {(text,) for text in expected}


def test_there_is_one_zero() -> None:
    program = "p(to_string(X), to_string(Y)) :- z(X, Y)."
    assert answer(program, {"z": [(0.0, -0.0)]}) == answer(program, {"z": [(-0.0, 0.0)]}) == {("0.0", "0.0")}


def test_ints_that_no_float_is_equal_to_do_not_become_one_fact() -> None:
    assert answer("p(X) :- a(X). p(0.5).", {"a": [(2**53,), (2**53 + 1,)]}) == "DL506"
    assert answer("p(X) :- a(X). p(0.5).", {"a": [(2**53,)]}) == {(2.0**53,), (0.5,)}
    assert answer("p(X) :- a(X). p(0.5). p(9007199254740993).", {"a": [(1,)]}) == "DL225"
    assert answer("p(float(X)) :- a(X).", {"a": [(2**53,), (2**53 + 1,)]}) == {(2.0**53,)}


def test_ints_and_floats_compare_as_numbers() -> None:
    facts: Facts = {"i": [(2**53,), (2**53 + 1,)], "f": [(2.0**53,)]}
    assert answer("p(X) :- i(X), f(Y), X > Y.", facts) == {(2**53 + 1,)}
    recursive = "r(X) :- i(X). r(X) :- r(Z), e(Z, X). p(X) :- r(X), f(Y), X <= Y."
    assert answer(recursive, {**facts, "e": CHAIN}) == {(2**53,)}


BODIES: dict[str, set[tuple[Any, ...]] | str] = {
    "a(X), X < 100, X * 2 > 0": {(5,)},
    "a(X), b(X), X * 2 > 0": {(5,)},
    "a(X), X * 2 > 0": "DL502",
    "a(X), Y = X * 2, X < 100": {(5,)},
    "a(X), Y = X * 2, Y < 100, b(X)": {(5,)},
    "a(X), Y = X * 2, Y < 100": "DL502",
    "a(X), X * 2 > 0, 10 div (X - 5) > 100": "DL501",
    "a(X), X * 2 > 0, 10 div (X - 4) > 0": {(5,)},
    "a(X), Y = X * 2, !b(Y)": "DL502",
    "a(X), Y = X * 2, !b(Y), X < 100": {(5,)},
    "a(X), b(Y), Y = X * 2": "DL502",
    "a(X), b(X * 2)": "DL502",
    "a(X), b(X * 2), X < 100": set(),
    "a(X), b(X + 0)": {(5,)},
    "a(X), none(Y), Y = X * 2": set(),
}
"""What a fault comes to does not depend on the order. In the last but four and three, some value of Y has to hold."""


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("rows", [0, 3_000], ids=["interpreter", "workers"])
def test_errors_do_not_depend_on_the_order_of_a_body(body: str, rows: int) -> None:
    """As a plain rule, and as one of a recursion that workers compute."""
    expected = BODIES[body]
    facts: Facts = {**LARGE, "none": [], "e": CHAIN[:rows]}
    for order in itertools.permutations(body.split(", ")):
        program = f"declare none(int x). declare e(int x, int y). p(X) :- {', '.join(order)}."
        if rows:
            program += " q(0). q(Y) :- q(X), e(X, Y). q(X) :- q(0), " + ", ".join(order) + "."
            found = answer(program, facts, relation="q")
            found = found if isinstance(found, str) else {one for one in found if one[0] in (5, 2**62)}
            wanted = expected if isinstance(expected, str) else expected | {(5,)}
            assert found == wanted, program
        else:
            assert answer(program, facts) == expected, program


def test_a_constant_without_a_value_is_met_only_by_valuations() -> None:
    program = "declare e(int x). p(X, F) :- e(X), F = floor(1e20 * 2.0), F > 0."
    assert answer(program, {"e": []}) == set()
    assert answer(program, {"e": [(1,)]}) == "DL502"


def test_an_answer_does_not_depend_on_rows_that_no_join_keeps() -> None:
    program = "s(K, sum<V>) :- n(K, V), m(K). p(S) :- s(_, S)."
    assert answer(program, {"n": [(1, 2**63 - 1), (1, 1), (2, 3)], "m": [(2,)]}) == {(3,)}


def test_a_comparison_gives_no_type_to_what_has_one() -> None:
    """`N2 != 0.0` stands before the atom that makes `N2` an int, and no fact says what the second column is."""
    program = "p4(N0, N3) :- p4(_, N3), p1(N0). p1(1) :- e(_). p(N3) :- p4(_, N2), N2 != 0.0, p4(N2, N3)."
    assert answer(program, {"e": [(1,)]}) == set()


def test_a_pair_beside_a_value_that_is_looked_up_is_no_matter() -> None:
    """Workers read the relation whole to look out for values that do not exist, and keep no pairs."""
    program = (
        "q(X, S, Z, encd(0.2, 1)) :- e(Z, _), a(X), e(_, S). p(1) :- Y = X + 1, q(X, _, _, _), q(Y, _, _, _). a(3). "
    )
    facts = {"e": [(3, f"t{number}") for number in range(30_000)]}
    assert answer(program, facts) == set()


@pytest.mark.parametrize("rows", [[(1, None)], [(1, 2)], [(1, None), (2, 3)]])
@pytest.mark.parametrize("part", ["N = Y - S", "N = coalesce(Y, S)", "N = if(X > 0, 1, S)", "N = 2 * S"])
def test_a_fault_is_told_though_what_reads_it_is_null(part: str, rows: list[tuple[int, int | None]]) -> None:
    """One value of `S` has none, whatever becomes of it."""
    program = f"declare e(x: int, y: int).\np(X) :- e(X, Y), S = shr(X, X - 5), {part}."
    assert answer(program, {"e": rows}) == "DL502"


WITHOUT_VALUES = {
    "a text that is not there, in a list": 'p(nth([S, S], 1)) :- e(_), S = nth(["a"], -2).',
    "a list that is not there, in a list": "p(len([L, L])) :- e(_), L = [X, X], X = 1 div 0.",
    "a null compared with it": 'p(D) :- e(_), null = T, D = date "9999-12-31" + 1 days, T != D.',
    "beside a choice of nulls": 'p(D) :- e(_), null = T, D = date "9999-12-31" + 1 days, coalesce(T, T) != D.',
    "a null in a condition": 'p(1) :- e(_), null = T, T != date "9999-12-31" + 1 days.',
}


@pytest.mark.parametrize("setup", [None, "cyclic-1", "cyclic-3"])
@pytest.mark.parametrize("name", WITHOUT_VALUES)
def test_a_value_that_is_not_there_is_told_by_workers_too(name: str, setup: str | None) -> None:
    program = checked(f"{WITHOUT_VALUES[name]} e(1).")
    with pytest.raises(EmberlogError) as expected:
        evaluate(program, {})
    plan = plan_program(program).plan
    with pytest.raises(EmberlogError) as told:
        _ = run(plan, {}, Limits()) if setup is None else run_locally(plan, {}, Limits(), SETUPS[setup])
    assert [one.code for one in told.value.diagnostics] == [one.code for one in expected.value.diagnostics]
