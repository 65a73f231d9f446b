"""The shapes of relations in random programs, and the strategy that puts them together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from hypothesis import strategies as st

from tests.property.bodies import Body, extend, head_terms, value
from tests.property.programs import (
    FLOAT,
    INPUTS,
    INT,
    STRING,
    RandomProgram,
    RandomRule,
    Signature,
    constant,
    data,
    query,
)


@dataclass
class Draft:
    """A program while it grows."""

    readable: list[Signature] = field(default_factory=lambda: list(INPUTS))
    derived: list[Signature] = field(default_factory=list)
    rules: list[RandomRule] = field(default_factory=list)
    facts_in_text: list[str] = field(default_factory=list)

    def define(self, *types: str) -> Signature:
        relation = Signature(f"p{len(self.derived) + 1}", types)
        self.derived.append(relation)
        return relation

    def rule(self, head: str, body: Sequence[str], annotation: str = "") -> None:
        self.rules.append(RandomRule(head, tuple(body), annotation))


def plain_types(draw: st.DrawFn) -> list[str]:
    return draw(st.lists(st.sampled_from((INT, INT, INT, FLOAT, STRING)), min_size=1, max_size=3))


def plain_rule(draw: st.DrawFn, draft: Draft, relation: Signature, recursive: Sequence[Signature] = ()) -> None:
    """A rule with a random body, which reads each of the recursive relations given."""
    body = Body()
    for own in recursive:
        terms = [body.bind(kind) if draw(st.integers(0, 3)) else value(draw, body, kind) for kind in own.types]
        body.literals.append(f"{own.name}({', '.join(terms)})")
    extend(draw, body, draft.readable, draft.readable, atoms=1 if recursive else 3)
    draft.rule(f"{relation.name}({', '.join(head_terms(draw, body, relation.types))})", body.literals)


def fact_in_text(draw: st.DrawFn, draft: Draft, relation: Signature) -> None:
    draft.facts_in_text.append(f"{relation.name}({', '.join(constant(draw, kind) for kind in relation.types)}).")


def plain(draw: st.DrawFn, draft: Draft) -> None:
    relation = draft.define(*plain_types(draw))
    for _ in range(draw(st.integers(1, 3))):
        plain_rule(draw, draft, relation)
    if draw(st.integers(0, 3)) == 0:
        fact_in_text(draw, draft, relation)
    draft.readable.append(relation)


def facts_only(draw: st.DrawFn, draft: Draft) -> None:
    relation = draft.define(*plain_types(draw))
    for _ in range(draw(st.integers(1, 3))):
        fact_in_text(draw, draft, relation)
    draft.readable.append(relation)


def recursive(draw: st.DrawFn, draft: Draft) -> None:
    """Linear and non-linear recursion over sets."""
    relation = draft.define(*plain_types(draw))
    plain_rule(draw, draft, relation)
    for _ in range(draw(st.integers(1, 2))):
        plain_rule(draw, draft, relation, [relation] * draw(st.integers(1, 2)))
    if draw(st.integers(0, 3)) == 0:
        fact_in_text(draw, draft, relation)
    draft.readable.append(relation)


def mutual(draw: st.DrawFn, draft: Draft) -> None:
    one, other = draft.define(*plain_types(draw)), draft.define(*plain_types(draw))
    plain_rule(draw, draft, one)
    plain_rule(draw, draft, one, draw(st.sampled_from(([other], [other, one], [other, other]))))
    plain_rule(draw, draft, other, draw(st.sampled_from(([one], [one, other]))))
    draft.readable += [one, other]


def closure(draw: st.DrawFn, draft: Draft) -> None:
    """Paths: chains of edges and of the relation itself, so that recursion goes deep, linear or not, mutual or not."""
    names = [draft.define(INT, INT).name for _ in range(draw(st.integers(1, 2)))]
    for name in names:
        draft.rule(f"{name}(X, Y)", (f"{edges(draw, draft)}(X, Y)", *_extra_test(draw, "X")))
    for name, other in zip(names, reversed(names), strict=True):
        own = draw(st.integers(1, 2))
        steps = [other] + [draw(st.sampled_from(names)) for _ in range(own - 1)]
        steps = draw(st.permutations(steps + [edges(draw, draft) for _ in range(draw(st.integers(0, 3 - own)))]))
        chain = [f"{step}(Z{i}, Z{i + 1})" for i, step in enumerate(steps)]
        draft.rule(f"{name}(Z0, Z{len(steps)})", (*chain, *_extra_test(draw, f"Z{len(steps)}")))
    draft.readable += [Signature(name, (INT, INT)) for name in names]


NUMERIC = ("sum", "avg")
AGGREGATES = (
    "count",
    "countd",
    "min",
    "max",
    "mmin",
    "mmax",
    "collect",
    "argmin",
    "argmax",
    "mcount",
    "msum",
    *NUMERIC,
)


def aggregate_term(draw: st.DrawFn, body: Body, function: str, kind: str) -> str:
    """The aggregate of a value of a kind; the cost or the key beside it is an int."""
    last = value(draw, body, kind)
    match function:
        case "count":
            return draw(st.sampled_from(("count<_>", f"count<{last}>")))
        case "argmin" | "argmax":
            return f"{function}<{value(draw, body, INT)}, {last}>"
        case "mcount":
            return draw(
                st.sampled_from((f"mcount<{value(draw, body, INT)}>", f"mcount<({value(draw, body, INT)}, 2)>"))
            )
        case "msum":
            return f"msum<({value(draw, body, INT)}, abs({value(draw, body, INT)}))>"
        case _:
            return f"{function}<{last}>"


def result_type(function: str, kind: str) -> str | None:
    """The type of the column, or None for a list, which other rules do not read."""
    match function:
        case "count" | "countd" | "mcount" | "msum":
            return INT
        case "avg":
            return FLOAT
        case "collect":
            return None
        case _:
            return kind


def aggregated(draw: st.DrawFn, draft: Draft) -> None:
    """An aggregate without recursion: one or two aggregates, several rules, keys of any number and place."""
    keys = draw(st.lists(st.sampled_from((INT, STRING)), max_size=2))
    functions = draw(st.lists(st.sampled_from(AGGREGATES), min_size=1, max_size=2))
    kinds = [draw(st.sampled_from((INT, FLOAT) if one in NUMERIC else (INT, FLOAT, STRING))) for one in functions]
    results = [result_type(function, kind) for function, kind in zip(functions, kinds, strict=True)]
    is_first = draw(st.booleans())
    types = (
        [*(kind or "list" for kind in results), *keys] if is_first else [*keys, *(kind or "list" for kind in results)]
    )
    relation = draft.define(*types)
    for _ in range(draw(st.integers(1, 2))):
        body = Body()
        extend(draw, body, draft.readable, draft.readable)
        terms = [aggregate_term(draw, body, function, kind) for function, kind in zip(functions, kinds, strict=True)]
        group = head_terms(draw, body, keys)
        draft.rule(f"{relation.name}({', '.join(terms + group if is_first else group + terms)})", body.literals)
    if "list" not in types:
        draft.readable.append(relation)


def edges(draw: st.DrawFn, draft: Draft) -> str:
    """A relation with two int columns."""
    return draw(st.sampled_from([one.name for one in draft.readable if one.types == (INT, INT)]))


def shortest(draw: st.DrawFn, draft: Draft) -> None:
    """min and argmin in recursion, linear or not."""
    relation = draft.define(INT, INT)
    name, start = relation.name, draw(st.integers(0, 5))
    exit_body = draw(st.sampled_from(((f"X = {start}", "D = 0"), ("node(X)", "D = X"), ("road(X, _, D)",))))
    draft.rule(f"{name}(X, min<D>)", exit_body)
    step = draw(st.sampled_from(("C + L", "greatest(C, L)", "C * 2 + L", "least(C, L) + 1", "2")))
    draft.rule(f"{name}(Y, min<{step}>)", (f"{name}(X, C)", "road(X, Y, L)", *_extra_test(draw, "Y")))
    if draw(st.booleans()):
        draft.rule(f"{name}(Y, min<D>)", (f"{name}(X, C)", f"{name}(Z, F)", "road(X, Y, Z)", "D = C + F"))
    draft.readable.append(relation)


def widest(draw: st.DrawFn, draft: Draft) -> None:
    """max in mutual recursion, where the path can only get narrower."""
    one, other = draft.define(INT, INT), draft.define(INT, INT)
    draft.rule(f"{one.name}(X, max<D>)", ("road(_, X, D)",))
    draft.rule(f"{one.name}(Y, max<D>)", (f"{other.name}(X, C)", f"{edges(draw, draft)}(X, Y)", "D = least(C + 1, 9)"))
    draft.rule(f"{other.name}(Y, mmax<least(C, L)>)", (f"{one.name}(X, C)", "road(X, Y, L)", *_extra_test(draw, "X")))
    draft.readable += [one, other]


def nearest(draw: st.DrawFn, draft: Draft) -> None:
    """argmin beside min, in recursion: the first step of a shortest path."""
    relation = draft.define(INT, INT, INT)
    name = relation.name
    draft.rule(f"{name}(X, min<D>, argmin<D, S>)", ("road(S, X, D)",))
    draft.rule(f"{name}(Y, min<D>, argmin<D, S>)", (f"{name}(X, C, S)", "road(X, Y, L)", "D = C + L + 1"))
    draft.readable.append(relation)


def flagged(draw: st.DrawFn, draft: Draft) -> None:
    """any in recursion: its column is of no type that other rules of these programs read."""
    relation = draft.define(INT, "bool")
    draft.rule(f"{relation.name}(X, any<B>)", ("node(X)", "B = false"))
    draft.rule(f"{relation.name}(X, any<B>)", (f"{edges(draw, draft)}(X, X)", "B = true"))
    draft.rule(f"{relation.name}(Y, any<B>)", (f"{relation.name}(X, B)", f"{edges(draw, draft)}(X, Y)"))


def attended(draw: st.DrawFn, draft: Draft) -> None:
    """mcount in mutual recursion with a set."""
    coming, friends = draft.define(INT), draft.define(INT, INT)
    draft.rule(f"{coming.name}(X)", ("node(X)", *_extra_test(draw, "X")))
    draft.rule(f"{coming.name}(X)", (f"{friends.name}(X, N)", f"N >= {draw(st.integers(1, 3))}"))
    counted = draw(st.sampled_from(("mcount<Y>", "mcount<(Y, 1)>", "mcount<(Y, 2)>")))
    draft.rule(f"{friends.name}(X, {counted})", (f"{edges(draw, draft)}(X, Y)", f"{coming.name}(Y)"))
    draft.readable += [coming, friends]


def controlled(draw: st.DrawFn, draft: Draft) -> None:
    """msum in recursion: what a company owns through others."""
    owns = draft.define(INT, INT, INT)
    name = owns.name
    draft.rule(f"{name}(X, Y, msum<(X, S)>)", ("road(X, Y, S)",))
    draft.rule(f"{name}(X, Y, msum<(Z, S)>)", (f"{name}(X, Z, N)", f"N > {draw(st.integers(1, 4))}", "road(Z, Y, S)"))
    draft.readable.append(owns)


def staged(draw: st.DrawFn, draft: Draft) -> None:
    """Any aggregate, stage by stage, in one relation or in two."""
    function = draw(st.sampled_from(("sum", "count", "avg", "countd", "max")))
    kind = {"avg": FLOAT, "count": INT, "countd": INT}.get(function, INT)
    relation = draft.define(INT, INT, kind)
    name, last = relation.name, draw(st.integers(1, 4))
    first = "1.0" if kind == FLOAT else "1"
    draft.rule(f"{name}(X, 0, {function}<V>)", ("node(X)", f"V = {first}"))
    source = name
    if draw(st.booleans()):
        between = draft.define(INT, INT, kind)
        draft.rule(f"{between.name}(X, I, V)", (f"{name}(X, I, V)", *_extra_test(draw, "X")))
        draft.readable.append(between)
        source = between.name
    draft.rule(f"{name}(Y, I + 1, {function}<V>)", (f"{source}(X, I, V)", f"{edges(draw, draft)}(X, Y)", f"I < {last}"))
    draft.readable.append(relation)


def bounded(draw: st.DrawFn, draft: Draft) -> None:
    """Any aggregate, a fixed number of rounds."""
    function = draw(st.sampled_from(("sum", "count", "min", "avg")))
    relation = draft.define(INT, FLOAT if function == "avg" else INT)
    name = relation.name
    bound = f"@iterations({draw(st.integers(1, 5))})\n"
    first = "V = 1.0" if function == "avg" else "V = 1"
    draft.rule(f"{name}(X, {function}<V>)", ("node(X)", first), bound)
    draft.rule(f"{name}(Y, {function}<V>)", (f"{name}(X, V)", f"{edges(draw, draft)}(X, Y)", *_extra_test(draw, "Y")))
    draft.readable.append(relation)


def _extra_test(draw: st.DrawFn, variable: str) -> tuple[str, ...]:
    return draw(st.sampled_from(((), (f"{variable} != 3",), (f"!link({variable}, _)",), (f"name({variable}, _)",))))


def paired(draw: st.DrawFn, draft: Draft) -> None:
    """Relations of one recursion that meet without a shared column, or only ask whether there is a fact."""
    single, pairs = draft.define(INT), draft.define(INT, INT)
    one, two = single.name, pairs.name
    draft.rule(f"{one}(X)", ("node(X)", *_extra_test(draw, "X")))
    asked = st.sampled_from(((), (f"{one}(_)",), (f"{two}(_, X)",), ("road(X, _, _)",), ("link(_, _)", "edge(2, _)")))
    draft.rule(f"{two}(X, Y)", draw(st.permutations([f"{one}(X)", f"{one}(Y)", *_extra_test(draw, "X")])))
    read = draw(st.sampled_from(((f"{two}(X, Y)",), (f"{two}(X, _)", f"{two}(_, Y)"), (f"{one}(X)", f"{two}(Y, _)"))))
    draft.rule(f"{one}(Z)", (*draw(st.permutations([*read, *draw(asked)])), "Z = (X + Y) mod 5"))
    if draw(st.booleans()):
        triple = [f"{one}(X)", f"{one}(Y)", f"{two}(V, W)", "X < V", *draw(asked)]
        draft.rule(f"{two}(W, Z)", (*draw(st.permutations(triple)), "Z = least(X + Y, 6)"))
    draft.readable += [single, pairs]


def spread_out(draw: st.DrawFn, draft: Draft) -> None:
    """The best of pairs that share no column, in recursion."""
    relation = draft.define(INT, INT)
    name = relation.name
    draft.rule(f"{name}(X, min<D>)", ("road(X, _, D)",))
    draft.rule(f"{name}(Z, min<D>)", (f"{name}(X, C)", f"{name}(Y, E)", "Z = (X + Y) mod 5", "D = C + E"))
    draft.readable.append(relation)


def stepped(draw: st.DrawFn, draft: Draft) -> None:
    """Facts that meet by a difference: a chain can be found from any of its members."""
    relation = draft.define(INT)
    name, start = relation.name, draw(st.integers(-2, 2))
    for number in range(start, start + draw(st.integers(2, 4))):
        draft.facts_in_text.append(f"{name}({number}).")
    body, before = [f"{name}(X0)"], "X0"
    for place in range(1, draw(st.integers(2, 4))):
        step = draw(st.sampled_from((f"{before} - 1", f"1 + {before}", f"{before} - 1 - 1", f"{before} + 2", "X0 - 1")))
        body += [f"X{place} = {step}", f"{name}(X{place})"]
        before = f"X{place}"
    asked = draw(st.sampled_from(((), ("node(_)",), (f"{name}(_)",))))
    last = (f"Z = X0 + {draw(st.integers(1, 2))}", "Z < 12")
    draft.rule(f"{name}(Z)", (*draw(st.permutations([*body, *asked])), *last))
    draft.readable.append(relation)


def spelled(draw: st.DrawFn, draft: Draft) -> None:
    """Texts that a recursion makes, up to a length, and looks into."""
    relation = draft.define(INT, STRING)
    name = relation.name
    draft.rule(f"{name}(X, T)", (draw(st.sampled_from(("name(X, T)", "node(X), T = to_string(X)"))),))
    made = ("cat(S, T)", "cat(to_string(Y), S)", 'upper(cat(S, "é"))', "substr(cat(T, S), 1, 2)", "coalesce(T, S)")
    test = st.sampled_from(((), ("S < T",), ("!contains(S, T)",), (f"{name}(X, U)",), ('starts_with(U, "a")',)))
    body = (f"{name}(X, S)", f"{edges(draw, draft)}(X, Y)", "name(Y, T)", f"U = {draw(st.sampled_from(made))}")
    draft.rule(f"{name}(Y, U)", (*body, "len(U) < 4", *draw(test)))
    if draw(st.booleans()):
        draft.rule(f"{name}(X, null)", (f"{name}(X, T)", "len(T) = 3"))
    draft.readable.append(relation)


Shape: TypeAlias = Callable[[st.DrawFn, Draft], None]

SHAPES: tuple[Shape, ...] = (
    *(plain, plain),
    *(closure, closure, closure),
    recursive,
    mutual,
    *(aggregated, aggregated, aggregated, aggregated),
    facts_only,
    shortest,
    widest,
    nearest,
    flagged,
    attended,
    controlled,
    staged,
    bounded,
    paired,
    spread_out,
    stepped,
    *(spelled, spelled),
)


@st.composite
def programs(draw: st.DrawFn, *, recursive_only: bool = False) -> RandomProgram:
    """Programs of one to four groups of any shape, or of one group of relations that recurse over sets."""
    draft = Draft()
    shapes: tuple[Shape, ...] = (recursive, mutual, closure) if recursive_only else SHAPES
    chosen: list[Shape] = draw(st.lists(st.sampled_from(shapes), min_size=1, max_size=1 if recursive_only else 4))
    for shape in chosen:
        shape(draw, draft)
    queries: list[str] = []
    if draw(st.integers(0, 2)) == 0:
        asked = [one for one in draft.derived if set(one.types) <= {INT, FLOAT, STRING}]
        if asked:
            queries = [query(draw, draw(st.sampled_from(asked))) for _ in range(draw(st.integers(1, 2)))]
    return RandomProgram(tuple(draft.rules), tuple(draft.facts_in_text), tuple(queries), draw(data()))
