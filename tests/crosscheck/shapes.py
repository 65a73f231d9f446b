"""The shapes that the groups of relations of a random program have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from tests.crosscheck.drafts import BodyDraft, Draft, Sig
from tests.crosscheck.kinds import (
    BIG,
    BOOL,
    INTS,
    LIST,
    LISTS,
    MOMENT,
    MONEY,
    NEAR,
    PLAIN,
    SCALARS,
    SMALL,
    SPAN,
    TAME,
    TEXT,
    TIMED,
    WILD,
    Kind,
    pair_of,
)
from tests.crosscheck.programs import (
    Aggregate,
    Anything,
    Atom,
    Call,
    Comparison,
    Const,
    Expr,
    Literal,
    Op,
    Term,
    Test,
    Var,
)

Shape: TypeAlias = Callable[[Draft], None]


# --- without recursion ----------------------------------------------------------------------------------------------


def plain(draft: Draft) -> None:
    """Rules with any body and any head: wide, with repeated variables, with floats that engines may round."""
    kinds = draft.some_kinds(1, 4)
    if draft.chance(15):
        kinds = draft.some_kinds(8, 10)
    if draft.chance(15):
        kinds.append(NEAR)
    if draft.chance(12):
        kinds.append(pair_of(draft.random.choice((SMALL, WILD, TEXT)), draft.random.choice((SMALL, TEXT))))
    if draft.chance(12):
        kinds.append(draft.random.choice(LISTS))
    relation = draft.define(*kinds)
    takes_ints = WILD in kinds and draft.chance(30)
    if takes_ints and not any(kind.parts for kind in kinds):
        draft.declared.append((relation.name, tuple(kind.type for kind in kinds)))
    else:
        takes_ints = False
    for _ in range(draft.random.choice((1, 1, 2, 3))):
        body = BodyDraft(draft)
        body.extend(draft.random.choice((1, 2, 2, 3)), draft.random.choice((0, 1, 2, 3, 4)))
        head = [
            body.value(BIG) if takes_ints and kind == WILD and draft.chance(40) else body.head_term(kind)
            for kind in kinds
        ]
        draft.rule(relation, head, body.literals)
    if draft.chance(20):
        draft.fact(relation)
    if NEAR not in kinds:
        draft.readable.append(relation)


def calculations(draft: Draft) -> None:
    """Functions and operators on hostile values, some kept from faults by a guard, none of them read again."""
    body = BodyDraft(draft)
    hostile = [sig for sig in draft.readable if {BIG, WILD, TEXT} & set(sig.kinds)]
    for _ in range(draft.random.choice((1, 1, 2))):
        body.atom(draft.random.choice(hostile or draft.readable), only_new=draft.chance(70))
    for _ in range(draft.random.choice((2, 3, 4, 6))):
        body.assignment(depth=2)
    if draft.chance(30):
        body.extend(draft.random.choice((0, 1)), 1)
    guards = [body.guard() for _ in range(draft.random.choice((0, 0, 1, 2)))]
    kinds = [draft.random.choice(list(body.bound.values())) for _ in range(draft.random.choice((2, 4, 9)))]
    if draft.chance(30):
        kinds.append(NEAR)
    relation = draft.define(*kinds)
    draft.rule(relation, [body.head_term(kind) for kind in kinds], [*body.literals, *guards])
    if NEAR not in kinds and draft.chance(30):
        draft.readable.append(relation)


def dated(draft: Draft) -> None:
    """Moments, durations and decimals, what they are made of and what is made of them."""
    body = BodyDraft(draft)
    timed = [sig for sig in draft.readable if set(TIMED) & set(sig.kinds)]
    body.atom(draft.random.choice(timed or draft.readable), only_new=True)
    for _ in range(draft.random.choice((2, 4, 6))):
        kind = draft.random.choice((*TIMED, MOMENT, TEXT))
        body.assign(kind, body.computed(kind, draft.random.choice((0, 0, 1))))
    for _ in range(draft.random.choice((2, 4))):
        body.assign(BIG, body.units(0))
    if draft.chance(40):
        body.literals.append(body.condition())
    kinds = [draft.random.choice(list(body.bound.values())) for _ in range(draft.random.choice((2, 4, 6)))]
    relation = draft.define(*kinds)
    draft.rule(relation, [body.value(kind) for kind in kinds], body.literals)
    draft.readable.append(relation)


def aggregates(draft: Draft) -> None:
    """Aggregates of every kind over any body, from several rules and facts, with groups of any size."""
    keys = draft.some_kinds(0, 3)
    chosen = [_aggregate_form(draft) for _ in range(draft.random.choice((1, 1, 2, 3)))]
    kinds = [*keys, *(result for _, _, result in chosen)]
    places = list(range(len(kinds)))
    draft.random.shuffle(places)
    relation = draft.define(*(kinds[place] for place in places))
    takes_values = all(function in ("min", "max", "mmin", "mmax", "sum") for function, _, _ in chosen)
    for number in range(draft.random.choice((1, 1, 2))):
        body = BodyDraft(draft)
        body.extend(draft.random.choice((1, 2, 2, 3)), draft.random.choice((0, 1, 2)))
        as_values = number > 0 and takes_values and NEAR not in kinds and draft.chance(30)
        terms: list[Expr | Aggregate] = [body.head_term(kind) for kind in keys]
        for function, arguments, result in chosen:
            if as_values:
                terms.append(body.value(result))
            else:
                terms.append(Aggregate(function, _arguments(body, function, arguments)))
        draft.rule(relation, [terms[place] for place in places], body.literals)
    if takes_values and draft.chance(15):
        draft.fact(relation)
    draft.readable.append(relation)


def _arguments(body: BodyDraft, function: str, kinds: Sequence[Kind]) -> tuple[Expr, ...]:
    if function in ("top", "bottom"):
        return Const(body.random.choice((1, 2, 3, 100))), _argument(body, function, kinds[1])
    return tuple(_argument(body, function, kind) for kind in kinds)


def _argument(body: BodyDraft, function: str, kind: Kind) -> Expr:
    value = body.value(kind, depth=1) if body.chance(25) else body.value(kind)
    if function in ("msum", "mcount") and kind in (SMALL, BIG, TAME, WILD) and body.chance(90):
        return Call("abs", (value,))
    return value


def _aggregate_form(draft: Draft) -> tuple[str, tuple[Kind, ...], Kind]:
    """A function with the kinds of its arguments and of its value."""
    plain_kinds = (SMALL,) if draft.is_graph else SCALARS if draft.has_times else PLAIN
    kind, key = draft.random.choice(plain_kinds), draft.random.choice(plain_kinds)
    amount = SMALL if draft.is_graph else draft.random.choice((SMALL, BIG, TAME, WILD))
    total = BIG if amount in (SMALL, BIG) else NEAR
    summed = draft.random.choice((SPAN, MONEY)) if draft.has_times and draft.chance(50) else amount
    match draft.random.choice(
        (
            "count",
            "count",
            "countd",
            "sum",
            "sum",
            "avg",
            "sumd",
            "median",
            "most",
            "extreme",
            "extreme",
            "mcount",
            "msum",
            "arg",
            "collect",
            "any",
        )
    ):
        case "count":
            return "count", draft.random.choice(((), (kind,))), BIG
        case "countd":
            return "countd", (kind,), BIG
        case "sum":
            return "sum", (summed,), total if summed == amount else summed
        case "avg":
            return "avg", (amount,), WILD if total == BIG else NEAR
        case "sumd":
            return "sumd", (amount,), total
        case "median":
            return "median", (amount,), WILD
        case "most":
            return draft.random.choice(("top", "bottom")), (SMALL, kind), LIST
        case "extreme":
            return draft.random.choice(("min", "max", "mmin", "mmax")), (kind,), kind
        case "mcount":
            return "mcount", *draft.random.choice((((key,), BIG), ((key, SMALL), BIG)))
        case "msum":
            return "msum", (key, amount), total
        case "arg":
            return draft.random.choice(("argmin", "argmax")), (key, kind), kind
        case "collect":
            return "collect", (kind,), LIST
        case _:
            return draft.random.choice(("any", "all")), (BOOL,), BOOL


# --- recursion over sets --------------------------------------------------------------------------------------------


def sets(draft: Draft) -> None:
    """One to four relations that depend on each other, linear or not, with constants in heads and cross products."""
    number = draft.random.choice((1, 1, 2, 3, 3, 4))
    relations = [draft.define(*draft.some_kinds(1, 3, hostile=20)) for _ in range(number)]
    if draft.chance(10):
        relations[0] = _wide(draft, relations[0])
    for place, relation in enumerate(relations):
        if place == 0 or draft.chance(40):
            _set_rule(draft, relation, ())
        following = relations[(place + 1) % number]
        others = [draft.random.choice(relations) for _ in range(draft.random.choice((0, 0, 0, 1, 1, 2)))]
        _set_rule(draft, relation, (following, *others))
        if draft.chance(15):
            draft.fact(relation)
    draft.readable += relations


def _wide(draft: Draft, relation: Sig) -> Sig:
    wide = Sig(relation.name, (*relation.kinds, *draft.some_kinds(6, 8, hostile=20)))
    draft.derived[draft.derived.index(relation)] = wide
    return wide


def _set_rule(draft: Draft, relation: Sig, recursive: Sequence[Sig]) -> None:
    body = BodyDraft(draft, is_closed=True)
    for own in recursive:
        body.atom(own, only_new=draft.chance(35))
    others = draft.random.choice((0, 0, 1, 2))
    body.extend(draft.random.choice((0, 1, 1, 2) if recursive else (1, 1, 2, 3)), others)
    # A value that comes from outside the closed set of a column would make the set larger in every round.
    head = [body.head_term(kind) for kind in relation.kinds]
    draft.rule(relation, head, body.literals)


def paths(draft: Draft) -> None:
    """Chains of edges and of the relations themselves, so that recursion goes deep; three or more may be mutual."""
    number = draft.random.choice((1, 1, 2, 3, 4))
    relations = [draft.define(SMALL, SMALL) for _ in range(number)]
    edges = [sig for sig in draft.readable if sig.kinds[:2] == (SMALL, SMALL) and len(sig.kinds) <= 3]
    for place, relation in enumerate(relations):
        if place == 0 or draft.chance(50):
            _chain(draft, relation, [draft.random.choice(edges)])
        steps = [relations[(place + 1) % number]]
        steps += [draft.random.choice((*relations, *edges, *edges)) for _ in range(draft.random.choice((0, 1, 1, 2)))]
        _chain(draft, relation, draft.random.sample(steps, len(steps)))
    draft.readable += relations


def _chain(draft: Draft, relation: Sig, steps: Sequence[Sig]) -> None:
    body: list[Literal] = []
    nodes: list[Expr] = [Var(f"N{place}") for place in range(len(steps) + 1)]
    if draft.chance(15):
        nodes[draft.random.choice((0, -1))] = draft.pools.constant(SMALL)
    for place, step in enumerate(steps):
        rest: list[Term] = [Anything() for _ in step.kinds[2:]]
        body.append(Atom(step.name, (nodes[place], nodes[place + 1], *rest)))
    extra = BodyDraft(draft, is_closed=True)
    extra.bound = {node.name: SMALL for node in nodes if isinstance(node, Var)}
    if draft.chance(30):
        extra.extend(0, 1)
    draft.rule(relation, (nodes[0], nodes[-1]), [*body, *extra.literals])


def routes(draft: Draft) -> None:
    """Paths that are lists of their nodes, which come to an end because no node comes twice."""
    edge, rest = _edge(draft)
    relation = draft.define(SMALL, SMALL, INTS)
    x, y, z, path = Var("X"), Var("Y"), Var("Z"), Var("P")
    draft.rule(relation, [x, y, Call("list", (x, y))], [Atom(edge, (x, y, *rest)), Comparison("<", y, Const(3))])
    longer = Call("append", (path, z)) if draft.chance(60) else Call("concat", (path, Call("list", (z,))))
    is_new = Test(Call("in list", (z, path)), is_negated=True)
    short = Comparison("<", Call("len", (path,)), Const(draft.random.choice((3, 4))))
    draft.rule(relation, [x, z, longer], [Atom(relation.name, (x, y, path)), Atom(edge, (y, z, *rest)), is_new, short])
    draft.readable.append(relation)


# --- aggregates in recursion ----------------------------------------------------------------------------------------


def meets(draft: Draft) -> None:
    """min or max, any or all, in one to three relations that depend on each other, and perhaps a set among them."""
    is_min = draft.chance(50)
    kind = draft.random.choice((SMALL, SMALL, SMALL, TAME, BIG, WILD, TEXT, BOOL))
    names = ("min", "mmin") if is_min else ("max", "mmax")
    if kind == BOOL:
        names = ("all", "all") if is_min else ("any", "any")
    number = draft.random.choice((1, 1, 2, 3))
    relations = [draft.define(*_keys(draft), kind) for _ in range(number)]
    reached = draft.define(SMALL) if draft.chance(25) else None
    for place, relation in enumerate(relations):
        function = draft.random.choice(names)
        if place == 0 or draft.chance(40):
            body = BodyDraft(draft)
            body.extend(draft.random.choice((1, 1, 2)), draft.random.choice((0, 0, 1)))
            keys = [body.value(one) for one in relation.kinds[:-1]]
            draft.rule(relation, [*keys, Aggregate(function, (body.value(kind),))], body.literals)
        if draft.chance(15):
            draft.fact(relation)
        following = relations[(place + 1) % number]
        own = (following, *draft.random.choices(relations, k=draft.random.choice((0, 0, 1))))
        _meet_rule(draft, relation, function, own, is_min, reached)
    if reached is not None:
        source = relations[0]
        value = Var("V")
        terms = [Var("K") if one == SMALL else Anything() for one in source.kinds[:-1]]
        key: Expr = Var("K") if SMALL in source.kinds[:-1] else Const(1)
        guards = [_meet_guard(draft, value, kind, is_min)] if draft.chance(50) and kind != BOOL else []
        draft.rule(reached, [key], [Atom(source.name, (*terms, value if guards else Anything())), *guards])
        draft.readable.append(reached)
    draft.readable += relations


def _keys(draft: Draft) -> list[Kind]:
    return [draft.random.choice((SMALL, SMALL, SMALL, TEXT)) for _ in range(draft.random.choice((1, 1, 2)))]


def _meet_rule(
    draft: Draft, relation: Sig, function: str, own: Sequence[Sig], is_min: bool, reached: Sig | None
) -> None:
    kind = relation.kinds[-1]
    body = BodyDraft(draft, is_closed=True)
    values: list[Expr] = []
    guards: list[Literal] = []
    atoms: list[Literal] = []
    for place, one in enumerate(own):
        value = Var(f"V{place}")
        keys = tuple(body.value(key) if body.chance(30) else body.fresh(key) for key in one.kinds[:-1])
        atoms.append(Atom(one.name, (*keys, value)))
        values.append(value)
        if draft.chance(20) and kind != BOOL:
            guards.append(_meet_guard(draft, value, kind, is_min))
    if reached is not None and draft.chance(60):
        body.atom(reached)
    body.extend(draft.random.choice((0, 1, 1, 2)), draft.random.choice((0, 0, 1)))
    keys_of_head = [body.value(key) for key in relation.kinds[:-1]]
    if len(values) > 1 and kind == SMALL and is_min and draft.chance(50):
        improved: Expr = Op("+", values[0], values[1])
    else:
        improved = _moved(draft, body, draft.random.choice(values), kind, is_min)
    draft.rule(relation, [*keys_of_head, Aggregate(function, (improved,))], [*atoms, *body.literals, *guards])


def _meet_guard(draft: Draft, value: Var, kind: Kind, is_min: bool) -> Literal:
    return Comparison(draft.random.choice(("<", "<=") if is_min else (">", ">=")), value, draft.pools.constant(kind))


def _moved(draft: Draft, body: BodyDraft, value: Expr, kind: Kind, is_min: bool) -> Expr:
    """Something that gets better when the value does, and cannot get better for ever."""
    other = body.value(kind)
    if kind == BOOL:
        return draft.random.choice((value, value, Call("greatest", (value, other)), Call("least", (value, other))))
    forms: list[Expr] = [value, Call("greatest", (value, other)), Call("least", (value, other))]
    if kind == SMALL:
        step = Op("+", value, Call("abs", (other,)) if draft.chance(50) else Const(1))
        forms += [step, step] if is_min else [Call("least", (step, Const(9)))] * 2
    if kind == TAME:
        step = Op("+", value, Const(0.5))
        forms.append(step if is_min else Call("least", (step, Const(6.0))))
    if kind == BIG and draft.chance(50):
        forms.append(Op("div", value, Const(2)))
    return draft.random.choice(forms)


def nearest(draft: Draft) -> None:
    """argmin beside min: the value that goes with the best cost, carried along."""
    is_min = draft.chance(60)
    chosen = draft.random.choice((SMALL, TEXT, WILD))
    relation = draft.define(SMALL, SMALL, chosen)
    best, arg = ("min", "argmin") if is_min else ("max", "argmax")
    cost = Var("D")
    body = BodyDraft(draft)
    body.extend(draft.random.choice((1, 2)), 0)
    start = [Comparison("=", cost, body.value(SMALL))]
    draft.rule(
        relation,
        [body.value(SMALL), Aggregate(best, (cost,)), Aggregate(arg, (cost, body.value(chosen)))],
        [*body.literals, *start],
    )
    step = BodyDraft(draft, is_closed=True)
    key = step.fresh(SMALL)
    step.extend(draft.random.choice((1, 1, 2)), 0)
    carried = Var("S")
    length = Op("+", Var("C"), Op("+", Call("abs", (step.value(SMALL),)), Const(1)))
    guards: list[Literal] = []
    if not is_min:  # what grows needs an end
        length = Op("+", Var("C"), Const(1))
        guards = [Comparison("<", key, Const(3)), Comparison("=", Var("N"), Op("+", key, Const(1)))]
    head_key = step.value(SMALL) if is_min else Var("N")
    draft.rule(
        relation,
        [head_key, Aggregate(best, (cost,)), Aggregate(arg, (cost, carried))],
        [Atom(relation.name, (key, Var("C"), carried)), *step.literals, Comparison("=", cost, length), *guards],
    )
    draft.readable.append(relation)


def growing(draft: Draft) -> None:
    """mcount and msum in recursion, with a set or by themselves."""
    edges = [sig for sig in draft.readable if sig.kinds[:2] == (SMALL, SMALL) and len(sig.kinds) <= 3]
    edge = draft.random.choice(edges)
    rest = tuple(Anything() for _ in edge.kinds[2:])
    x, y, z, n = Var("X"), Var("Y"), Var("Z"), Var("N")
    limit = Comparison(draft.random.choice((">", ">=")), n, Const(draft.random.choice((1, 2, 3))))
    amount = draft.random.choice((Const(1), Const(2), Call("abs", (y,)), Call("abs", (Op("-", x, y),))))
    if draft.chance(50):
        coming, friends = draft.define(SMALL), draft.define(SMALL, BIG)
        counted = draft.random.choice(
            (Aggregate("mcount", (y,)), Aggregate("mcount", (y, amount)), Aggregate("msum", (y, amount)))
        )
        body = BodyDraft(draft)
        body.extend(1, draft.random.choice((0, 1)))
        draft.rule(coming, [body.value(SMALL)], body.literals)
        draft.rule(coming, [x], [Atom(friends.name, (x, n)), limit])
        draft.rule(friends, [x, counted], [Atom(edge.name, (x, y, *rest)), Atom(coming.name, (y,))])
        draft.readable += [coming, friends]
        return
    owns = draft.define(SMALL, SMALL, BIG)
    draft.rule(owns, [x, y, Aggregate("msum", (x, amount))], [Atom(edge.name, (x, y, *rest))])
    grown = draft.random.choice((amount, Call("least", (n, Const(7)))))
    draft.rule(
        owns,
        [x, y, Aggregate("msum", (z, grown))],
        [Atom(owns.name, (x, z, n)), limit, Atom(edge.name, (z, y, *rest))],
    )
    draft.readable.append(owns)


def staged(draft: Draft) -> None:
    """Any aggregate, stage by stage, in one relation or handed through another one."""
    function, kind, first, next_ = _counted_form(draft)
    columns = [(SMALL, "key"), (SMALL, "stage"), (kind, "value")]
    draft.random.shuffle(columns)
    relation = draft.define(*(one for one, _ in columns))
    source = draft.define(*(one for one, _ in columns)) if draft.chance(40) else relation
    last = draft.random.choice((1, 2, 3, 4))
    x, y, i, v = Var("X"), Var("Y"), Var("I"), Var("V")

    def laid_out(key: Expr, stage: Expr, value: Expr | Aggregate) -> list[Expr | Aggregate]:
        parts = {"key": key, "stage": stage, "value": value}
        return [parts[role] for _, role in columns]

    def read(sig: Sig) -> Atom:
        return Atom(sig.name, tuple(term for term in laid_out(x, i, v) if not isinstance(term, Aggregate)))

    edge, rest = _edge(draft)
    draft.rule(relation, laid_out(x, Const(0), Aggregate(function, (first,))), [Atom(edge, (x, y, *rest))])
    if source is not relation:
        tests: list[Literal] = [Comparison("!=", x, draft.pools.constant(SMALL))] if draft.chance(40) else []
        draft.rule(source, laid_out(x, i, v), [read(relation), *tests])
    stage = Op("+", i, Const(1))
    draft.rule(
        relation,
        laid_out(y, stage, Aggregate(function, (next_,))),
        [read(source), Atom(edge, (x, y, *rest)), Comparison("<", i, Const(last))],
    )
    draft.readable.append(relation)


def bounded(draft: Draft) -> None:
    """A fixed number of rounds, of any aggregate or of a set that would grow for ever."""
    rounds = draft.random.choice((1, 2, 3, 5))
    x, y, v = Var("X"), Var("Y"), Var("V")
    edge, rest = _edge(draft)
    if draft.chance(25):
        relation = draft.define(SMALL, BIG)
        draft.rule(relation, [x, y], [Atom(edge, (x, y, *rest))], rounds)
        draft.rule(relation, [x, Op("+", Op("*", y, Const(2)), Const(1))], [Atom(relation.name, (x, y))])
        draft.readable.append(relation)
        return
    function, kind, first, next_ = _counted_form(draft)
    relation = draft.define(SMALL, kind)
    draft.rule(relation, [x, Aggregate(function, (first,))], [Atom(edge, (x, y, *rest))], rounds)
    draft.rule(relation, [y, Aggregate(function, (next_,))], [Atom(relation.name, (x, v)), Atom(edge, (x, y, *rest))])
    draft.readable.append(relation)


def _edge(draft: Draft) -> tuple[str, tuple[Term, ...]]:
    edges = [sig for sig in draft.readable if sig.kinds[:2] == (SMALL, SMALL) and len(sig.kinds) <= 3]
    edge = draft.random.choice(edges)
    return edge.name, tuple(Anything() for _ in edge.kinds[2:])


def _counted_form(draft: Draft) -> tuple[str, Kind, Expr, Expr]:
    """An aggregate that is no meet, the kind of its value, what it begins with and what a round adds."""
    y, v = Var("Y"), Var("V")
    return draft.random.choice(
        (
            ("sum", BIG, Const(1), v),
            ("sum", BIG, y, Op("-", v, Const(1))),
            ("count", BIG, y, v),
            ("countd", BIG, y, v),
            ("sum", NEAR, Const(1.0), Op("/", v, Const(3))),
            ("sum", NEAR, Const(0.15), Op("*", Const(0.85), v)),
            ("avg", NEAR, Const(0.1), Op("+", v, Const(0.5))),
            ("max", BIG, y, Op("-", Const(10), v)),
        )
    )


SHAPES: tuple[tuple[Shape, int], ...] = (
    (plain, 20),
    (calculations, 24),
    (dated, 14),
    (aggregates, 18),
    (sets, 16),
    (paths, 10),
    (routes, 4),
    (meets, 12),
    (nearest, 4),
    (growing, 5),
    (staged, 5),
    (bounded, 5),
)
