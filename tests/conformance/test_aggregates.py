"""Runs the bags of the conformance table on plain Python and in workers."""

from __future__ import annotations

import pytest

from emberlog import Database, EmberlogError
from emberlog.config import Execution
from emberlog.datatypes import STRING
from emberlog.language.faults import Fault
from emberlog.language.registry import AGGREGATES
from emberlog.language.values import CellValue
from tests.conformance.bags import Bag, Bags, all_bags
from tests.conformance.table import code

TABLE = list(all_bags())
OF_WORKERS = [one for one in TABLE if one.aggregate.lanes and STRING not in one.types]
"""Workers know text by its code alone, and leave aggregates of it to others."""


@pytest.mark.parametrize("bags", TABLE, ids=lambda bags: bags.title)
def test_plain_python(bags: Bags) -> None:
    for bag in bags.bags:
        found: CellValue
        try:
            found = bags.aggregate.of(bag, is_float=str(bags.result) == "float")
        except Fault as fault:
            found = code(fault.code)
        assert bags.agrees(found, bags.expected(bag), bag), (bag, found, bags.expected(bag))


def in_workers(bags: Bags, bag: Bag, workers: int) -> CellValue:
    """The value that workers come to, in a recursion that is over after the first round."""
    width = len(bags.types)
    names = [f"V{place}" for place in range(width)]
    listed = f"({', '.join(names)})" if bags.aggregate.by_key and width == 2 else ", ".join(names) or "_"
    term = f"{bags.aggregate.name}<{listed}>"
    columns = ", ".join(f"{type_} c{place}" for place, type_ in enumerate(bags.types))
    separator = ", " if width else ""
    bound = "" if bags.aggregate.by_key else "@iterations(2)\n"
    program = (
        f"declare n(int k, int i{separator}{columns}). declare never(int k{separator}{columns}). {bound}"
        f"p(K, {term}) :- n(K, _{separator}{', '.join(names)}). "
        f"p(K, {term}) :- p(K, _), never(K{separator}{', '.join(names)})."
    )
    db = Database(engine="local")
    db["n"] = [(0, place, *arguments) for place, arguments in enumerate(bag)]
    db["never"] = []
    try:
        facts = db.datalog(program, execution=Execution(executor="cyclic", workers=workers))["p"].facts
    except EmberlogError as error:
        return code(error.diagnostics[0].code)
    ((_, value),) = facts
    return value


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("bags", OF_WORKERS, ids=lambda bags: bags.title)
def test_workers(bags: Bags, workers: int) -> None:
    for bag in bags.bags[:: 1 if len(bags.bags) < 20 else 7]:
        if not bag or any(None in arguments for arguments in bag):
            continue
        found, expected = in_workers(bags, bag, workers), bags.expected(bag)
        assert bags.agrees(found, expected, bag), (bag, found, expected)


def test_the_table_has_every_aggregate() -> None:
    assert {one.aggregate.name for one in TABLE} == set(AGGREGATES)
