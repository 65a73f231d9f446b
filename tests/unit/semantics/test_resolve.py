from emberlog.datatypes import INT
from emberlog.semantics.model import Column
from tests.programs import checked, codes, warnings


def test_a_relation_without_rules_is_an_input() -> None:
    assert checked("p(X) :- a(X), b(X).").inputs == ("a", "b")


def test_arity() -> None:
    assert codes("p(X) :- a(X). q(X) :- a(X, X).") == ["DL205"]
    assert codes("declare a(x: int). p(X) :- a(X, X).") == ["DL205"]
    assert codes("p(1). p(1, 2).") == ["DL205"]


def test_a_name_that_differs_by_case_only_is_a_slip() -> None:
    assert codes("WCC(X, X) :- v(X). WCC(X, min<L>) :- e(Y, X), Wcc(Y, L).") == ["DL201"]


def test_a_name_that_is_nearly_one_of_a_rule_is_worth_a_warning() -> None:
    assert warnings("ancestor(X) :- a(X). p(X) :- ancestr(X).") == ["DL291"]
    assert warnings("declare ancestr(x: int). ancestor(X) :- a(X). p(X) :- ancestr(X).") == []


def test_queries_ask_for_what_there_is() -> None:
    assert codes("p(X) :- a(X). pp(X)?") == ["DL201"]
    assert codes("p(X) :- a(X). p(X, Y)?") == ["DL205"]
    assert codes("p(X) :- a(X). p(1 + 1)?") == ["DL218"]


def test_declarations() -> None:
    assert codes("declare a(x: int). declare a(x: string). p(X) :- a(X).") == ["DL210"]
    assert codes("declare a(x: int, x: int). p(X) :- a(X, _).") == ["DL210"]
    assert codes("STREAM a(x: int). p(X) :- a(X).") == ["DL240"]
    assert codes("RELATION p(x: int). p(X) :- a(X).") == ["DL242"]
    assert codes("p(X) :- a(X). query p(X), WINDOW(1 hour).") == ["DL241"]


def test_builtin_names_cannot_be_defined() -> None:
    assert codes("larger(X, Y) :- a(X, Y).") == ["DL213"]


def test_aggregates_of_a_column() -> None:
    assert codes("h(X, mean<Y>) :- a(X, Y).") == ["DL208"]
    assert codes("h(X, min<Y, X>) :- a(X, Y).") == ["DL207"]
    assert codes("h(X, min<Y>) :- a(X, Y). h(X, max<Y>) :- b(X, Y).") == ["DL236"]
    assert codes("h(X, argmin<C, Y>) :- a(X, Y, C). h(1, 2).") == ["DL237"]
    assert warnings("h(X, count<Y>) :- a(X, Y). h(1, 5).") == ["DL292"]


def test_a_declared_aggregate_holds_for_every_rule() -> None:
    relation = checked("declare p(x: int, d: int aggregate min). p(X, D) :- a(X, D).").relations["p"]
    assert relation.columns[1].aggregate == "min"
    assert relation.group == (0,)


def test_data_for_a_relation_that_the_program_defines() -> None:
    assert codes("p(X) :- a(X).", inputs={"a": [Column("x", INT)], "p": [Column("x", INT)]}) == ["DL217"]


def test_columns_are_named_by_declaration_data_or_variables() -> None:
    program = checked("p(X, X, 3, count<_>, min<D>) :- a(X, D, _).", inputs={"a": [Column(n, INT) for n in "uvw"]})
    assert [column.name for column in program.relations["p"].columns] == ["X", "c2", "c3", "count", "D"]
    assert [column.name for column in program.relations["a"].columns] == ["u", "v", "w"]
