"""Random expressions and conditions over the variables of a body."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from tests.crosscheck.kinds import BIG, BOOL, NEAR, SMALL, TAME, TEXT, WIDER, WILD, Kind, Pools
from tests.crosscheck.patterns import MEANINGS, VALID
from tests.crosscheck.programs import Call, Comparison, Const, Expr, Literal, Neg, Op, Test, Var

DIGITS = (-308, -2, -1, 0, 1, 2, 2, 2, 3, 17, 308, 400)
COMPARED = ("=", "!=", "<", "<=", ">", ">=")


@dataclass
class Writer:
    """Writes expressions over the variables that are bound so far."""

    random: Random
    pools: Pools
    bound: dict[str, Kind] = field(default_factory=dict)
    is_closed: bool = False
    """Whether values must stay within a finite set, however often a rule is applied to what it gave."""

    def chance(self, percent: int) -> bool:
        return self.random.random() * 100 < percent

    def variable(self, kind: Kind) -> Var | None:
        kinds = (kind, *WIDER.get(kind, ()))
        names = [name for name, of_kind in self.bound.items() if of_kind in kinds]
        return Var(self.random.choice(names)) if names else None

    def value(self, kind: Kind, depth: int = 0) -> Expr:
        """A variable, a constant where there is none, or something computed."""
        if depth and self.chance(35):
            return self.computed(kind, depth - 1)
        variable = self.variable(kind)
        if variable is not None and not self.chance(12):
            return variable
        if kind.parts:
            return Call("encd", tuple(self.value(part) for part in kind.parts))
        if kind == NEAR:
            return self._near(0)
        return self.pools.constant(kind)

    def computed(self, kind: Kind, depth: int = 1) -> Expr:
        makers: dict[Kind, Callable[[int], Expr]] = {
            SMALL: self._small,
            BIG: self._big,
            TAME: self._tame,
            WILD: self._wild,
            NEAR: self._near,
            TEXT: self._text,
            BOOL: self._bool,
        }
        if self.is_closed and kind in (BIG, WILD):
            return Call(self.random.choice(("least", "greatest")), (self.value(kind), self.value(kind)))
        return makers[kind](depth) if kind in makers else self.value(kind)

    def _choose(self, *makers: Callable[[], Expr]) -> Expr:
        return self.random.choice(makers)()

    def _small(self, depth: int) -> Expr:
        def one(kind: Kind = SMALL) -> Expr:
            return self.value(kind, depth)

        return self._choose(
            lambda: Op("mod", Op("+", one(), one()), Const(5)),
            lambda: Op("mod", Op("*", one(), one()), Const(4)),
            lambda: Call("least", (Op("+", one(), Const(1)), Const(6))),
            lambda: Call("greatest", (one(), one())),
            lambda: Call("least", (one(), one(), one())),
            lambda: Call("abs", (Op("-", one(), Const(2)),)),
            lambda: Op("div", one(), Const(2)),
            lambda: Op("mod", Neg(one()), Const(3)),
            lambda: Call("least", (Call("len", (one(TEXT),)), Const(6))),
            lambda: Call("int", (one(BOOL),)),
            lambda: Call(self.random.choice(("floor", "ceil", "round", "int")), (Op("/", one(), Const(2)),)),
            lambda: Call("decd_second", (Call("encd", (one(TEXT), one())),)),
            lambda: Op("-", Op("*", Const(2), Const(3)), Const(4)),
        )

    def _big(self, depth: int) -> Expr:
        def one(kind: Kind = BIG) -> Expr:
            return self.value(kind, depth)

        return self._choose(
            *(lambda: Op(self.random.choice(("+", "-")), one(), one()),) * 3,
            lambda: Op("*", one(), one(SMALL)),
            lambda: Neg(one()),
            lambda: Call("abs", (one(),)),
            *(lambda: Op(self.random.choice(("div", "mod")), one(), one()),) * 2,
            lambda: Call(self.random.choice(("floor", "ceil", "round", "int")), (one(WILD),)),
            lambda: Call(self.random.choice(("floor", "ceil", "round", "int")), (one(),)),
            lambda: Call("int", (one(TEXT),)),
            lambda: Call("len", (one(TEXT),)),
            lambda: Call(self.random.choice(("least", "greatest")), (one(), one())),
            lambda: Call("decd_first", (Call("encd", (one(), one(WILD))),)),
        )

    def _tame(self, depth: int) -> Expr:
        def one() -> Expr:
            return self.value(TAME, depth)

        return self._choose(
            lambda: Call("least", (Op("+", one(), one()), Const(4.0))),
            lambda: Call("float", (self.value(SMALL, depth),)),
            lambda: Op("/", self.value(SMALL, depth), Const(4)),
            lambda: Call("greatest", (one(), one())),
            lambda: Call("least", (one(), self.value(SMALL, depth))),
            lambda: Call("abs", (one(),)),
            lambda: Op("/", Const(1), Const(2)),
        )

    def _wild(self, depth: int) -> Expr:
        def one(kind: Kind = WILD) -> Expr:
            return self.value(kind, depth)

        return self._choose(
            *(lambda: Op(self.random.choice(("+", "-", "*", "/")), one(), one()),) * 3,
            lambda: Op("*", one(), one(TAME)),
            lambda: Op(self.random.choice(("+", "*")), one(), one(SMALL)),
            lambda: Op("/", one(BIG), one(BIG)),
            *(lambda: Call("round", (one(), Const(self.random.choice(DIGITS)))),) * 3,
            lambda: Call("round", (one(BIG), Const(self.random.choice((-2, -1, 0, 1))))),
            lambda: Call("sqrt", (one(),)),
            lambda: Call("sqrt", (Call("abs", (one(),)),)),
            lambda: Call("float", (one(BIG),)),
            lambda: Call(self.random.choice(("to_number", "float")), (one(TEXT),)),
            lambda: Call("to_number", (Call("to_string", (one(),)),)),
            lambda: Call("float", (one(BOOL),)),
            lambda: Call("abs", (one(),)),
            lambda: Neg(one()),
            lambda: Call(self.random.choice(("least", "greatest")), (one(), one())),
            lambda: Call(self.random.choice(("least", "greatest")), (one(), one(SMALL))),
        )

    def _near(self, depth: int) -> Expr:
        def one(kind: Kind = WILD) -> Expr:
            return self.value(kind, depth)

        if depth and self.chance(30):
            return Op(self.random.choice(("+", "-", "*")), self._near(0), one(TAME))
        return self._choose(
            lambda: Call("exp", (one(),)),
            lambda: Call("exp", (one(TAME),)),
            lambda: Call("log", (one(),)),
            lambda: Call("log", (Op("+", one(SMALL), Const(1)),)),
            lambda: Call("pow", (one(), one(TAME))),
            lambda: Call("pow", (one(TAME), one(SMALL))),
            lambda: Call("pow", (one(BIG), Const(0.5))),
        )

    def _text(self, depth: int) -> Expr:
        def one() -> Expr:
            return self.value(TEXT, depth)

        def shown() -> Expr:
            return self.value(self.random.choice((SMALL, BIG, TAME, WILD, WILD, TEXT, BOOL)), depth)

        def place() -> Expr:
            return Const(self.random.choice((-1, 0, 0, 1, 2, 300)))

        closed: tuple[Callable[[], Expr], ...] = (
            lambda: Call("substr", (Call("cat", (one(), one())), Const(0), Const(2))),
            lambda: Call("substr", (one(), place(), Const(self.random.choice((-1, 0, 1, 2))))),
            lambda: Call(self.random.choice(("lower", "upper")), (one(),)),
            lambda: Call(self.random.choice(("least", "greatest")), (one(), one())),
            lambda: Call("to_string", (self.value(SMALL, depth),)),
        )
        if self.is_closed:
            return self._choose(*closed)
        return self._choose(
            *closed,
            lambda: Call("cat", (one(), one(), one())),
            *(lambda: Call(self.random.choice(("to_string", "string")), (shown(),)),) * 3,
            lambda: Call("to_string", (Call("encd", (shown(), shown())),)),
            lambda: Call("substr", (one(), self.value(SMALL, depth), self.value(SMALL, depth))),
        )

    def _bool(self, depth: int) -> Expr:
        return self._choose(
            lambda: self.test_call(depth),
            lambda: Call(self.random.choice(("least", "greatest")), (self.value(BOOL), self.value(BOOL))),
        )

    def test_call(self, depth: int = 1) -> Call:
        function = self.random.choice(("contains", "starts_with", "matches", "matches"))
        if function == "matches":
            if self.chance(93):
                return Call(function, (self.value(TEXT, depth), Const(self.random.choice(VALID))))
            # A constant that is no pattern is refused before it runs.
            computed = Call("cat", (Const(self.random.choice(tuple(MEANINGS))), Const("")))
            return Call(function, (self.value(TEXT, depth), computed))
        return Call(function, (self.value(TEXT, depth), self.value(TEXT)))

    # --- conditions -------------------------------------------------------------------------------------------------

    def condition(self) -> Literal:
        """A test of what is bound, with something computed on a side now and then: that need not be closed."""
        closed, self.is_closed = self.is_closed, False
        try:
            return self._condition()
        finally:
            self.is_closed = closed

    def _condition(self) -> Literal:
        if self.chance(20):
            return Test(self.test_call(), self.chance(40))
        kinds = sorted({kind for kind in self.bound.values() if kind != NEAR}, key=lambda kind: kind.name)
        kind = self.random.choice(kinds) if kinds else SMALL
        other = kind
        if kind in (SMALL, BIG, TAME, WILD) and self.chance(25):
            other = self.random.choice((SMALL, BIG, TAME, WILD))
        left = self.computed(kind) if self.chance(35) else self.value(kind)
        right = self.computed(other, 0) if self.chance(15) else self.value(other)
        # An int that equals a float could be taken for an assignment of the float to an int.
        symbols = COMPARED if kind.type == other.type else COMPARED[1:]
        return Comparison(self.random.choice(symbols), left, right)

    def guard(self) -> Literal:
        """A condition that keeps hostile values out, wherever it stands in the body."""
        name, kind = self.random.choice(sorted(self.bound.items(), key=lambda one: one[0]) or [("", BOOL)])
        match kind.name:
            case "big":
                return Comparison(self.random.choice(("<", "!=", ">")), Var(name), Const(self.random.choice((0, 1000))))
            case "wild":
                return Comparison("<", Call("abs", (Var(name),)), Const(self.random.choice((1e3, 1e6, 1e15))))
            case "text":
                return Test(Call("matches", (Var(name), Const(r"\s*\d+\s*"))))
            case "small":
                return Comparison("!=", Var(name), Const(0))
            case _:
                return self.condition()
