"""The oracle itself, against values worked out by hand, and the generator, which must use the whole language."""

from __future__ import annotations

import ast
import re
from collections import Counter
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from emberlog.language.registry import AGGREGATES, PROCEDURES, SCALAR_FUNCTIONS
from tests.crosscheck.bodies import evaluated
from tests.crosscheck.generate import sample
from tests.crosscheck.meaning import Fault, Near, holds
from tests.crosscheck.oracle import Verdict, judged
from tests.crosscheck.programs import (
    Aggregate,
    Anything,
    Atom,
    Call,
    Comparison,
    Const,
    Expr,
    If,
    Input,
    Logic,
    Neg,
    Op,
    Program,
    Query,
    Row,
    Rule,
    Scalar,
    Test,
    Value,
    Var,
)

FOLDER = Path(__file__).parent
OF_EMBERLOG = {"engines", "check", "test_oracle", "test_crosscheck", "test_it_can_fail"}


def call(function: str, *arguments: Scalar | None) -> Call:
    return Call(function, tuple(map(Const, arguments)))


def test_only_the_engines_know_emberlog() -> None:
    for path in FOLDER.glob("*.py"):
        imported = {
            name
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            for name in (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
        }
        if path.stem not in OF_EMBERLOG:
            assert not [name for name in imported if name.startswith("emberlog")], path.name


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (call("round", 1.005, 2), 1.01),
        (call("round", 2.675, 2), 2.68),
        (call("round", -2.5), -3),
        (call("round", 0.49999999999999994), 0),
        (call("round", 0.285, 2), 0.29),
        (call("round", 1.5, 400), 1.5),
        (call("round", 1250, -2), 1300.0),
        (call("round", -0.4, 0), 0.0),
        (call("floor", -0.5), -1),
        (call("ceil", -0.5), 0),
        (call("int", -7.9), -7),
        (call("int", " 12 "), 12),
        (call("int", True), 1),
        (call("to_number", ".5"), 0.5),
        (call("to_string", 1e16), "1e+16"),
        (call("to_string", -0.0), "0.0"),
        (call("to_string", True), "true"),
        (Call("to_string", (call("encd", 1, "a"),)), "(1, a)"),
        (call("len", "a😀b"), 3),
        (call("len", "e\u0301"), 2),
        (call("upper", "ß"), "SS"),
        (call("lower", "İ"), "i\u0307"),
        (call("lower", "ΑΣ"), "ας"),
        (call("substr", "a😀b", 1, 1), "😀"),
        (call("substr", "abc", -1, 2), "a"),
        (call("substr", "abc", 1, 300), "bc"),
        (call("substr", "abc", 2, -1), ""),
        (call("least", 1.5, 1), 1.0),
        (call("matches", "12", "[[:digit:]]+"), True),
        (call("matches", "dig", "[[:digit:]]+"), False),
        (call("matches", "a\n", "a$"), False),
        (call("matches", "a\nb", "a.b"), False),
        (call("matches", "٣", r"\d+"), False),
        (call("matches", "fo{x}b", "fo{x}b.*"), True),
        (Op("div", Const(-7), Const(2)), -3),
        (Op("mod", Const(-7), Const(2)), -1),
        (Op("mod", Const(-(2**63)), Const(-1)), 0),
        (Op("/", Const(1), Const(4)), 0.25),
        (Op("*", Const(-1.0), Const(0.0)), 0.0),
        (Neg(Const(0.0)), 0.0),
        (call("sqrt", 2.0), 1.4142135623730951),
        (Op("+", Const(None), Op("div", Const(1), Const(0))), None),
        (call("is_null", None), True),
        (Call("coalesce", (Const(None), Const(2), Op("div", Const(1), Const(0)))), 2),
        (If(Comparison("=", Const(None), Const(1)), Op("div", Const(1), Const(0)), Const(2)), 2),
        (If(Logic("not", (Comparison("=", Const(None), Const(1)),)), Const(1), Const(2)), 2),
        (If(Test(call("in", 1, None, 1)), Const(1), Const(2)), 1),
        (If(Test(call("in", 3, None, 1), is_negated=True), Const(1), Const(2)), 2),
        (If(Test(call("like", "a%b", "a\\%_")), Const(1), Const(2)), 1),
        (call("shl", 3, 63), -(2**63)),
        (call("shr", -1, 63), -1),
        (call("bxor", -(2**63), -1), 2**63 - 1),
        (call("ipow", -1, 2**63 - 1), -1),
        (call("ipow", 0, 0), 1),
        (call("split_part", "a,b", ",", -2), "a"),
        (call("pad_left", "a", 4, "xy"), "xyxa"),
        (call("index_of", "", ""), 0),
        (call("regex_extract", "x0.15", r"(\d+)\.(\d+)", 2), "15"),
        (call("regex_replace", "abab", "a(b)?", r"\1\1"), "bbbb"),
        (call("split", "", ""), ()),
        (Call("nth", (call("list", 1, 2), Const(-2))), 1),
        (call("add_months", date(2024, 3, 31), -1), date(2024, 2, 29)),
        (call("truncate", datetime(2021, 1, 3, 12), "week"), datetime(2020, 12, 28)),
        (call("week", date(2021, 1, 3)), 53),
        (call("string", timedelta(days=-1, hours=21, microseconds=-5)), "-PT3H0.000005S"),
        (call("timestamp", "2026-01-05T23:30:00-05:00"), datetime(2026, 1, 6, 4, 30)),
        (Op("/", Const(timedelta(microseconds=-7)), Const(2)), timedelta(microseconds=-3)),
        (call("decimal", 1.005, 2), Decimal("1.01")),
        (Op("*", Const(Decimal("-0.50")), Const(Decimal("0.1"))), Decimal("-0.050")),
        (Neg(Const(Decimal("0.00"))), Decimal("0.00")),
    ],
)
def test_values(expression: Expr, value: Value) -> None:
    assert repr(evaluated(expression, {})) == repr(value)


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        (Op("/", Const(1), Const(0.0)), "DL501"),
        (Op("mod", Const(1), Const(0)), "DL501"),
        (Op("+", Const(2**63 - 1), Const(1)), "DL502"),
        (Op("div", Const(-(2**63)), Const(-1)), "DL502"),
        (Neg(Const(-(2**63))), "DL502"),
        (call("abs", -(2**63)), "DL502"),
        (call("floor", 1e19), "DL502"),
        (call("sqrt", -1.0), "DL502"),
        (call("log", 0.0), "DL502"),
        (call("exp", 710.0), "DL502"),
        (call("pow", -2.0, 0.5), "DL502"),
        (call("round", 1.7976931348623157e308, -308), "DL502"),
        (call("to_number", "1e400"), "DL502"),
        (call("int", "9223372036854775808"), "DL502"),
        (call("int", "1.5"), "DL503"),
        (call("to_number", "1_000"), "DL503"),
        (call("to_number", "NaN"), "DL503"),
        (call("matches", "a", "("), "DL503"),
        (call("shl", 1, 64), "DL502"),
        (call("ipow", 2, -1), "DL502"),
        (call("repeat", "a", 2**62), "DL502"),
        (Call("nth", (call("list", 1), Const(1))), "DL502"),
        (Op("+", Const(date(9999, 12, 31)), Const(timedelta(days=1))), "DL515"),
        (Op("+", Const(date(2026, 1, 5)), Const(timedelta(hours=1))), "DL517"),
        (call("date", "2026-02-30"), "DL516"),
        (Neg(Const(Decimal("-92233720368547758.08"))), "DL502"),
        (call("decimal", "1,5", 2), "DL503"),
    ],
)
def test_faults(expression: Expr, code: str) -> None:
    with pytest.raises(Fault) as caught:
        evaluated(expression, {})
    assert caught.value.codes == {code}


