import pytest

from emberlog.datatypes import (
    BOOL,
    DATE,
    FLOAT,
    INT,
    STRING,
    TIMESTAMP,
    UNKNOWN,
    DataType,
    decimal_of,
    list_of,
    pair_of,
)
from emberlog.semantics.expression_types import ExpressionTyper
from emberlog.semantics.model import Column
from emberlog.syntax.ast import Call, Constant, Expression, Variable
from tests.programs import checked, codes


def types(text: str, relation: str) -> list[DataType]:
    return [column.type for column in checked(text).relations[relation].columns]


def test_types_come_from_constants_declarations_and_rules() -> None:
    assert types('p(1, "a", true, 1.5).', "p") == [INT, STRING, BOOL, FLOAT]
    assert types("declare a(x: string). p(X) :- a(X). q(X) :- p(X).", "q") == [STRING]
    assert types("p(Y) :- a(X), Y = len(X).", "p") == [INT]
    assert types("p(X) :- a(X).", "p") == [UNKNOWN]


@pytest.mark.parametrize(
    ("call", "value", "type_"),
    [
        ("add_months(X, 2)", 'date "2024-02-29"', DATE),
        ("add_months(X, 2)", 'timestamp "2024-02-29 10:00"', TIMESTAMP),
        ('truncate(X, "month")', 'date "2024-02-29"', DATE),
        ("round(X, 1)", "1.25m", decimal_of(1)),
        ("round(X, 1)", "1.25", FLOAT),
    ],
)
def test_the_order_of_rules_says_nothing_of_types(call: str, value: str, type_: DataType) -> None:
    reading, giving = f"q(Y) :- p(X), Y = {call}.", f"p(X) :- e(_), X = {value}. e(1)."
    assert types(f"{reading} {giving}", "q") == types(f"{giving} {reading}", "q") == [type_]


def test_types_travel_round_a_recursion() -> None:
    text = """
        declare e(a: int, b: int, w: float).
        d(X, min<D>) :- X = 1, D = 0.
        d(Y, min<D>) :- d(X, D1), e(X, Y, W), D = D1 + W.
    """
    assert types(text, "d") == [INT, FLOAT]


def test_unknown_inputs_learn_from_their_use() -> None:
    assert types('p(X) :- a(X, "k", Y), Y > 2.5.', "a") == [UNKNOWN, STRING, FLOAT]


def test_int_widens_to_float() -> None:
    text = "rank(1, 1). rank(X, V / 2) :- rank(X, V), V > 0.5."
    program = checked(text)
    assert program.relations["rank"].columns[1].type == FLOAT
    assert program.facts["rank"] == ((1, 1.0),) and isinstance(program.facts["rank"][0][1], float)
    program = checked("declare a(x: int). p(X) :- a(X). p(1.5).")
    assert program.rules[0].head == (Call("float!", (Variable("X"),)),)
    program = checked("declare a(x: float). p(X) :- a(X), a(3).")
    assert program.rules[0].body[1].terms == (Constant(3.0),)  # type: ignore[union-attr]


def test_results_of_aggregates() -> None:
    text = """
        a(1, 2.5, "s", true).
        h(count<_>, countd<S>, sum<X>, avg<X>, collect<S>, any<B>, argmin<F, S>) :- a(X, F, S, B).
    """
    assert types(text, "h") == [INT, INT, INT, FLOAT, list_of(STRING), BOOL, STRING]
    assert types("a(1.5, 2). h(min<P>) :- a(X, Y), encd(X, Y, P).", "h") == [pair_of(FLOAT, INT)]


def test_what_does_not_fit() -> None:
    assert codes('p("a"). p(1).') == ["DL224"]
    assert codes('p(1). q(X) :- p(X), X = "a".') == ["DL223"]
    assert codes('p(1). q("a"). r(X) :- p(X), q(X).') == ["DL220"]
    assert codes('p("a"). q(Y) :- p(X), Y = X + 1.') == ["DL221"]
    assert codes("p(1.5). q(Y) :- p(X), Y = X div 2.") == ["DL221"]
    assert codes("p(1). q(Y) :- p(X), Y = len(X).") == ["DL221"]
    assert codes('p(1, "a"). q(Y) :- p(X, Z), Y = least(X, Z).') == ["DL221"]
    assert codes('p("a"). q(sum<X>) :- p(X).') == ["DL221"]
    assert codes("p(1). q(any<X>) :- p(X).") == ["DL221"]
    assert codes("declare q(x: int). p(1). q(X / 2) :- p(X).") == ["DL222"]
    assert codes('p(1). q(X) :- p(X). q("a")?') == ["DL224"]
    assert codes('p(1). q(X) :- p(X), !p("a").') == ["DL224"]
    assert codes("p(1). q(collect<X>) :- p(X). r(X) :- q(X), q(Y), X < Y.") == ["DL223"]


def test_registered_data_decides() -> None:
    inputs = {"a": [Column("x", STRING)]}
    assert codes("p(Y) :- a(X), Y = X + 1.", inputs=inputs) == ["DL221"]
    assert codes("declare a(x: int, y: int). p(X) :- a(X, _).", inputs=inputs) == ["DL402"]


def typed_when_checking(text: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """Counts the expressions that are typed while a program is checked."""
    count = 0
    type_of = ExpressionTyper.type_of

    def counted(self: ExpressionTyper, expression: Expression) -> DataType:
        nonlocal count
        count += 1
        return type_of(self, expression)

    with monkeypatch.context() as patch:
        patch.setattr(ExpressionTyper, "type_of", counted)
        checked(text)
    return count


@pytest.mark.parametrize(
    "form", ["{0} + {1}", "{0} / {1}", "-({0} - {1})", "greatest({0}, {1})", "if({1} > 1, {0}, 2)"]
)
@pytest.mark.parametrize("type_", ["int", "float", "decimal(2)"])
def test_an_operand_is_typed_as_often_as_it_is_written(form: str, type_: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def nested(depth: int) -> str:
        expression = "A"
        for _ in range(depth):
            expression = form.format(expression, "A")
        return f"declare a(x: {type_}). p(X) :- a(A), X = {expression}."

    # Twice the depth is twice the work: twice for each level would be a thousand times.
    assert typed_when_checking(nested(20), monkeypatch) < 2.5 * typed_when_checking(nested(10), monkeypatch)


def test_a_long_sum_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"A{number}" for number in range(100)]
    text = f"p(X) :- a({', '.join(names)}), X = {' + '.join(names)}, X > 2."
    assert typed_when_checking(text, monkeypatch) < 40 * len(names)


def test_a_rule_is_asked_again_only_when_its_columns_have_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    chain = "".join(f"p{number}(X) :- p{number + 1}(Y), X = Y + 1.\n" for number in range(60))
    text = f"{chain}p60(X) :- a(X), X > 0."
    # Types come from the last rule to the first, a rule in each round.
    assert types(text, "p0") == [INT]
    assert typed_when_checking(text, monkeypatch) < 60 * 40
