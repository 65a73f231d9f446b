"""An aggregate over a body gives what a person would compute: for each value from outside, anew."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from emberlog.database import Database

OF_NOTHING = {"count": 0, "countd": 0, "sum": 0, "sumd": 0}
TOTALS: dict[str, Callable[[list[int]], int]] = {
    "count": len,
    "countd": lambda values: len(set(values)),
    "sum": sum,
    "sumd": lambda values: sum(set(values)),
    "min": min,
    "max": max,
}

small = st.integers(-3, 3)
pairs = st.sets(st.tuples(small, small), max_size=12)


@settings(deadline=None)
@given(pairs, pairs, st.sampled_from(sorted(TOTALS)), st.sampled_from(["=", "<", "!="]))
def test_as_computed_by_hand(a: set[tuple[int, int]], b: set[tuple[int, int]], function: str, operator: str) -> None:
    argument = "" if function == "count" else " Z"
    text = f"""
        declare a(x: int, y: int).  declare b(x: int, z: int).
        one(X, Y, N) :- a(X, Y), N = {function}{argument} : {{ b(X, Z), Z {operator} Y }}.
        free(N) :- N = {function}{argument} : {{ b(_, Z) }}.
        in_order(X) :- a(X, Y), {function}{argument} : {{ b(Z, W), W < X }} >= Y.
    """

    def value(values: list[int]) -> int | None:
        return TOTALS[function](values) if values else OF_NOTHING.get(function)

    def compared(left: int, right: int) -> bool:
        return {"=": left == right, "<": left < right, "!=": left != right}[operator]

    one = {(x, y, value([z for v, z in b if v == x and compared(z, y)])) for x, y in a}
    free = {(value([z for _, z in b]),)}
    ordered = {(x,) for x, y in a if (found := value([z for z, w in b if w < x])) is not None and found >= y}
    with Database(engine="local") as database:
        database["a"], database["b"] = list(a), list(b)
        result = database.datalog(text)
        assert set(result["one"].collect()) == {row for row in one if row[2] is not None}
        assert set(result["free"].collect()) == {row for row in free if row[0] is not None}
        assert set(result["in_order"].collect()) == ordered
