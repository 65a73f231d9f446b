import pytest

from emberlog.datatypes import INT, STRING, TIMESTAMP
from emberlog.diagnostics import EmberlogError
from emberlog.source import Source
from emberlog.syntax import ast
from emberlog.syntax.ast import Constant, DeclarationKind, Variable
from emberlog.syntax.parser import parse_tolerantly
from tests.programs import parsed


def rule(text: str) -> ast.Rule:
    (statement,) = parsed(text).statements
    assert isinstance(statement, ast.Rule)
    return statement


def errors(text: str) -> list[str]:
    with pytest.raises(EmberlogError) as caught:
        parsed(text)
    return [diagnostic.code for diagnostic in caught.value.diagnostics]


def test_a_rule_keeps_its_label_and_its_annotations() -> None:
    labelled = rule("@iterations(3) @premappable r1: p(X) :- q(X).")
    assert labelled.label == "r1"
    assert [annotation.name for annotation in labelled.annotations] == ["iterations", "premappable"]


def test_aggregates_in_all_their_spellings() -> None:
    terms = rule(
        "h(count<*>, count<_>, MIN(L), mcount<(E, 1)>, sum<-X>, min<(A + B) * 2>) :- p(L, E, X, A, B)."
    ).head.terms
    shapes = [(term.function, len(term.arguments)) for term in terms if isinstance(term, ast.AggregateTerm)]
    assert shapes == [("count", 0), ("count", 0), ("min", 1), ("mcount", 2), ("sum", 1), ("min", 1)]


def test_the_location_of_a_head() -> None:
    assert rule("p(X, #Y) :- q(X, Y).").head.location == 1


def test_operators_bind_as_in_mathematics() -> None:
    body = rule("p(X) :- q(X), X = 1 - 2 - 3 * -X mod 4.").body
    assert body is not None
    comparison = body.parts[1]
    assert isinstance(comparison, ast.Comparison)
    text = comparison.right
    assert isinstance(text, ast.Binary) and text.operator.value == "-"
    assert isinstance(text.left, ast.Binary) and text.left.operator.value == "-"
    assert isinstance(text.right, ast.Binary) and text.right.operator.value == "mod"


def test_a_group_and_a_parenthesised_number_are_told_apart() -> None:
    body = rule("p(X) :- (a(X) ; b(X), c(X)), (X + 1) * 2 > 3, (d(X)).").body
    assert body is not None
    assert [type(part) for part in body.parts] == [ast.Disjunction, ast.Comparison, ast.Atom]


def test_less_than_a_negative_number_is_not_an_arrow() -> None:
    body = rule("p(X) :- q(X), X<-1.").body
    assert body is not None
    assert isinstance(body.parts[1], ast.Comparison)


def test_the_smallest_int_is_a_constant() -> None:
    assert rule("p(-9223372036854775808).").head.terms == (Constant(-(2**63)),)
    assert errors("p(9223372036854775808).") == ["DL105"]


def test_declarations_of_datalogra_and_streamlog() -> None:
    program = parsed(
        """
        EDGE(int src, int sink)
        PATH(int target, int dist aggregate MIN)
        declare Path(int v, int dist aggregate Min).
        {ride(Ts: Timestamp, Pickup: String), hub(City: String)}
        STREAM a(Ts: Timestamp, X: Integer).
        RELATION b(City: symbol).
        """
    )
    found = [s for s in program.statements if isinstance(s, ast.Declaration)]
    assert [d.kind for d in found] == [
        DeclarationKind.RELATION,
        DeclarationKind.RELATION,
        DeclarationKind.RELATION,
        DeclarationKind.STREAM,
        DeclarationKind.STATIC,
        DeclarationKind.STREAM,
        DeclarationKind.STATIC,
    ]
    assert found[1].columns[1].aggregate == "min"
    assert [column.type for column in found[3].columns] == [TIMESTAMP, STRING]
    assert found[0].columns[0].type == INT


def test_queries_in_both_spellings() -> None:
    program = parsed("tc(1, Y)?\nquery tc(X, _).\nquery p(_, C), WINDOW(1 year, 3 month).")
    first, second, third = (s for s in program.statements if isinstance(s, ast.Query))
    assert first.atom.terms == (Constant(1), Variable("Y"))
    assert second.window is None
    assert third.window == ast.Window(ast.Duration(1, "years"), ast.Duration(3, "months"))


def test_a_constant_is_equal_only_to_one_of_its_own_type() -> None:
    assert Constant(1) != Constant(True)
    assert Constant(1) != Constant(1.0)
    assert len({Constant(1), Constant(1.0), Constant(True), Constant(1)}) == 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tc(X Y) :- arc(X, Y).", ["DL110"]),
        ("p(X) :- q(X)\nr(X) :- s(X).", ["DL111"]),
        ("p(X) :- q(X, min<X>).", ["DL113"]),
        ("p(X) :- q(X), X = now().", ["DL114"]),
        ("p(X) :- `q(X).", ["DL107"]),
        ("p(X) :- ` `(X).", ["DL107"]),
        ("`../p`(X) :- q(X).", ["DL107"]),
        ("p(X) :- `q (data)`(X).", ["DL107"]),
        ("p(`X`) :- q(X).", ["DL108"]),
        ("p(X) :- q(X, b: 1).", ["DL120"]),
        ("p(a: X, Y) :- q(X, Y).", ["DL120"]),
        ("p(X), X > 3?", ["DL118"]),
        ("declare p(x: strng).", ["DL115"]),
        ("query p(X), WINDOW(1 fortnight).", ["DL116"]),
        ("query p(X), WINDOW(0 days).", ["DL116"]),
        ("query p(X), WINDOW(10 minutes, 5).", ["DL116"]),
        ("query p(X), TUMBLE(10 minutes, 5 minutes).", ["DL116"]),
        ("query p(X), SESSION(10 minutes, 5).", ["DL110"]),
        ("query p(X), WINDOW(10, 5 minutes).", ["DL116"]),
        ("@foo p(X) :- q(X).", ["DL117"]),
        ("@iterations p(X) :- q(X).", ["DL117"]),
        ("p(X), q(X)?", ["DL118"]),
        ("p(X) :- q(#X).", ["DL119"]),
        ("p(#X, #Y) :- q(X, Y).", ["DL119"]),
        ("!p(X) :- q(X).", ["DL121"]),
        ("p(X) :- r(X), not X = 3.", ["DL121"]),
        ("p(X) :- " + "(" * 150 + "X = 1" + ")" * 150 + ".", ["DL112"]),
        ("p(" + " + ".join(["1"] * 500) + ").", ["DL112"]),
        ("min<X>?", ["DL110"]),
        ("p(X) :- .", ["DL110"]),
        ("? p(X)", ["DL110"]),
        ('p("a).\nq(1).', ["DL102"]),
    ],
)
def test_errors(text: str, expected: list[str]) -> None:
    assert errors(text) == expected


def test_one_run_shows_every_syntax_error_and_reads_the_rest() -> None:
    text = "p(X :- q(X).\nr(1).\ns(X) :- , t(X).\nu(2).\n"
    program = parse_tolerantly(Source("t", text))
    assert [problem.code for problem in program.problems] == ["DL110", "DL110"]
    assert program.unread == {"p", "q", "s", "t", "X"}
    assert [s.head.predicate for s in program.statements if isinstance(s, ast.Rule)] == ["r", "u"]
