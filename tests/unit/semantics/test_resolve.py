from emberlog.datatypes import INT
from emberlog.diagnostics import is_slip
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
    one, two = [Column("x", INT)], [Column("x", INT), Column("y", INT)]
    program = checked("p(X) :- a(X). p(1).", inputs={"a": one, "p": one})
    assert program.inputs == ("a", "p (data)")
    assert program.relations["p (data)"].data_name == "p"
    assert program.outputs == ("p",)
    assert checked("p(1). q(X) :- p(X).", inputs={"p": one}).outputs == ("q",)
    assert codes("p(X) :- a(X).", inputs={"a": one, "p": two}) == ["DL402"]
    stream = "STREAM p(Ts: timestamp, X: int). q(T, X) :- p(T, X). p(1, 2)."
    assert "DL217" in codes(stream, inputs={"p": two})


def test_columns_are_named_by_any_rule_that_has_a_name_for_them() -> None:
    def names(text: str) -> list[str]:
        return [column.name for column in checked(text).relations["p"].columns]

    assert names("p(X, 0) :- a(X). p(Y, D + 1) :- p(X, D), b(X, Y).") == ["X", "D"]
    assert names("p(A * B, A + 1, A, sum<A * 2>) :- a(A, B).") == ["product", "sum", "A", "sum_4"]
    assert names("p(cat(A, B), upper(A), max<len(B)>) :- a(A, B).") == ["cat", "A", "B"]
    assert names("p(1, 2). p(X, 3) :- a(X).") == ["X", "c2"]
    assert names("p(C, count<F>, min<F>, max<F>, sum<D>) :- a(C, F, D).") == ["C", "count", "min", "max", "D"]
    assert names("p(C1, 2) :- a(C1). p(3, _X) :- a(_X).") == ["C1", "X"]
    assert names("p(c2, 2) :- a(c2).") == ["c2", "c2_2"]
    assert names("p(X, [X, 1]) :- a(X).") == ["X", "list"]


def test_columns_are_named_by_declaration_data_or_variables() -> None:
    program = checked("p(X, X, 3, count<_>, min<D>) :- a(X, D, _).", inputs={"a": [Column(n, INT) for n in "uvw"]})
    assert [column.name for column in program.relations["p"].columns] == ["X", "X_2", "c3", "count", "D"]
    assert [column.name for column in program.relations["a"].columns] == ["u", "v", "w"]


def test_names_that_are_close_to_others() -> None:
    def warned(text: str, inputs: dict[str, list[Column]] | None = None) -> list[str]:
        return [f"{one.code} {one.notes[0].text}" for one in checked(text, inputs=inputs).warnings]

    tc = "tc(X, Y) :- edge(X, Y). tc(X, Z) :- tc(X, Y), {}(Y, Z)."
    hint = "did you mean `edge`? if it is an input, declare it: `declare {}(…).`"
    for slip in ("egde", "edgee", "ege", "edge_", "edge2", "node"):
        is_told = slip in ("egde", "edgee")
        assert warned(tc.format(slip)) == ([f"DL291 {hint.format(slip)}"] if is_told else [])
    assert warned("declare egde(x: int, y: int). declare edge(x: int, y: int). " + tc.format("egde")) == []
    two = [Column("x", INT), Column("y", INT)]
    assert warned(tc.format("egde"), inputs={"edge": two, "egde": two}) == []


def test_a_window_in_a_body() -> None:
    assert codes("p(X) :- q(X), WINDOW(60, 5).") == ["DL246"]
    assert set(checked("declare window(x: int).\np(X) :- q(X), window(X).").inputs) == {"q", "window"}


def test_a_slip_of_the_pen() -> None:
    assert is_slip("edge", "egde") and is_slip("colour", "color") and is_slip("parnet", "parent")
    assert is_slip("parant", "parent")
    for one, other in (("arc1", "arc2"), ("input_a", "input_b"), ("arc", "arcs"), ("edge", "edge"), ("left", "right")):
        assert not is_slip(one, other)
