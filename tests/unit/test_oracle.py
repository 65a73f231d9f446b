"""The oracle: what the golden corpus cannot show. Answers of whole programs are in tests/golden."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import pytest

from emberlog.config import DEFAULT_LIMITS, Limits
from emberlog.datatypes import FLOAT, INT, INT_MAX, INT_MIN, STRING
from emberlog.diagnostics import EmberlogError
from emberlog.language.registry import BUILT_IN, Functions
from emberlog.semantics.analysis import analyze
from emberlog.semantics.model import CellValue, Column, Fact
from emberlog.source import Source
from emberlog.syntax.parser import parse
from tests.oracle.evaluate import evaluate

Facts = Mapping[str, Iterable[Fact]]


def run(
    text: str, inputs: Facts | None = None, limits: Limits = DEFAULT_LIMITS, functions: Functions = BUILT_IN
) -> dict[str, frozenset[Fact]]:
    return evaluate(analyze(parse(Source("p.dl", text)), functions=functions), inputs or {}, limits)


def error_of(
    text: str, inputs: Facts | None = None, limits: Limits = DEFAULT_LIMITS, functions: Functions = BUILT_IN
) -> str:
    with pytest.raises(EmberlogError) as caught:
        run(text, inputs, limits, functions)
    return str(caught.value)


# --- expressions ----------------------------------------------------------------------------------------------------


def value_of(expression: str, **cells: CellValue) -> CellValue:
    """The value of an expression over the variables that are given."""
    body = f"p({', '.join(cells)})" if cells else "X = 1"
    ((value,),) = run(f"v({expression}) :- {body}.", {"p": [tuple(cells.values())]})["v"]
    return value


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("-7 div 2", -3),
        ("7 div -2", -3),
        ("-7 mod 2", -1),
        ("7 mod -2", 1),
        ("7 / 2", 3.5),
        ("6 / 3", 2.0),
        (f"{INT_MAX} - 1 + 1", INT_MAX),
        (f"{INT_MIN} + 0", INT_MIN),
        ("0.0 * -1", 0.0),
        ("round(2.5)", 3),
        ("round(-2.5)", -3),
        ("round(0.49999999999999994)", 0),
        ("round(2.675, 2)", 2.68),
        ("round(1234.5, -2)", 1200.0),
        ("round(1.5, 1000)", 1.5),
        ("round(1.5, -1000)", 0.0),
        ("round(7)", 7),
        ("floor(-0.5)", -1),
        ("ceil(-0.5)", 0),
        ("abs(-3)", 3),
        ("pow(2, 10)", 1024.0),
        ("pow(2, -1)", 0.5),
        ("sqrt(2.25)", 1.5),
        ("log(1)", 0.0),
        ("exp(0)", 1.0),
        ("least(3, 1, 2)", 1),
        ("greatest(3, 4.5)", 4.5),
        ("least(1, 4.5)", 1.0),
        ('substr("hello", -2, 4)', "he"),
        ('substr("hello", 3, 99)', "lo"),
        ('substr("hello", 1, -1)', ""),
        ('len("☃é")', 2),
        ("to_string(1.0)", "1.0"),
        ("to_string(100000000000000000000.0)", "1e+20"),
        ("to_string(true)", "true"),
        ('to_number(" 1e3 ")', 1000.0),
        ('int("-12")', -12),
        ("int(-2.9)", -2),
        ("int(true)", 1),
        ('float("0.5")', 0.5),
        ('decd_second(encd(1, "a"))', "a"),
    ],
)
def test_values(expression: str, expected: CellValue) -> None:
    value = value_of(expression)
    assert (type(value), value) == (type(expected), expected)


def test_there_is_one_zero() -> None:
    assert math.copysign(1.0, value_of("0.0 * -1")) == 1.0  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("1 / 0", "DL501"),
        ("1 / 0.0", "DL501"),
        ("1 div 0", "DL501"),
        ("1 mod 0", "DL501"),
        (f"{INT_MAX} + 1", "DL502"),
        (f"{INT_MIN} - 1", "DL502"),
        (f"-({INT_MIN})", "DL502"),
        (f"{INT_MIN} div -1", "DL502"),
        (f"abs({INT_MIN})", "DL502"),
        ("1e308 * 10", "DL502"),
        ("exp(1000)", "DL502"),
        ("log(0)", "DL502"),
        ("sqrt(-1)", "DL502"),
        ("pow(0, -1)", "DL502"),
        ("pow(-8, 0.5)", "DL502"),
        ("floor(1e300)", "DL502"),
        ("round(1e19)", "DL502"),
        ("int(1e19)", "DL502"),
        (f'int("{"9" * 5000}")', "DL502"),
        ('to_number("1e999")', "DL502"),
        ('to_number("nan")', "DL503"),
        ('to_number("1_000")', "DL503"),
        ('to_number("")', "DL503"),
        ('int("1.5")', "DL503"),
        ('float("x")', "DL503"),
    ],
)
def test_expressions_without_a_value(expression: str, code: str) -> None:
    assert f"error[{code}]" in error_of(f"v(Y) :- X = 1, Y = {expression}.")


@pytest.mark.parametrize(
    "expression", ["X + 1", "-X", "abs(X)", "least(X, 1)", "greatest(1, X)", "encd(X, 1)", "to_string(X)", "float(X)"]
)
def test_null_makes_null(expression: str) -> None:
    assert value_of(expression, X=None) is None


def test_a_fault_names_the_rule_the_place_and_the_values() -> None:
    text = error_of("fine(1).\nr7: share(X, 1 + A div B) :- amount(X, A, B).", {"amount": [(1, 8, 2), (2, 5, 0)]})
    assert text == (
        "error[DL501]: division by zero in rule r7\n"
        "  ┌ p.dl:2:18\n"
        "2 │ r7: share(X, 1 + A div B) :- amount(X, A, B).\n"
        "  │                  ^^^^^^^\n"
        "  = here A = 5 and B = 0\n"
        "  = keep such rows out with a condition: `B != 0`"
    )


# --- inputs ---------------------------------------------------------------------------------------------------------

DECLARED = "declare p(int a, float b, string c).\nq(A, B, C) :- p(A, B, C)."


def test_ints_become_floats_in_float_columns() -> None:
    ((_, value, _),) = run(DECLARED, {"p": [(1, 2, "x")]})["q"]
    assert type(value) is float


def test_nulls_fit_everywhere() -> None:
    assert run(DECLARED, {"p": [(None, None, None)]})["q"] == {(None, None, None)}


@pytest.mark.parametrize(
    ("fact", "text"),
    [
        (("1", 2.0, "x"), 'error[DL403]: "1" in the column `a` of `p` is not an int'),
        ((1.5, 2.0, "x"), "error[DL403]: 1.5 in the column `a` of `p` is not an int"),
        ((True, 2.0, "x"), "error[DL403]: true in the column `a` of `p` is not an int"),
        ((1, "two", "x"), 'error[DL403]: "two" in the column `b` of `p` is not a float'),
        ((1, 2.0, 3), "error[DL403]: 3 in the column `c` of `p` is not a string"),
        ((2**63, 2.0, "x"), "error[DL403]: 9223372036854775808 in the column `a` of `p` is not a 64-bit int"),
        ((1, math.nan, "x"), "error[DL403]: nan in the column `b` of `p` is not a finite float"),
        ((1, 2.0), "error[DL402]: a fact of `p` has 2 values, but the program uses 3"),
    ],
)
def test_facts_that_do_not_fit(fact: Fact, text: str) -> None:
    assert text in error_of(DECLARED, {"p": [fact]})


def test_a_column_of_unknown_type_holds_values_of_one_type() -> None:
    assert run("q(X) :- p(X).", {"p": [(1,), (2.5,), (None,)]})["q"] == {(1.0,), (2.5,), (None,)}
    assert 'error[DL403]: "x" in the column' in error_of("q(X) :- p(X).", {"p": [(1,), ("x",)]})


def test_a_missing_input_is_named_with_the_nearest_one() -> None:
    text = error_of("tc(X, Y) :- arc(X, Y).", {"arcs": [(1, 2)]})
    assert "error[DL401]: there are no facts for the relation `arc`" in text
    assert "did you mean `arcs`?" in text


def test_inputs_that_nobody_reads_are_neither_needed_nor_checked() -> None:
    program = "declare unread(int x).\nq(X) :- p(X).\nr(X) :- other(X).\nq(X)?"
    assert run(program, {"p": [(1,)], "more": [("what", "ever")]}) == {"q": {(1,)}}


def test_empty_relations() -> None:
    assert run("q(X) :- p(X, _).\nn(count<_>) :- p(_, _).", {"p": []}) == {"q": frozenset(), "n": {(0,)}}


# --- what is not run ------------------------------------------------------------------------------------------------


def test_streams_are_not_run() -> None:
    text = error_of("STREAM s(Ts: Timestamp, X: Int).\nq(T, X) :- s(T, X).", {"s": [(1, 2)]})
    assert "error[DL320]: stream programs are checked and explained here, not run" in text


def test_parameters_need_values() -> None:
    assert "error[DL211]" in error_of("q(X) :- p(X), X > $low.", {"p": [(1,)]})
    assert "error[DL211]" in error_of("q(X) :- p(X).\nq($x)?", {"p": [(1,)]})


# --- limits ---------------------------------------------------------------------------------------------------------

ENDLESS = "n(0).\nn(X + 1) :- n(X)."


def test_the_limit_of_iterations_shows_the_last_facts() -> None:
    text = error_of(ENDLESS, limits=Limits(max_iterations=3))
    assert "error[DL510]: the limit of 3 iterations was passed in stratum 1: n" in text
    assert "iteration 4 added 1 fact, 4 in all: n(3)" in text


def test_a_recursion_may_use_up_its_iterations() -> None:
    assert len(run("n(0).\nn(X + 1) :- n(X), X < 3.", limits=Limits(max_iterations=4))["n"]) == 4


def test_the_limit_of_rows_counts_all_strata() -> None:
    program = "a(X) :- p(X).\nb(X, Y) :- a(X), a(Y)."
    inputs = {"p": [(1,), (2,), (3,)]}
    assert len(run(program, inputs, Limits(max_rows=12))["b"]) == 9
    text = error_of(program, inputs, Limits(max_rows=11))
    assert "error[DL511]: the limit of 11 rows was passed in stratum 2: b" in text


def test_the_timeout_stops_a_recursion_and_a_single_join() -> None:
    unlimited = Limits(max_iterations=None, max_rows=None, timeout=0.05)
    assert "error[DL512]: the timeout of 0.05 seconds was passed in stratum 1: n" in error_of(ENDLESS, limits=unlimited)
    numbers = {"p": [(number,) for number in range(1_000)]}
    text = error_of("q(X) :- p(X), p(Y), p(Z), X + Y + Z < 0.", numbers, unlimited)
    assert "error[DL512]" in text
    assert "no iteration was finished" in text


# --- aggregates -----------------------------------------------------------------------------------------------------


def test_a_sum_of_facts_alone_may_overflow_too() -> None:
    text = error_of(f"declare t(int v aggregate Sum).\nt({INT_MAX}).\nt(1).\nt(X)?")
    assert text.startswith("error[DL502]: the result does not fit in a 64-bit int: `t`\n  ┌ p.dl:1:9")


# --- registered functions -------------------------------------------------------------------------------------------


def spread(values: Sequence[object]) -> object:
    numbers = [value for value in values if isinstance(value, int)]
    return max(numbers) - min(numbers)


def test_registered_functions() -> None:
    functions = BUILT_IN.with_scalar("initial", lambda text: str(text)[:1], [STRING], STRING)
    functions = functions.with_aggregate("spread", spread, INT)
    program = "i(initial(N)) :- p(N, _).\ns(spread<A>) :- p(_, A)."
    inputs = {"p": [("ann", 20), ("abe", 50), ("bob", None), (None, 30)]}
    assert run(program, inputs, functions=functions) == {"i": {("a",), ("b",), (None,)}, "s": {(30,)}}


def test_a_registered_function_that_fails() -> None:
    functions = BUILT_IN.with_scalar("half", lambda number: number / 0, [INT], FLOAT)
    text = error_of("r1: h(half(X)) :- p(X).", {"p": [(4,)]}, functions=functions)
    assert "error[DL505]: the function `half` failed with ZeroDivisionError: division by zero in rule r1" in text
    assert "here X = 4" in text


def test_a_registered_function_with_a_strange_result() -> None:
    functions = BUILT_IN.with_scalar("odd", lambda number: {number}, [INT], INT)
    assert "gave a set, not an int" in error_of("h(odd(X)) :- p(X).", {"p": [(4,)]}, functions=functions)


# --- the rest -------------------------------------------------------------------------------------------------------


def test_the_answer_does_not_depend_on_the_order_of_the_facts() -> None:
    program = "s(K, sum<V>) :- p(K, V)."
    facts = [("a", 0.1), ("a", 0.2), ("a", 0.3), ("a", 1e16), ("a", -1e16)]
    columns = {"p": [Column("k", STRING), Column("v", FLOAT)]}
    checked = analyze(parse(Source("p.dl", program)), inputs=columns)
    answers = {frozenset(evaluate(checked, {"p": facts[i:] + facts[:i]})["s"]) for i in range(len(facts))}
    assert answers == {frozenset({("a", 0.6)})}


def test_groups_of_null_and_rows_with_null_are_each_one() -> None:
    facts = [(1, None), (2, None), (3, "x")]
    assert run("k(K) :- p(_, K).\nn(K, count<_>) :- p(_, K).", {"p": facts}) == {
        "k": {(None,), ("x",)},
        "n": {(None, 2), ("x", 1)},
    }