def test_values_that_may_be_rounded_otherwise() -> None:
    e = evaluated(call("exp", 1.0), {})
    assert isinstance(e, Near) and e.value == 2.718281828459045 and e.slack == 4 * 2.0**-51
    cube = evaluated(call("pow", -2.0, 3.0), {})
    assert isinstance(cube, Near) and cube.value == -8.0


def test_numbers_compare_as_numbers() -> None:
    assert holds("<", 2.0**53, 2**53 + 1)
    assert not holds("=", 2.0**53, 2**53 + 1)
    assert not holds("=", None, None)
    assert holds("<", "ａ", "😀")


# --- errors ---------------------------------------------------------------------------------------------------------

X, Y = Var("X"), Var("Y")
DOUBLED = Comparison(">", Op("*", X, Const(2)), Const(0))


def given(name: str, *rows: Row, type_: str = "int") -> Input:
    return Input(name, (type_,) * len(rows[0]) if rows else (type_,), rows, is_inline=False, is_declared=True)


def verdict(*rules: Rule, inputs: tuple[Input, ...], queries: tuple[Query, ...] = ()) -> Verdict:
    return judged(Program(inputs, (), (), rules, queries))


def test_a_literal_that_is_false_beats_a_fault() -> None:
    a, b = given("a", (2**62,), (5,)), given("b", (5,))
    for guard in (Comparison("<", X, Const(100)), Atom("b", (X,)), Atom("b", (X,), is_negated=True)):
        for body in ((Atom("a", (X,)), guard, DOUBLED), (DOUBLED, guard, Atom("a", (X,)))):
            found = verdict(Rule("p", (X,), body), inputs=(a, b))
            is_kept_out = not (isinstance(guard, Atom) and guard.is_negated)
            assert found.must == (frozenset() if is_kept_out else {"DL502"})


