"""What columns of random programs hold, finer than types: a generator has to know which ints may grow large.

Every program draws its values from a few of each kind, so that joins find partners, and most of them are hostile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from tests.crosscheck.programs import Const


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
LIST = Kind("list", "list")

WIDER: Mapping[Kind, tuple[Kind, ...]] = {BIG: (SMALL,), WILD: (TAME,)}
"""Which kinds may stand where another one is wanted, beside itself."""

PLAIN = (SMALL, BIG, TAME, WILD, TEXT, BOOL)


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


@dataclass(frozen=True, slots=True)
class Pools:
    """The values of one program."""

    random: Random
    values: Mapping[Kind, tuple[bool | int | float | str, ...]]

    def one(self, kind: Kind) -> bool | int | float | str:
        return self.random.choice(self.values[kind])

    def constant(self, kind: Kind) -> Const:
        return Const(self.one(kind))


def pools(random: Random) -> Pools:
    values: dict[Kind, tuple[bool | int | float | str, ...]] = {
        SMALL: tuple(range(random.choice((4, 6, 10)))),
        BIG: tuple(random.sample(BIGS, 6)),
        TAME: tuple(random.sample((0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 2.5, -0.0), 5)),
        WILD: tuple(random.sample(WILDS, 6)),
        TEXT: tuple(random.sample(TEXTS, 6)),
        BOOL: (False, True),
    }
    return Pools(random, values)
