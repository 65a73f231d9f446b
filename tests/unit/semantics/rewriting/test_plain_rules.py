"""Short forms mean what plain rules say."""

import pytest

from emberlog.datatypes import BOOL, INT
from emberlog.diagnostics import EmberlogError, Severity
from emberlog.semantics.analysis import analyze
from emberlog.semantics.model import Column, Match
from emberlog.source import Source
from emberlog.syntax.ast import Constant, Variable
from emberlog.syntax.parser import parse_tolerantly
from tests.programs import checked, codes


def rules(text: str) -> list[str]:
    """The rules of a program: their names, and what they are for."""
    return [f"{rule.name}: {rule.relation}" for rule in checked(text).rules]


def test_a_rule_for_each_head() -> None:
    assert rules("p(X), q(X) :- a(X). r(X) :- a(X).") == ["r1: p", "r2: q", "r3: r"]
    assert rules("one: p(X), q(X) :- a(X).") == ["one.1: p", "one.2: q"]
    assert checked("p(1), q(2).").facts == {"p": ((1,),), "q": ((2,),)}
    assert codes("p(X), q(Y) :- a(X).") == ["DL203"]


def test_relations_without_arguments_have_one_column() -> None:
    program = checked("alarm :- fire(_). p(X) :- fire(X), alarm, !calm. declare calm().")
    for name in ("alarm", "calm"):
        assert program.relations[name].columns == (Column("holds", BOOL),)
    assert program.inputs == ("calm", "fire")
    data = {"calm": [Column("x", BOOL)], "fire": [Column("x", INT)]}
    assert codes("p(X) :- fire(X), clam.", inputs=data) == ["DL201"]
    assert checked("p(X) :- fire(X), calm.", inputs=data).relations["calm"].columns == (Column("holds", BOOL),)


def test_named_arguments_go_to_their_columns() -> None:
    program = checked("declare e(a: int, b: int, c: int). p(X) :- e(c: X, a: 1).")
    atom = program.rules[0].body[0]
    assert isinstance(atom, Match)
    assert (atom.terms[0], atom.terms[2]) == (Constant(1), Variable("X"))
    assert codes("p(a: X, b: Y) :- q(X, Y). p(1, 2).") == ["DL282"]
    assert checked("p(X, Y) :- q(X, Y). p(Y: 1, X: 2).").facts == {"p": ((2, 1),)}
    assert checked("p(b: X, a: Y) :- q(X, Y).").relations["p"].columns[0].name == "b"


def test_what_nobody_has_described_has_the_columns_that_are_named() -> None:
    program = checked("p(X) :- e(id: X), e(boss: X).")
    assert [column.name for column in program.relations["e"].columns] == ["id", "boss"]
    assert codes("p(X) :- e(id: X), e(X, _).") == ["DL281"]
    assert codes("p(X) :- e(id: X).", inputs={"e": [Column("key", INT)]}) == ["DL282"]


def test_negated_conjunctions_are_relations_that_nobody_asks_for() -> None:
    program = checked("p(X) :- a(X), !(b(X, Y), c(Y)). q(X) :- a(X), !(b(X, Y), c(Y)).")
    assert program.outputs == ("p", "q")
    assert [name for name, one in program.relations.items() if not one.is_written] == ["(b(X, Y), c(Y))"]
    # The parts are the same, and what they share with the rest of the rule is not.
    other = checked("p(X) :- a(X), !(b(X, Y), c(Y)). q(Y) :- a(Y), !(b(X, Y), c(Y)).")
    assert sum(not one.is_written for one in other.relations.values()) == 2


def test_errors_of_a_statement_bring_no_others_with_them() -> None:
    def codes(text: str) -> list[str]:
        with pytest.raises(EmberlogError) as caught:
            analyze(parse_tolerantly(Source("p.dl", text)))
        return [one.code for one in caught.value.diagnostics if one.severity is Severity.ERROR]

    declared = "declare e(a: int, b: int). "
    assert codes(declared + "p(X) :- e(A: X). q(X) :- p(X), r(X). p(1)?") == ["DL282"]
    assert codes(declared + "p(X, Y :- e(X, Y). q(X) :- p(X, _). p(X, X)?") == ["DL110"]
    assert codes("@iteration(9) p(X, sum<Y>) :- p(X, Y). p(1, 2).") == ["DL117"]
    assert codes("STREAM s(Ts: timestmp, X: int). p(T, X) :- s(T, X). query p(_, X), WINDOW(9).") == ["DL115"]
    assert codes("p(X) :- q(X, $a), X > $b. r(X :- q(X, $c).") == ["DL110"]
