"""What the workers run and what they leave to others, in words."""

from __future__ import annotations

import pytest

from emberlog.workers.plan.capabilities import obstacles
from tests.unit.workers.test_compile import fixpoint


@pytest.mark.parametrize(
    "text",
    [
        "tc(X, Y) :- arc(X, Y). tc(X, Y) :- tc(X, Z), tc(Z, Y).",
        "p(X, Y) :- q(X, Y). p(X, Y) :- p(X, Z), a(Z, Y), !bad(X, Y), X != Z.",
        'p(S) :- q(S, 1). p(T) :- p(S), q(S, N), r(N, T), T != "end".',
        "s(X, min<D>) :- X = 1, D = 0. s(Y, min<D + W>) :- s(X, D), arc(X, Y, W).",
        "o(A, msum<(B, N)>) :- d(A, B, N). o(A, msum<(B, N)>) :- o(B, N), d(A, B, _), N > 1.",
        "@iterations(20).\nr(X, sum<V>) :- node(X), V = 0.15. r(Y, sum<V>) :- r(X, R), arc(X, Y), V = 0.85 * R.",
        "pr(X, 0, sum<P>) :- n(X, P). pr(Y, I + 1, sum<P>) :- pr(X, I, P), arc(X, Y), I < 20.",
        "p(X) :- n(X). p(Z) :- p(X), p(Y), Z = X + Y, Z < 9.",
        'p("a"). p(cat(S, "b")) :- p(S), len(S) < 5.',
        'p("a"). p(T) :- p(S), q(S, T), S < T, matches(T, "a.*").',
        "p(P) :- q(X), encd(X, 1, P). p(Q) :- p(P), decd(P, X, N), a(X, Y), encd(Y, N + 1, Q), Q > P, N < 5.",
        "p(1, null). p(Y, X) :- p(X, _), a(X, Y).",
        "n(0.5). n(Y) :- n(X), Y = sqrt(X) + pow(X, 2.0), Y < 10.0.",
    ],
)
def test_nothing_in_the_way(text: str) -> None:
    assert obstacles(fixpoint(text)) == ()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('s(1, "a"). s(X, min<T>) :- s(Y, T), arc(Y, X).', "aggregates text"),
        ("s(1, min<P>) :- q(X), encd(X, 1, P). s(Y, min<P>) :- s(X, P), arc(X, Y).", "aggregates pairs"),
        (
            "s(X, min<D>) :- q(X), D = if(X < 3, null, 1). s(Y, min<D>) :- s(X, D), arc(X, Y).",
            "aggregates what may be null",
        ),
        ("@iterations(3).\nr(X, countd<V>) :- n(X, V). r(Y, countd<V>) :- r(X, V), arc(X, Y).", "countd"),
        ("@iterations(3).\nr(X, sum<V>) :- n(X, V). r(X, sum<V>) :- r(X, A), r(X, B), V = A + B.", "joins two"),
        (
            "m(X, min<D>) :- e(X, D). @premappable m(Y, min<D>) :- m(X, D), m(Y, D).",
            "looks a relation of the recursion up by an aggregated value",
        ),
    ],
)
def test_in_the_way(text: str, reason: str) -> None:
    found = obstacles(fixpoint(text))
    assert any(reason in one for one in found), found
