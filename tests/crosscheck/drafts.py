"""A random program while it grows: relations that can be read, and bodies that read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from tests.crosscheck.expressions import Writer
from tests.crosscheck.kinds import (
    BIG,
    BOOL,
    LISTS,
    MONEY,
    NEAR,
    SCALARS,
    SMALL,
    TAME,
    TEXT,
    TIMED,
    WILD,
    Kind,
    Pools,
    is_readable,
    pools,
)
from tests.crosscheck.programs import (
    Aggregate,
    Anything,
    Atom,
    Comparison,
    Const,
    Either,
    Expr,
    Input,
    Literal,
    Op,
    Procedure,
    Row,
    Rule,
    Term,
    Var,
)


@dataclass(frozen=True, slots=True)
class Sig:
    """A relation that bodies may read."""

    name: str
    kinds: tuple[Kind, ...]


FORMS: Mapping[str, tuple[int, ...]] = {
    "new": (45, 45, 20),
    "old": (40, 40, 80, 10),
    "repeated": (0, 3, 15),
    "constant": (0, 3, 3, 20),
    "anything": (0, 10, 10, 50),
    "computed": (0, 4, 4, 20),
}
"""What an argument of an atom can be, with weights to choose from."""

APART = {"new": 30, "constant": 20, "anything": 50}
TOGETHER = {"new": 10, "old": 90}
"""For bodies that are all cross products, and for those that join on everything."""


@dataclass
class Draft:
    random: Random
    pools: Pools = field(init=False)
    inputs: list[Input] = field(default_factory=list)
    readable: list[Sig] = field(default_factory=list)
    derived: list[Sig] = field(default_factory=list)
    declared: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    facts: list[tuple[str, Row]] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.pools = pools(self.random)
        self.forms = {form: self.random.choice(weights) for form, weights in FORMS.items()}
        """Other weights for each program: some are all constants, some all joins, which chance alone never makes."""
        self.has_times = self.chance(25)
        """Whether there are columns of moments, durations and decimals."""
        self.is_graph = self.chance(35)
        """Whether nearly all columns are small ints, so that joins and queries find partners everywhere."""

    def chance(self, percent: int) -> bool:
        return self.random.random() * 100 < percent

    def define(self, *kinds: Kind) -> Sig:
        sig = Sig(f"p{len(self.derived) + 1}", kinds)
        self.derived.append(sig)
        return sig

    def rule(
        self, relation: Sig, head: Sequence[Expr | Aggregate], body: Iterable[Literal], iterations: int | None = None
    ) -> None:
        """Literals stand in any order: it means nothing."""
        literals = list(body)
        self.random.shuffle(literals)
        self.rules.append(Rule(relation.name, tuple(head), tuple(literals), iterations))

    def fact(self, relation: Sig) -> None:
        if all(kind in SCALARS for kind in relation.kinds):
            self.facts.append((relation.name, tuple(self.pools.one(kind) for kind in relation.kinds)))

    def some_kinds(self, least: int, most: int, *, hostile: int = 40) -> list[Kind]:
        """Columns for a relation: mostly small ints, which recursion goes along."""
        if self.is_graph and self.chance(85):
            return [SMALL] * self.random.randint(least, most)
        tame = (SMALL, SMALL, SMALL, TEXT, BOOL, TAME)
        wild: tuple[Kind, ...] = (BIG, WILD, TEXT)
        if self.has_times:
            wild = (*wild, *TIMED)
        number = self.random.randint(least, most)
        return [self.random.choice(wild if self.chance(hostile) else tame) for _ in range(number)]

    def add_inputs(self) -> None:
        shapes = [(SMALL, SMALL), (SMALL,), *((SMALL, *self.some_kinds(1, 3, hostile=85)) for _ in range(2))]
        if self.chance(50):
            shapes.append((SMALL, SMALL, SMALL))
        if self.chance(35):
            shapes.append(tuple(self.some_kinds(8, 12)))
        for number, kinds in enumerate(shapes, start=1):
            self._add_input(Sig(f"e{number}", kinds))

    def _add_input(self, sig: Sig) -> None:
        is_inline = self.chance(40)
        has_nulls = self.chance(25)
        rows = [
            tuple(None if has_nulls and self.chance(15) else self.pools.one(kind) for kind in sig.kinds)
            for _ in range(self.random.choices((1 if is_inline else 0, 3, 6, 9, 14, 24), (1, 2, 4, 4, 4, 1))[0])
        ]
        is_telling = all(any(row[place] is not None for row in rows) for place in range(len(sig.kinds)))
        is_declared = not is_telling or MONEY in sig.kinds or self.chance(60)
        types = tuple(kind.type for kind in sig.kinds)
        self.inputs.append(Input(sig.name, types, tuple(rows), is_inline, is_declared))
        self.readable.append(sig)


class BodyDraft(Writer):
    """Grows atom by atom; what is bound can be used by everything else."""

    def __init__(self, draft: Draft, *, is_closed: bool = False) -> None:
        super().__init__(draft.random, draft.pools, {}, is_closed)
        self.draft = draft
        self.forms = self.random.choices((draft.forms, APART, TOGETHER), (74, 16, 10))[0]
        self.literals: list[Literal] = []
        self.count = 0

    def fresh(self, kind: Kind) -> Var:
        self.count += 1
        variable = Var(f"{kind.type[0].upper()}{self.count}")
        self.bound[variable.name] = kind
        return variable

    def atom(self, sig: Sig, *, only_new: bool = False) -> None:
        """Joins with what is bound, binds new variables, repeats some, and now and then has a constant or an
        expression among its arguments."""
        before = dict(self.bound)
        terms: list[Term] = []
        for kind in sig.kinds:
            terms.append(self._argument(kind, before, only_new=only_new))
        self.literals.append(Atom(sig.name, tuple(terms)))

    def _argument(self, kind: Kind, before: dict[str, Kind], *, only_new: bool) -> Term:
        if not is_readable(kind):
            return Anything()
        if only_new:
            return self.fresh(kind)
        old = [name for name, one in before.items() if one.type == kind.type and one.parts == kind.parts]
        own = [name for name, one in self.bound.items() if one == kind and name not in before]
        weights = dict(self.forms)
        if kind != SMALL and "old" in weights:
            weights["old"] //= 3  # hardly any value of another kind comes twice
        form = self.random.choices(tuple(weights), tuple(weights.values()))[0]
        if form == "old" and old:
            return Var(self.random.choice(old))
        if form == "repeated" and own:
            return Var(self.random.choice(own))
        if form == "constant" and kind in SCALARS:
            return self.pools.constant(kind)
        if form == "anything":
            return Anything()
        if form == "computed" and kind == SMALL and (known := [n for n, one in before.items() if one == SMALL]):
            return Op(self.random.choice(("-", "+")), Var(self.random.choice(known)), Const(1))
        return self.fresh(kind)

    def computed_key(self, sig: Sig) -> None:
        """`Y = X - 1, p(Y)`: the same as `p(X - 1)`, written as two literals."""
        known = self.variable(SMALL)
        if known is None or SMALL not in sig.kinds:
            self.atom(sig)
            return
        key = self.fresh(SMALL)
        place = sig.kinds.index(SMALL)
        self.literals.append(Comparison("=", key, Op(self.random.choice(("-", "+")), known, Const(1))))
        self.literals.append(Atom(sig.name, tuple(key if i == place else Anything() for i in range(len(sig.kinds)))))

    def extend(self, atoms: int, others: int) -> None:
        """Some atoms over relations that are complete, then some of everything else."""
        for _ in range(atoms):
            sig = self.random.choice(self.draft.readable)
            if self.chance(12):
                self.computed_key(sig)
            else:
                self.atom(sig)
        for _ in range(others):
            form = self.random.choices(
                ("condition", "guard", "assignment", "negation", "either", "procedure"), (30, 20, 25, 13, 7, 5)
            )[0]
            match form:
                case "condition":
                    self.literals.append(self.condition())
                case "guard":
                    self.literals.append(self.guard())
                case "assignment":
                    self.assignment()
                case "negation":
                    self.negation(self.random.choice(self.draft.readable))
                case "either":
                    self.literals.append(Either(((self.condition(),), (self.condition(), self.guard()))))
                case _:
                    self.procedure()

    def assignment(self, depth: int = 1) -> None:
        kind = self.random.choice((SMALL, BIG, BIG, TAME, WILD, WILD, TEXT, BOOL))
        if self.chance(10):
            kind = self.random.choice((*LISTS, *TIMED))
        self.assign(kind, self.computed(kind, depth))

    def assign(self, kind: Kind, computed: Expr) -> None:
        sides = [self.fresh(kind), computed]
        if self.chance(25):
            sides.reverse()
        self.literals.append(Comparison("=", *sides))

    def negation(self, sig: Sig) -> None:
        terms = tuple(
            Anything() if not is_readable(kind) or self.chance(35) else self.value(kind, self.chance(15))
            for kind in sig.kinds
        )
        self.literals.append(Atom(sig.name, terms, is_negated=True))

    def procedure(self) -> None:
        kind = self.random.choice((SMALL, BIG, WILD, TEXT))
        one, other = self.value(kind), self.value(kind)
        if self.chance(50):
            name = self.random.choice(("larger", "largest"))
            self.literals.append(Procedure(name, (self.fresh(kind), one, other)))
            return
        second = self.random.choice((SMALL, TEXT, WILD))
        self.count += 1
        pair = Var(f"P{self.count}")
        self.literals.append(Procedure("encd", (one, self.value(second), pair)))
        self.literals.append(Procedure("decd", (pair, self.fresh(kind), self.fresh(second))))

    def head_term(self, kind: Kind) -> Expr:
        if kind == NEAR:
            return self.computed(NEAR)
        return self.computed(kind) if self.chance(22) else self.value(kind)