def test_a_fault_needs_a_valuation() -> None:
    fault = Comparison("=", Y, Op("div", Const(1), Const(0)))
    assert not verdict(Rule("p", (X, Y), (Atom("a", (X,)), fault)), inputs=(given("a"),)).codes
    assert verdict(Rule("p", (X, Y), (Atom("a", (X,)), fault)), inputs=(given("a", (1,)),)).must == {"DL501"}


def test_a_variable_of_an_atom_is_compared() -> None:
    body = (Atom("a", (X,)), Atom("b", (Y,)), Comparison("=", Y, Op("+", X, Const(1))))
    found = verdict(Rule("p", (X, Y), body), inputs=(given("a", (2**63 - 1,), (1,)), given("b", (2,))))
    assert found.must == {"DL502"} and found.answers["p"] == {(1, 2)}
    assert not verdict(Rule("p", (X, Y), body), inputs=(given("a", (2**63 - 1,)), given("b"))).codes


def test_only_what_no_query_demands_may_go_uncomputed() -> None:
    rules = (
        Rule("p", (X, Op("div", Const(1), X)), (Atom("a", (X,)),)),
        Rule("q", (X,), (Atom("p", (X, Anything())),)),
    )
    a = given("a", (0,), (1,))
    assert verdict(*rules, inputs=(a,), queries=(Query("q", (X,)),)).must == {"DL501"}
    found = verdict(*rules, inputs=(a,), queries=(Query("q", (Const(1),)),))
    assert not found.must and found.may == {"DL501"}
    assert found.answers == {"q": frozenset({(1,)})}


def test_sums_of_ints_overflow_only_in_the_end() -> None:
    rule = Rule("p", (Aggregate("sum", (X,)),), (Atom("a", (X,)),))
    found = verdict(rule, inputs=(given("a", (2**63 - 1,), (1,), (-1,)),))
    assert found.answers["p"] == {(2**63 - 1,)} and not found.codes
    assert verdict(rule, inputs=(given("a", (2**63 - 1,), (1,)),)).must == {"DL502"}


def test_widening_must_not_lose_anything() -> None:
    rules = (Rule("p", (X,), (Atom("a", (X,)),)), Rule("p", (X,), (Atom("f", (X,)),)))
    program = Program(
        (given("a", (2**53 + 1,)), given("f", (0.5,), type_="float")), (("p", ("float",)),), (), rules, ()
    )
    assert judged(program).must == {"DL506"}


def test_there_is_one_zero() -> None:
    rule = Rule("p", (X,), (Atom("a", (X,)),))
    program = Program((given("a", (-0.0,), (0.0,), type_="float"),), (), (("p", (-0.0,)),), (rule,), ())
    assert repr(judged(program).answers["p"]) == "frozenset({(0.0,)})"


# --- the generator --------------------------------------------------------------------------------------------------


def test_programs_use_the_whole_language() -> None:
    seen: Counter[str] = Counter()
    for seed in range(400):
        taken = sample(seed)
        program, text = taken.program, taken.program.text
        seen.update(set(re.findall(r"([a-z_]+)[(<]", text)))
        seen["a fault"] += bool(taken.verdict.codes)
        seen["an answer"] += any(taken.verdict.answers.values())
        seen["a query with constants"] += any(not query.asks_for_all for query in program.queries)
        seen["a wide relation"] += any(len(rule.head) >= 8 for rule in program.rules)
        seen.update(word for word in (" in (", " between ", " like ", " in [") if word in text)
        seen["a null"] += any(None in row for rows in program.registered.values() for row in rows)
    names = {*SCALAR_FUNCTIONS, *PROCEDURES, *AGGREGATES, "iterations", " in (", " between ", " like ", " in ["}
    assert {name for name in names if seen[name] < 4} == set()
    assert 40 <= seen["a fault"] <= 80
    assert seen["an answer"] > 300
    assert min(seen["a query with constants"], seen["a wide relation"], seen["a null"]) > 30


def test_a_seed_gives_one_program() -> None:
    assert sample(7) == sample(7)
