from emberlog.semantics.model import Absent, Bind, Compare, Match
from tests.programs import checked, codes, warnings


def shape(text: str) -> list[str]:
    (rule,) = checked(text).rules
    names = {Match: "match", Absent: "absent", Bind: "bind", Compare: "compare"}
    return [names[type(literal)] for literal in rule.body]


def test_the_order_of_the_text_does_not_matter() -> None:
    assert shape("p(Z) :- Z = Y + 1, Y > 2, !b(X), a(X, Y).") == ["match", "compare", "absent", "bind"]
    assert shape("p(X, D) :- X = 1, D = 0.") == ["bind", "bind"]
    assert shape("p(X) :- 1 = X.") == ["bind"]


def test_unbound_variables() -> None:
    assert codes("p(X, Y) :- a(X).") == ["DL203"]
    assert codes("p(X) :- a(X), !b(Y), !c(Y).") == ["DL203"]
    assert codes("p(X) :- a(X), !b(Y + 1).") == ["DL203"]
    assert codes("p(X) :- a(X), Y > 3.") == ["DL203"]
    assert codes("p(X) :- X = Y, Y = X.") == ["DL203"]
    assert codes("p(X).") == ["DL203"]


def test_a_slip_of_the_pen_is_one_error() -> None:
    assert codes("trip(A, B, Total) :- leg(A, B, Price), Totl > 0.") == ["DL203"]


def test_anonymous_variables_of_a_negated_atom_stand_for_anything() -> None:
    assert shape("p(X) :- a(X), !b(X, _).") == ["match", "absent"]
    assert shape("p(X) :- a(X), !b(X, _any).") == ["match", "absent"]


def test_a_name_that_occurs_once_is_worth_a_warning() -> None:
    assert warnings("p(X) :- a(X, Y).") == ["DL290"]
    assert warnings("reach(X, Y) :- arc(X, Y), X = source.") == ["DL290"]
    assert warnings("p(X) :- a(X, _), b(X, _y).") == []
    assert warnings("n(count<_>) :- a(X, Y).") == []
