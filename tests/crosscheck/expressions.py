"""Random expressions and conditions over the variables of a body."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from functools import partial
from random import Random

from tests.crosscheck.kinds import (
    BIG,
    BIG_INTS,
    BOOL,
    DATE,
    INTS,
    LISTS,
    MOMENT,
    MONEY,
    NEAR,
    SCALARS,
    SMALL,
    SPAN,
    TAME,
    TEXT,
    TEXT_LIST,
    TIMED,
    WIDER,
    WILD,
    Kind,
    Pools,
)
from tests.crosscheck.patterns import FOUND, LIKES, MEANINGS, NEW, VALID, groups_of
from tests.crosscheck.programs import (
    Call,
    Comparison,
    Condition,
    Const,
    Expr,
    If,
    Literal,
    Logic,
    Neg,
    Op,
    Test,
    Var,
)
from tests.crosscheck.times import FORMATS, UNITS, WRITTEN

DIGITS = (-308, -2, -1, 0, 1, 2, 2, 2, 3, 17, 308, 400)
FIELDS = ("year", "month", "day", "hour", "minute", "second", "weekday", "day_of_year", "week")
SPELLED = (
    *("2026-01-05", "2026-01-05 10:30:00", "2026-01-05T10:30:00.000001Z", "2026-01-05T23:30:00-05:00"),
    *("2024-02-29 00:30+01:00", "0001-01-01 00:00:00", "9999-12-31T23:59:59.999999"),
)
CHOSEN = (*SCALARS, *LISTS)
"""Of what `if` and `coalesce` choose."""
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
        if kind in LISTS:
            return Call("list", tuple(self.value(kind.parts[0]) for _ in range(self.random.choice((1, 2, 3)))))
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
            DATE: self._date,
            MOMENT: self._moment,
            SPAN: self._span,
            MONEY: self._money,
            **{one: partial(self._list, one) for one in LISTS},
        }
        if kind in CHOSEN and self.chance(12):
            return self._chosen(kind, depth)
        if self.is_closed and kind in (BIG, WILD, *TIMED):
            return Call(self.random.choice(("least", "greatest")), (self.value(kind), self.value(kind)))
        return makers[kind](depth) if kind in makers else self.value(kind)

    def _chosen(self, kind: Kind, depth: int) -> Expr:
        """A value that another one decides on, or one in the place of a null."""
        one, other = self.value(kind, depth), self.value(kind)
        return self._choose(
            lambda: Call("coalesce", (one, other)),
            lambda: Call("coalesce", (one, self.value(kind), other)),
            lambda: Call("coalesce", (Const(None), one)),
            lambda: If(self._decision(), one, other),
            lambda: If(self._decision(), one, Const(None)),
            lambda: If(self._decision(), Const(None), one),
        )

    def _decision(self, depth: int = 1) -> Condition:
        if depth and self.chance(35):
            word = self.random.choice(("and", "or", "not"))
            return Logic(word, tuple(self._decision(depth - 1) for _ in range(1 if word == "not" else 2)))
        found = self._condition()
        assert isinstance(found, Comparison | Test)
        return found

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
            lambda: Call(self.random.choice(("band", "bor", "bxor")), (one(), one())),
            lambda: Call("shr", (one(), Const(self.random.choice((0, 1, 2, 63))))),
            lambda: Call("sign", (one(self.random.choice((SMALL, BIG, TAME, WILD))),)),
            lambda: Call("least", (Call("index_of", (one(TEXT), one(TEXT))), Const(6))),
            lambda: self._nth(INTS, depth),
            lambda: Call("least", (Call("len", (one(self.random.choice(LISTS)),)), Const(6))),
            lambda: Op("mod", Call("ipow", (one(), Const(self.random.choice((0, 1, 2, 3))))), Const(5)),
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
            *(lambda: Call(self.random.choice(("band", "bor", "bxor")), (one(), one())),) * 2,
            lambda: Call("bnot", (one(),)),
            lambda: self._nth(BIG_INTS, depth),
            *(lambda: self.units(depth),) * 2,
            lambda: Call(self.random.choice(("shl", "shr")), (one(), Const(self.random.choice((0, 1, 31, 62, 63))))),
            lambda: Call(self.random.choice(("shl", "shr")), (one(), one(SMALL))),
            lambda: Call("ipow", (one(), Const(self.random.choice((0, 1, 1, 2, 63))))),
            lambda: Call("ipow", (Const(self.random.choice((-2, -1, 0, 1, 2, 10))), one(SMALL))),
            lambda: Call("ipow", (Const(self.random.choice((-1, 0, 1))), Call("abs", (one(),)))),
            lambda: Call("sign", (one(self.random.choice((BIG, WILD))),)),
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
            lambda: Call("seconds", (one(SPAN),)),
            lambda: Op("/", one(SPAN), one(SPAN)),
            lambda: Op("/", one(MONEY), one(SMALL)),
            lambda: Call("float", (one(MONEY),)),
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
            lambda: Call(self.random.choice(("trim", "ltrim", "rtrim", "reverse")), (one(),)),
            lambda: Call("split_part", (one(), self.value(TEXT), place())),
            lambda: Call("substr", (Call("replace", (one(), one(), one())), Const(0), Const(2))),
            lambda: self._extracted(one()),
            lambda: self._nth(TEXT_LIST, depth),
        )
        if self.is_closed:
            return self._choose(*closed)
        return self._choose(
            *closed,
            lambda: Call("cat", (one(), one(), one())),
            *(lambda: Call(self.random.choice(("to_string", "string")), (shown(),)),) * 3,
            lambda: Call("to_string", (self.value(self.random.choice((*LISTS, *TIMED, *TIMED)), depth),)),
            lambda: Call("format_time", (self.value(MOMENT, depth), Const(self.random.choice(WRITTEN)))),
            lambda: Call("format_time", (self.value(DATE, depth), Const(self.random.choice(WRITTEN)))),
            lambda: Call("to_string", (Call("encd", (shown(), shown())),)),
            lambda: Call("substr", (one(), self.value(SMALL, depth), self.value(SMALL, depth))),
            lambda: Call("replace", (one(), self.value(TEXT), self.value(TEXT))),
            lambda: Call("repeat", (one(), Const(self.random.choice((-1, 0, 1, 2, 3))))),
            lambda: Call("repeat", (one(), self.value(SMALL, depth))),
            *(lambda: Call(self.random.choice(("pad_left", "pad_right")), (one(), place(), one())),) * 2,
            lambda: self._replaced(one()),
        )

    def _list(self, kind: Kind, depth: int) -> Expr:
        def element() -> Expr:
            return self.value(kind.parts[0], depth)

        if self.is_closed:
            return Call("list", (element(), element()))
        return self._choose(
            lambda: Call(self.random.choice(("append", "prepend")), (self.value(kind, depth), element())),
            lambda: Call(self.random.choice(("append", "prepend")), (Call("list", ()), element())),
            lambda: Call("concat", (self.value(kind, depth), self.value(kind))),
            *(lambda: Call("split", (self.value(TEXT), self.value(TEXT))) if kind == TEXT_LIST else self.value(kind),)
            * 3,
        )

    def units(self, depth: int) -> Expr:
        """A number that a moment, a duration or a decimal is made into."""
        field = self.random.choice(FIELDS)
        return self._choose(
            lambda: Call(field, (self.value(self.random.choice((DATE, MOMENT)), depth),)),
            lambda: Call(field, (self.value(self.random.choice((DATE, MOMENT)), depth),)),
            lambda: Call("int", (self.value(self.random.choice((DATE, MOMENT, SPAN)), depth),)),
            lambda: Op("div", self.value(SPAN, depth), self.value(SPAN)),
            lambda: Call(self.random.choice(("int", "floor", "ceil", "round")), (self.value(MONEY, depth),)),
        )

    def _date(self, depth: int) -> Expr:
        def one(kind: Kind = DATE) -> Expr:
            return self.value(kind, depth)

        return self._choose(
            lambda: Op(self.random.choice(("+", "-")), one(), Op("*", one(SMALL), Const(timedelta(days=1)))),
            # A constant duration that is not of whole days is refused before it runs.
            lambda: Op(self.random.choice(("+", "-")), one(), self.variable(SPAN) or Const(timedelta(days=31))),
            lambda: Call("add_months", (one(), Const(self.random.choice((-13, -1, 0, 1, 12, 2400))))),
            lambda: Call("truncate", (one(), Const(self.random.choice(UNITS)))),
            lambda: Call("date", (one(MOMENT),)),
            lambda: Call("date", (Call("string", (one(),)),)),
            lambda: Call("parse_date", self._written(depth)),
            lambda: Call(self.random.choice(("least", "greatest")), (one(), one())),
        )

    def _moment(self, depth: int) -> Expr:
        def one(kind: Kind = MOMENT) -> Expr:
            return self.value(kind, depth)

        return self._choose(
            *(lambda: Op(self.random.choice(("+", "-")), one(), one(SPAN)),) * 2,
            lambda: Call("add_months", (one(), one(SMALL))),
            *(lambda: Call("truncate", (one(), Const(self.random.choice(UNITS)))),) * 2,
            lambda: Call("timestamp", (one(self.random.choice((DATE, BIG))),)),
            lambda: Call("timestamp", (Call("string", (one(),)),)),
            lambda: Call("timestamp", (Const(self.random.choice(SPELLED)),)),
            lambda: Call("parse_time", self._written(depth)),
            lambda: Call(self.random.choice(("least", "greatest")), (one(), one())),
        )

    def _written(self, depth: int) -> tuple[Expr, Expr]:
        """A text with a format that it may or may not have."""
        formats = [self.random.choice(tuple(FORMATS)) for _ in range(2)]
        text = Call("format_time", (self.value(MOMENT, depth), Const(formats[0])))
        return text, Const(formats[0] if self.chance(80) else formats[1])

    def _span(self, depth: int) -> Expr:
        def one(kind: Kind = SPAN) -> Expr:
            return self.value(kind, depth)

        return self._choose(
            lambda: Op("-", one(MOMENT), one(MOMENT)),
            lambda: Op("-", one(DATE), one(DATE)),
            lambda: Op("-", one(DATE), one(MOMENT)),
            lambda: Op(self.random.choice(("+", "-", "mod")), one(), one()),
            lambda: Op(self.random.choice(("*", "/", "div")), one(), one(SMALL)),
            lambda: Neg(one()),
        )

    def _money(self, depth: int) -> Expr:
        def one(kind: Kind = MONEY) -> Expr:
            return self.value(kind, depth)

        return self._choose(
            *(lambda: Op(self.random.choice(("+", "-")), one(), one()),) * 2,
            lambda: Op(self.random.choice(("+", "-", "*")), one(), one(SMALL)),
            *(lambda: Call("decimal", (one(self.random.choice((WILD, TAME, BIG, TEXT, MONEY))), Const(2))),) * 2,
            lambda: Call("decimal", (Op("*", one(), one()), Const(2))),
            lambda: Call("round", (Op("*", one(), Const(Decimal("0.125"))), Const(2))),
            lambda: Neg(one()),
            lambda: Call(self.random.choice(("least", "greatest")), (one(), one())),
        )

    def _nth(self, kind: Kind, depth: int) -> Expr:
        return Call("nth", (self.value(kind, depth), Const(self.random.choice((0, 0, 0, 0, -1, -1, -1, 1, -2)))))

    def _extracted(self, text: Expr) -> Expr:
        pattern = self.random.choice(tuple(FOUND))
        group = self.random.randint(0, FOUND[pattern][1])
        return Call("regex_extract", (text, Const(pattern), *((Const(group),) if group or self.chance(50) else ())))

    def _replaced(self, text: Expr) -> Expr:
        pattern = self.random.choice(tuple(FOUND))
        new = self.random.choice([new for new in NEW if groups_of(new) <= FOUND[pattern][1]])
        return Call("regex_replace", (text, Const(pattern), Const(new)))

    def _bool(self, depth: int) -> Expr:
        return self._choose(
            lambda: self.test_call(depth),
            lambda: Call(self.random.choice(("least", "greatest")), (self.value(BOOL), self.value(BOOL))),
        )

    def test_call(self, depth: int = 1) -> Call:
        if self.chance(20):
            kinds = [kind for kind in self.bound.values() if kind in CHOSEN]
            return Call("is_null", (self.value(self.random.choice(kinds or [SMALL]), depth),))
        function = self.random.choice(("contains", "starts_with", "ends_with", "matches", "matches"))
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
        if kind in SCALARS and self.chance(20):
            return self._word(kind)
        other = kind
        if kind in (DATE, MOMENT, MONEY) and self.chance(25):
            other = self.random.choice((SMALL, BIG) if kind == MONEY else (DATE, MOMENT))
        if kind in (SMALL, BIG, TAME, WILD) and self.chance(25):
            other = self.random.choice((SMALL, BIG, TAME, WILD))
        left = self.computed(kind) if self.chance(35) else self.value(kind)
        right = self.computed(other, 0) if self.chance(15) else self.value(other)
        # An int that equals a float could be taken for an assignment of the float to an int.
        symbols = COMPARED[:2] if kind in LISTS else COMPARED if kind.type == other.type else COMPARED[1:]
        return Comparison(self.random.choice(symbols), left, right)

    def _word(self, kind: Kind) -> Test:
        """`in`, `between` or `like`, of what is bound or computed."""
        subject = self.computed(kind) if self.chance(25) else self.value(kind)
        lists = [one for one in LISTS if one.parts == (kind,)]
        if lists and self.chance(25):
            return Test(Call("in list", (subject, self.value(lists[0], 1))), self.chance(40))
        if kind == TEXT and self.chance(60):
            return Test(Call("like", (subject, Const(self.random.choice(LIKES)))), self.chance(40))
        if self.chance(50):
            others = (self.value(kind) if self.chance(30) else self.pools.constant(kind) for _ in range(3))
            return Test(Call("in", (subject, *others)), self.chance(40))
        return Test(Call("between", (subject, self.value(kind), self.pools.constant(kind))), self.chance(40))

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
