"""Shapes that the passes over rules look for, and shapes that almost are: what is not quite a closure, a reader that
wants more than the best fact."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.property.programs import FLOAT, INT, RandomProgram, data, query
from tests.property.shapes import SHAPES, Draft, Shape, edges


def closure_of_steps(draw: st.DrawFn, draft: Draft) -> None:
    """Chains put together in every form, from one or two kinds of steps, with columns carried along."""
    width = draw(st.sampled_from((2, 2, 3)))
    relation = draft.define(*([INT] * width))
    name, carried = relation.name, "C, " * (width - 2)

    def step(source: str, target: str) -> str:
        if width == 3:
            return f"road({source}, {target}, C)"
        return f"{kind}({source}, {target})" if kind != "road" else f"road({source}, {target}, _)"

    for _ in range(draw(st.integers(1, 2))):
        kind = draw(st.sampled_from((edges(draw, draft), "road")))
        guard = draw(st.sampled_from(((), (), ("X != Y",), ("node(X)",))))
        draft.rule(f"{name}({carried}X, Y)", (step("X", "Y"), *guard))
        form = draw(st.sampled_from(("left", "right", "both", "none")))
        own_guard = draw(st.sampled_from(((), guard)))
        if form in ("left", "both"):
            moved = [literal.replace("X", "Z") for literal in own_guard]
            draft.rule(f"{name}({carried}X, Y)", (f"{name}({carried}X, Z)", step("Z", "Y"), *moved))
        if form in ("right", "both"):
            moved = [literal.replace("Y", "Z") for literal in own_guard]
            draft.rule(f"{name}({carried}X, Y)", (step("X", "Z"), *moved, f"{name}({carried}Z, Y)"))
    if draw(st.booleans()):
        extra = draw(st.sampled_from(((), (), (), ("X != Y",))))
        draft.rule(f"{name}({carried}X, Y)", (f"{name}({carried}X, Z)", f"{name}({carried}Z, Y)", *extra))
    if draw(st.integers(0, 3)) == 0:
        draft.facts_in_text.append(f"{name}({', '.join(str(draw(st.integers(0, 4))) for _ in range(width))}).")
    draft.readable.append(relation)


def closure_of_lengths(draw: st.DrawFn, draft: Draft) -> None:
    """The best value of all chains, put together in every form."""
    relation = draft.define(INT, INT, INT)
    name = relation.name
    function, combined = draw(st.sampled_from((("min", "A + B"), ("min", "greatest(A, B)"), ("max", "least(B, A)"))))
    if draw(st.booleans()):
        exit, step = "road(X, Y, D)", "road"
    else:
        exit, step = f"{edges(draw, draft)}(X, Y), D = {draw(st.integers(0, 3))}", ""
    draft.rule(f"{name}(X, Y, {function}<D>)", (exit,))
    left = step or name
    right = draw(st.sampled_from((name, left)))
    if right != name:
        left = name
    draft.rule(f"{name}(X, Y, {function}<D>)", (f"{left}(X, Z, A)", f"{right}(Z, Y, B)", f"D = {combined}"))
    draft.readable.append(relation)


def best_of_all(draw: st.DrawFn, draft: Draft) -> None:
    """All lengths up to a bound, and readers that want the best of them, or more than that."""
    paths, best = draft.define(INT, INT, INT), draft.define(INT, INT)
    all_of, name = paths.name, best.name
    function = draw(st.sampled_from(("min", "max", "mmin")))
    combined = "least(A, B)" if function == "max" else draw(st.sampled_from(("A + B", "greatest(A, B)", "A + B + 1")))
    bound = draw(st.sampled_from(("D < 9", "D <= 6", "A < 6"))) if function != "max" else "D >= 0"
    draft.rule(f"{all_of}(X, Y, D)", ("road(X, Y, D)", *draw(st.sampled_from(((), ("node(X)",))))))
    step = draw(st.sampled_from(("road", all_of)))
    bounds = ("A < 6", "B < 6") if bound == "A < 6" else (bound,)
    draft.rule(f"{all_of}(X, Y, D)", (f"{all_of}(X, Z, A)", f"{step}(Z, Y, B)", f"D = {combined}", *bounds))
    test = draw(st.sampled_from(((), (), ("node(Y)",), ("D < 5",), ("D > 2",), ("X != Y",))))
    draft.rule(f"{name}(Y, {function}<D>)", (f"{all_of}(X, Y, D)", *test))
    draft.readable.append(best)
    other = draw(st.sampled_from(("nothing", "nothing", "reach", "count", "negation")))
    if other != "nothing":
        reader = draft.define(INT) if other != "count" else draft.define(INT, INT)
        head = f"{reader.name}(X)" if other != "count" else f"{reader.name}(X, count<_>)"
        atom = f"{all_of}(X, Y, D)" if other != "negation" else "node(X)"
        draft.rule(head, (atom, *((f"!{all_of}(X, _, _)",) if other == "negation" else ())))
        draft.readable.append(reader)


def read_once(draw: st.DrawFn, draft: Draft) -> None:
    """A relation with all the variables of its body, or not quite, and one rule that reads it in some way."""
    between = draft.define(INT, INT, INT)
    first, second = edges(draw, draft), edges(draw, draft)
    more = draw(st.sampled_from(((), ("X < Y",), ("!link(X, _)",), ("node(Y)",), ("name(X, _)",))))
    last = draw(st.sampled_from((("Z",), ("Z",), ("Z",), ("X + Y", "Z != 2"))))
    draft.rule(f"{between.name}(X, Y, {last[0]})", (f"{first}(X, Y)", f"{second}(Y, Z)", *more, *last[1:]))
    relation = draft.define(INT, INT)
    terms = draw(st.sampled_from(("A, B, C", "A, A, C", "B, A, 3", "A, B, _", "C, X, Y")))
    named = [one for one in terms.split(", ") if one.isalpha()]
    around = draw(st.sampled_from(((), ("node(A)",), (f"{first}(A, Y)",), (f"!{second}(A, _)",), ("A > 0",))))
    if "A" not in named:
        around = ()
    atom = f"{between.name}({terms})"
    body = draw(st.permutations([atom, *around]))
    if draw(st.booleans()):
        draft.rule(f"{relation.name}({named[0]}, count<_>)", body)
    else:
        draft.rule(f"{relation.name}({named[0]}, {named[-1]})", body)
    draft.readable.append(relation)


def bodies_in_bodies(draw: st.DrawFn, draft: Draft) -> None:
    """Chains of some length and longer ones, which may read, count or compare what lies between their ends."""
    step = draw(st.sampled_from((edges(draw, draft), "edge")))
    for length in draw(st.lists(st.integers(2, 4), min_size=2, max_size=3)):
        chain = [f"{step}(Z{i}, Z{i + 1})" for i in range(length)]
        more = draw(st.sampled_from(((), (), (), (), ("Z0 != Z2",), ("Z0 < Z1",), ("node(Z1)",), ("!link(Z1, _)",))))
        body = draw(st.permutations([*chain, *more]))
        form = draw(st.sampled_from(("ends", "ends", "ends", "all", "count", "min", "between")))
        if form == "all":
            relation = draft.define(*([INT] * (length + 1)))
            draft.rule(f"{relation.name}({', '.join(f'Z{i}' for i in range(length + 1))})", body)
        else:
            relation = draft.define(INT, INT)
            last = {"count": "count<_>", "min": f"min<Z{length}>", "between": "Z1"}.get(form, f"Z{length}")
            draft.rule(f"{relation.name}(Z0, {last})", body)
        draft.readable.append(relation)


def part_of_a_recursion(draw: st.DrawFn, draft: Draft) -> None:
    """A recursion that ends by other steps than it goes by, and a rule that asks for a part of it."""
    whole, part = draft.define(INT, INT), draft.define(INT, INT)
    name, step = whole.name, edges(draw, draft)
    draft.rule(f"{name}(X, Y)", (f"{edges(draw, draft)}(X, Y)",))
    if draw(st.booleans()):
        draft.rule(f"{name}(X, X)", ("node(X)",))
    guard = draw(st.sampled_from(((), ("Z != 2",), ("node(Z)",), ("X != Y",))))
    steps = draw(st.sampled_from(((f"{step}(X, Z)", f"{name}(Z, Y)"), (f"{name}(X, Z)", f"{step}(Z, Y)"))))
    draft.rule(f"{name}(X, Y)", (*steps, *guard))
    few = draw(
        st.sampled_from(("node(X)", "edge(X, 1)", "X = 2, node(X)", 'name(X, "a")', "link(Y, _)", "!link(X, _)"))
    )
    atom = draw(st.sampled_from((f"{name}(X, Y)", f"{name}(X, Y)", f"{name}(Y, X)")))
    draft.rule(f"{part.name}(X, {draw(st.sampled_from(('Y', 'Y', 'count<_>')))})", draw(st.permutations([atom, few])))
    draft.readable.append(part)


def joined_on_both_sides(draw: st.DrawFn, draft: Draft) -> None:
    """Same generation, with a column that brings both sides together."""
    relation = draft.define(INT, INT, INT)
    name = relation.name
    draft.rule(f"{name}(X, Y, T)", ("road(P, X, T)", "road(P, Y, T)"))
    more = draw(st.sampled_from(((), (), ("X != Y",), ("A != Y",), ("node(A)",), ("!link(B, _)",), ("Y < T",))))
    head = draw(st.sampled_from(("X, Y, T", "Y, X, T", "X, Y, A")))
    draft.rule(f"{name}({head})", ("road(A, X, T)", f"{name}(A, B, T)", "road(B, Y, T)", *more))
    draft.readable.append(relation)


def aggregates_of_joins(draw: st.DrawFn, draft: Draft) -> None:
    """Values of one side or of both, of what is joined on or of nothing, aggregated over a join that repeats them."""
    functions = st.sampled_from(("sum", "sum", "count", "min", "max", "countd", "avg", "argmin"))
    chosen = draw(st.lists(functions, min_size=1, max_size=2))
    key = draw(st.sampled_from((None, "X", "X", "Y", "Z")))
    types = [INT] * (key is not None) + [FLOAT if one == "avg" else INT for one in chosen]
    relation = draft.define(*types)
    values = st.sampled_from(("X", "Y", "Z", "W", "W", "W + Z"))
    heads = [key] if key is not None else []
    for function in chosen:
        value = f"W, {draw(values)}" if function == "argmin" else draw(values)
        heads.append("count<_>" if function == "count" and draw(st.booleans()) else f"{function}<{value}>")
    right = draw(st.sampled_from((("road(Y, Z, W)",), ("road(Y, Z, _)", "road(Z, _, W)"))))
    more = draw(st.sampled_from(((), (), ("X != Z",), ("W > 1",), ("node(Z)",))))
    body = draw(st.permutations([f"{edges(draw, draft)}(X, Y)", *right, *more]))
    draft.rule(f"{relation.name}({', '.join(heads)})", body)
    draft.readable.append(relation)


def neighbours(draw: st.DrawFn, draft: Draft) -> None:
    """Facts that are looked up by what is computed from others, once or in a recursion."""
    relation = draft.define(INT, INT)
    name = relation.name
    step = draw(st.sampled_from(("Y - 1", "1 + Y", "Y * 2", "4 div Y", "Y - X", "least(Y, 2)")))
    other = draw(st.sampled_from(("road({}, Z, _)", "link({}, Z)", "edge(Z, {})")))
    looked_up = draw(st.sampled_from(((other.format(step),), (other.format("W"), f"W = {step}"))))
    more = draw(st.sampled_from(((), (), ("Y != 0",), ("!node(Z)",), ("Z < 3",))))
    draft.rule(f"{name}(X, Z)", (f"{edges(draw, draft)}(X, Y)", *looked_up, *more))
    if draw(st.booleans()):
        draft.rule(f"{name}(X, Z)", (f"{name}(X, Y)", *looked_up, *more))
    draft.readable.append(relation)


def other_names(draw: st.DrawFn, draft: Draft) -> None:
    """Arcs under another name, in one direction or in both, and recursions, counts and negations that read them."""
    arcs = draft.define(INT, INT)
    name, directions = arcs.name, st.sampled_from(("(X, Y)", "(Y, X)", "(Y, X)"))
    for _ in range(draw(st.integers(1, 2))):
        draft.rule(f"{name}(X, Y)", (edges(draw, draft) + draw(directions),))
    if draw(st.integers(0, 5)) == 0:
        draft.rule(f"{name}(X, Y)", draw(st.sampled_from((("edge(X, Y)", "X != Y"), ("road(X, Y, _)",)))))
    more = draw(st.sampled_from(((), (), ("node(Y)",), (f"{name}(Y, 1)",), (f"!{name}(Y, 2)",), ("X != Y",))))
    form = draw(st.sampled_from(("label", "label", "reach", "hops", "closure")))
    relation = draft.define(INT) if form == "reach" else draft.define(INT, INT)
    own = relation.name
    if form == "label":
        draft.rule(f"{own}(X, min<X>)", (f"{name}(X, _)",))
        draft.rule(f"{own}(Y, min<L>)", (f"{own}(X, L)", f"{name}(X, Y)", *more))
    elif form == "reach":
        draft.rule(f"{own}(Y)", (f"{name}({draw(st.integers(0, 4))}, Y)",))
        draft.rule(f"{own}(Y)", (f"{own}(X)", f"{name}(X, Y)", *more))
    elif form == "hops":
        draft.rule(f"{own}(X, min<D>)", (f"{name}(X, _)", "X < 2", "D = 0"))
        draft.rule(f"{own}(Y, min<D>)", (f"{own}(X, E)", f"{name}(Y, X)", *more, "D = E + 1"))
    else:
        draft.rule(f"{own}(X, Y)", (f"{name}(X, Y)",))
        draft.rule(f"{own}(X, Y)", (f"{own}(X, Z)", f"{name}(Z, Y)", *more))
    draft.readable.append(relation)
    other = draw(st.sampled_from(("nothing", "nothing", "count", "negation", "pairs")))
    if other != "nothing":
        reader = draft.define(INT, INT)
        head = f"{reader.name}(X, count<Y>)" if other == "count" else f"{reader.name}(X, Y)"
        body = {
            "count": (f"{name}(X, Y)",),
            "negation": ("edge(X, Y)", f"!{name}(Y, X)"),
            "pairs": (f"{name}(X, Z)", f"{name}(Z, Y)", f"{name}(X, X)"),
        }[other]
        draft.rule(head, body)
        draft.readable.append(reader)


REWRITABLE: tuple[Shape, ...] = (
    closure_of_steps,
    closure_of_lengths,
    *(best_of_all, best_of_all),
    *(read_once, read_once),
    bodies_in_bodies,
    part_of_a_recursion,
    joined_on_both_sides,
    aggregates_of_joins,
    neighbours,
    *(other_names, other_names),
)


@st.composite
def rewritable_programs(draw: st.DrawFn) -> RandomProgram:
    """At least one of these shapes, others of any shape around it, and queries, as most passes over rules need one."""
    draft = Draft()
    chosen: list[Shape] = [draw(st.sampled_from(REWRITABLE))]
    chosen += draw(st.lists(st.sampled_from((*REWRITABLE, *SHAPES)), max_size=2))
    for shape in draw(st.permutations(chosen)):
        shape(draw, draft)
    asked = [one for one in draft.derived if set(one.types) <= {"int", "float", "string"}]
    queries = [query(draw, draw(st.sampled_from(asked))) for _ in range(draw(st.integers(0, 2)))]
    if draw(st.booleans()):  # the last relation is the one that hides others best
        queries = [query(draw, asked[-1])]
    return RandomProgram(tuple(draft.rules), tuple(draft.facts_in_text), tuple(queries), draw(data()))
