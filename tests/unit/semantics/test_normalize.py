from emberlog.semantics.model import Bind, Compare, Holds, Match
from emberlog.syntax.ast import Call, ComparisonOperator, Constant, Parameter, Variable
from tests.programs import checked, codes


def test_disjunctions_become_rules_of_their_own() -> None:
    rules = checked("p(X) :- a(X), (b(X) ; c(X), d(X)).").rules
    assert [rule.name for rule in rules] == ["r1.1", "r1.2"]
    assert [[literal.relation for literal in rule.body] for rule in rules] == [["a", "b"], ["a", "c", "d"]]  # type: ignore[union-attr]


def test_disjunctions_that_multiply_too_far_are_refused() -> None:
    body = ", ".join("(a(X) ; b(X))" for _ in range(7))
    assert codes(f"p(X) :- {body}.") == ["DL214"]


def test_wildcards_are_variables_of_their_own_and_avoid_names_in_use() -> None:
    (rule,) = checked("p(X) :- a(X, _, _, _2).").rules
    (atom,) = rule.body
    assert isinstance(atom, Match)
    assert [term.name for term in atom.terms if isinstance(term, Variable)] == ["X", "_1", "_3", "_2"]


def test_procedures_become_assignments() -> None:
    (rule,) = checked("p(T, D) :- a(A, B, P), largest(T, A, B), decd(P, D, _).").rules
    assert [type(literal) for literal in rule.body] == [Match, Bind, Bind]
    assert rule.body[1] == Bind(Variable("T"), Call("greatest", (Variable("A"), Variable("B"))))
    assert rule.body[2] == Bind(Variable("D"), Call("decd_first", (Variable("P"),)))


def test_arithmetic_inside_an_atom_is_computed_beside_it() -> None:
    (rule,) = checked("p(X) :- a(X), b(X + 1).").rules
    assert [type(literal) for literal in rule.body] == [Match, Match, Compare]
    (rule,) = checked("p(X) :- a(X), b(least(X, 1)).").rules
    assert [type(literal) for literal in rule.body] == [Match, Bind, Match]


def test_a_boolean_function_is_a_condition() -> None:
    (rule,) = checked('p(X) :- a(X), !contains(X, "q").').rules
    assert rule.body[1] == Holds(Call("contains", (Variable("X"), Constant("q"))), negated=True)


def test_a_relation_may_have_the_name_of_a_function() -> None:
    assert checked("len(1, 2). p(X) :- len(X, Y), Y > 1.").relations["len"].is_derived


def test_parameters_are_replaced_or_left_open() -> None:
    (rule,) = checked("p(X) :- a(X), X > $low.", params={"low": 3}).rules
    assert rule.body[1].right == Constant(3)  # type: ignore[union-attr]
    (rule,) = checked("p(X) :- a(X, $low).").rules
    assert isinstance(rule.body[0], Match)
    assert rule.body[1] == Compare(ComparisonOperator.EQUAL, Variable("_1"), Parameter("low"))


def test_parameters_must_be_given_and_used() -> None:
    assert codes("p(X) :- a(X), X > $low.", params={}) == ["DL211"]
    assert codes("p(X) :- a(X), X > 3.", params={"low": 3}) == ["DL212"]
    assert codes("p(X) :- a(X).\np($low)?", params={}) == ["DL211"]


def test_names_and_counts_of_functions() -> None:
    assert codes("p(Y) :- a(X), Y = lenn(X).") == ["DL206"]
    assert codes("p(Y) :- a(X), Y = len(X, X).") == ["DL207"]
    assert codes("p(T) :- a(X), larger(T, X).") == ["DL207"]
    assert codes("p(X) :- a(X), X > _.") == ["DL209"]


def test_equality_with_a_bound_variable_is_a_comparison() -> None:
    (rule,) = checked("p(X) :- a(X, Y), X = Y.").rules
    assert isinstance(rule.body[1], Compare)
