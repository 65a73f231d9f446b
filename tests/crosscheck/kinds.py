"""What columns of random programs hold, finer than types: a generator has to know which ints may grow large.

Every program draws its values from a few of each kind, so that joins find partners, and most of them are hostile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random

from tests.crosscheck.programs import Const, Scalar


@dataclass(frozen=True, slots=True)
class Kind:
    name: str
    type: str
    parts: tuple[Kind, ...] = ()


SMALL = Kind("small", "int")
BIG = Kind("big", "int")
TAME = Kind("tame", "float")
"""Multiples of a quarter, so that sums are exact."""
WILD = Kind("wild", "float")
NEAR = Kind("near", "float")
"""Floats that engines may round differently. Rules read them only to add and scale them."""
TEXT = Kind("text", "string")
BOOL = Kind("bool", "bool")
DATE = Kind("date", "date")
MOMENT = Kind("moment", "timestamp")
SPAN = Kind("span", "duration")
MONEY = Kind("money", "decimal(2)")
LIST = Kind("list", "list")
"""What an aggregate lists, of any kind."""
INTS, BIG_INTS, TEXT_LIST = (Kind(f"[{one.name}]", "list", (one,)) for one in (SMALL, BIG, TEXT))
LISTS = (INTS, BIG_INTS, TEXT_LIST)

WIDER: Mapping[Kind, tuple[Kind, ...]] = {BIG: (SMALL,), WILD: (TAME,)}
"""Which kinds may stand where another one is wanted, beside itself."""

PLAIN = (SMALL, BIG, TAME, WILD, TEXT, BOOL)
TIMED = (DATE, MOMENT, SPAN, MONEY)
SCALARS = (*PLAIN, *TIMED)
"""Those with constants."""


def pair_of(first: Kind, second: Kind) -> Kind:
    return Kind(f"({first.name}, {second.name})", "pair", (first, second))


def is_readable(kind: Kind) -> bool:
    """Tells whether rules may bind a variable to a value of the kind."""
    return kind not in (NEAR, LIST)


BIGS = (
    *(2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), 2**62, -(2**62) - 1, 10**18),
    *(2**31, -(2**31) - 1, 3037000500, 65536, 255, -1, 0, 1, 7, 10, 100),
)
WILDS = (
    *(0.0, -0.0, 5e-324, -5e-324, 2.2250738585072014e-308, 2.225073858507201e-308, 1e-308),
    *(1e308, -1e308, 1.7976931348623157e308, 1e16, 1e22, 1e-5, 1e-7, 123456789.125, 4503599627370495.5),
    *(0.1, 0.2, 0.30000000000000004, 0.7999999999999999, 1 / 3, 1.005, 2.675, 1.115, 0.285, -1.005),
    *(0.49999999999999994, 0.5, -0.5, 1.5, 2.5, -2.5, 3.5, 100.0, 9007199254740992.0, 9007199254740994.0),
    *(9.223372036854775e18, 9.223372036854776e18, -9.223372036854776e18, 710.0, -745.2),
)
TEXTS = (
    *("", "a", "b", "ab", "A", "aa", "\u00e9", "e\u0301", "😀", "a😀b", "👨‍👩‍👧", "ａ", "\ufffd"),
    *("ß", "İ", "ı", "Σ", "ΑΣ", "ς", "ﬁ", "\u212a", "ǅ", "STRASSE"),
    *(".*", "a+b", "[x]", "\\d", "(", "a.b", "%", "_", "$1", "fo{x}b"),
    *("12", " 12 ", "1 2", "007", "-3", "+5", "0.1", "1e3", "1e400", ".5", "5.", "9223372036854775808", "1_000", "٣"),
    *("NaN", "inf", "null", "true", "x" * 300, "a\nb", "a\n", "\t", 'say "x"', "it's", "a\0b", " "),
)


DATES = tuple(
    date(*parts)
    for parts in ((1, 1, 1), (9999, 12, 31), (1969, 12, 31), (1970, 1, 1), (2024, 2, 29), (2023, 2, 28), (2026, 1, 5))
) + tuple(date(*parts) for parts in ((2020, 12, 31), (2021, 1, 3), (1900, 3, 1), (2000, 10, 31), (999, 6, 15)))
MOMENTS = (
    *(datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999), datetime(1970, 1, 1), datetime(2026, 1, 5)),
    *(datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(2024, 2, 29, 23, 30), datetime(2021, 1, 3, 12, 0, 0, 1)),
    *(datetime(2026, 3, 29, 2, 30), datetime(1582, 10, 10, 6, 7, 8), datetime(2026, 1, 5, 10, 30)),
)
SPANS = (
    *(timedelta(0), timedelta(microseconds=1), timedelta(microseconds=-1), timedelta(days=1), timedelta(days=-1)),
    *(timedelta(days=31), timedelta(hours=23, minutes=59), timedelta(seconds=90), timedelta(days=400, microseconds=5)),
    *(timedelta(microseconds=2**63 - 1), timedelta(microseconds=-(2**63)), timedelta(microseconds=2**53 + 1)),
)
MONIES = tuple(
    map(
        Decimal,
        (
            *("0.00", "0.01", "-0.01", "0.10", "1.00", "2.50", "-2.50", "0.99", "1234567.89"),
            *("92233720368547758.07", "-92233720368547758.08", "90071992547409.93"),
        ),
    )
)


@dataclass(frozen=True, slots=True)
class Pools:
    """The values of one program."""

    random: Random
    values: Mapping[Kind, tuple[Scalar, ...]]

    def one(self, kind: Kind) -> Scalar:
        return self.random.choice(self.values[kind])

    def constant(self, kind: Kind) -> Const:
        return Const(self.one(kind))


def pools(random: Random) -> Pools:
    values: dict[Kind, tuple[Scalar, ...]] = {
        SMALL: tuple(range(random.choice((4, 6, 10)))),
        BIG: tuple(random.sample(BIGS, 6)),
        TAME: tuple(random.sample((0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 2.5, -0.0), 5)),
        WILD: tuple(random.sample(WILDS, 6)),
        TEXT: tuple(random.sample(TEXTS, 6)),
        BOOL: (False, True),
        DATE: tuple(random.sample(DATES, 5)),
        MOMENT: tuple(random.sample(MOMENTS, 5)),
        SPAN: tuple(random.sample(SPANS, 5)),
        MONEY: tuple(random.sample(MONIES, 5)),
    }
    return Pools(random, values)
