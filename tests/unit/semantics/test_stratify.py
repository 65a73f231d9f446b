from emberlog.semantics.dependencies import components, dependencies_of
from tests.programs import checked, codes


def strata(text: str) -> list[tuple[str, ...]]:
    return [stratum.relations for stratum in checked(text).strata]


def test_strata_come_after_what_they_need() -> None:
    text = """
        top(X) :- node(X), !reach(X).
        reach(X) :- start(X).
        reach(Y) :- reach(X), arc(X, Y).
        node(X) :- arc(X, _).
        start(1).
    """
    order = strata(text)
    assert order.index(("start",)) < order.index(("reach",)) < order.index(("top",))
    assert order.index(("node",)) < order.index(("top",))


def test_mutual_recursion_is_one_stratum() -> None:
    text = "even(X) :- zero(X). even(Y) :- odd(X), succ(X, Y). odd(Y) :- even(X), succ(X, Y)."
    assert strata(text) == [("even", "odd")]


def test_negation_round_a_cycle_is_refused() -> None:
    assert codes("win(X) :- move(X, Y), !win(Y).") == ["DL230"]
    assert codes("a(X) :- d(X), !b(X). b(X) :- c(X). c(X) :- a(X).") == ["DL230"]


def test_a_very_long_chain_of_relations_needs_no_stack() -> None:
    rules = checked("".join(f"p{i + 1}(X) :- p{i}(X).\n" for i in range(3_000))).rules
    names = [f"p{i}" for i in range(3_001)]
    assert len(components(names, dependencies_of(rules))) == 3_001
