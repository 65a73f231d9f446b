"""Lists the bags of the conformance table: contributions to every aggregate, for all types that it takes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from emberlog.datatypes import BOOL, FLOAT, INT, STRING, DataType
from emberlog.language.aggregates import Aggregate
from emberlog.language.registry import AGGREGATES
from emberlog.language.values import CellValue
from tests.conformance.table import code
from tests.oracle.aggregates import aggregate, check_contribution
from tests.oracle.expressions import Fault

Bag = tuple[tuple[CellValue, ...], ...]

COLUMNS: dict[DataType, tuple[tuple[CellValue, ...], ...]] = {
    INT: (
        *((0,), (5, 5, None), (None,), (), (2**63 - 1, 1, -1), (1, -1, 2**63 - 1), (2**63 - 1, 1), (-(2**63), -1)),
        *((2**53 + 1, 1, 1), (-(2**63), 2**63 - 1), (2**62, 2**62, -(2**62), -(2**62)), tuple(range(40))),
    ),
    FLOAT: (
        *((0.5,), (0.1, 0.2, 0.3), (1e16, 1.0, -1e16, 1.0), (1e308, 1e308), (5e-324, 5e-324), (None, 2.5), (None,), ()),
        *((1.7976931348623157e308, 1.0), tuple(i / 10 for i in range(60)), (-1.5, 2.5, 1e-300)),
    ),
    STRING: (("b", "a", "ß", "😀"), ("", "a", None), (None,), (), ("e\u0301", "é"), ("\ue000", "😀")),
    BOOL: ((True, False), (True, True), (False, None), (None,), ()),
}


@dataclass(frozen=True, slots=True)
class Bags:
    """Holds the bags of one aggregate with arguments of certain types."""

    aggregate: Aggregate
    types: tuple[DataType, ...]
    bags: tuple[Bag, ...]

    @property
    def title(self) -> str:
        return f"{self.aggregate.name}<{', '.join(map(str, self.types))}>"

    @property
    def result(self) -> DataType:
        return self.aggregate.result(self.types)

    def expected(self, bag: Bag) -> CellValue:
        try:
            for arguments in bag:
                check_contribution(self.aggregate.name, arguments)
            found = aggregate(self.aggregate, bag)
        except Fault as fault:
            return code(fault.code)
        return float(found) if self.result == FLOAT and isinstance(found, int) else found

    def agrees(self, found: CellValue, expected: CellValue, bag: Bag) -> bool:
        """Tells whether a backend's value is the oracle's, to the precision that the entry states."""
        if not isinstance(found, float) or not isinstance(expected, float):
            return type(found) is type(expected) and found == expected
        values = [abs(float(one[-1])) for one in bag if one[-1] is not None and not isinstance(one[-1], str | tuple)]
        slack = 0.0
        if self.aggregate.is_numeric or self.aggregate.by_key:
            shares = [value / len(values) if self.aggregate.name == "avg" else value for value in values]
            slack = math.fsum(len(values) * 2**-52 * share for share in shares)
        return abs(found - expected) <= slack


def all_bags() -> Iterator[Bags]:
    """Yields every aggregate with every type of arguments that it takes."""
    for one in AGGREGATES.values():
        for count in one.arities:
            for types in product(COLUMNS, repeat=count):
                last = types[-1] if types else INT
                is_number = last in (INT, FLOAT)
                if (one.is_numeric or (one.by_key and count == 2)) and not is_number:
                    continue
                if one.is_of_truth and last != BOOL:
                    continue
                if one.is_limited and types[0] != INT:
                    continue
                yield Bags(one, types, tuple(_bags(types)))


def _bags(types: Sequence[DataType]) -> Iterator[Bag]:
    if not types:
        yield from ((), ((),), ((), (), ()))
    elif len(types) == 1:
        for column in COLUMNS[types[0]]:
            yield tuple((value,) for value in column)
    else:
        for first, second in product(COLUMNS[types[0]], COLUMNS[types[1]]):
            if first and second:
                size = max(len(first), len(second))
                yield tuple((first[i % len(first)], second[(i * 2 + 1) % len(second)]) for i in range(size))
