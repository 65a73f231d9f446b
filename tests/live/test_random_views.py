"""Live views of random programs of both generators, against evaluation from scratch after each transaction.

`EMBERLOG_LIVE` sets the number of programs and `EMBERLOG_LIVE_TRANSACTIONS` that of transactions of each;
`python3 dev.py live-full` runs 2,000 programs with 50 transactions.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from emberlog.config import Limits
from emberlog.diagnostics import EmberlogError
from tests.crosscheck.engines import TooLong as NoEnd
from tests.crosscheck.engines import _raw, in_python, patience, read, without_zone
from tests.crosscheck.generate import drawn
from tests.crosscheck.programs import Program
from tests.live.random_views import LIMITS, Pools, Row, TooLong, check_view
from tests.oracle.evaluate import evaluate
from tests.programs import checked, is_limit
from tests.property.programs import FLOATS, INPUTS, INTS, STRINGS, RandomProgram
from tests.property.shapes import programs

PROGRAMS = int(os.environ.get("EMBERLOG_LIVE", "60"))
TRANSACTIONS = int(os.environ.get("EMBERLOG_LIVE_TRANSACTIONS", "12"))
AT_A_TIME = 20
ORACLE_LIMITS = Limits(max_iterations=300, max_rows=200_000, timeout=20)
PATIENCE = 20.0

HOSTILE: Mapping[str, Sequence[Any]] = {
    "int": (0, 1, 2, 3, -1, 2**63 - 1, -(2**63)),
    "float": (0.0, 0.5, -1.5, 1e308, -1e308, 5e-324),
    "string": ("", "a", "b", "é", "ab"),
    "bool": (True, False),
}


def pools_of(program: Program, random: Random) -> Pools:
    """Values that some row has in a column of the same type, a null where the relation has one, and hostile ones."""
    inputs = [one for one in program.inputs if not one.is_inline]
    by_type: dict[str, list[Any]] = {}
    for one in inputs:
        for place, type_ in enumerate(one.types):
            by_type.setdefault(type_, []).extend(row[place] for row in one.rows if row[place] is not None)
    is_hostile = random.random() < 0.3
    columns = {}
    for one in inputs:
        columns[one.name] = [
            [
                *(value for row in one.rows if (value := row[place]) is not None),
                *by_type.get(type_, ()),
                *(HOSTILE.get(type_, ()) if is_hostile else HOSTILE.get(type_, ())[:2]),
                *((None,) if any(row[place] is None for row in one.rows) or is_hostile else ()),
            ]
            or [None]
            for place, type_ in enumerate(one.types)
        ]
    return Pools(columns)


def check_second_generator(seed: int) -> int:
    random = Random(f"live {seed}")
    while True:
        program = drawn(random)
        if not program.registered:
            continue
        meaning = read_or_none(program)
        if meaning is not None:
            break

    def from_scratch(rows: Mapping[str, Sequence[Row]]) -> Mapping[str, frozenset[Row]] | None:
        raw = {name: [tuple(map(_raw, row)) for row in given] for name, given in rows.items()}
        try:
            return in_python(meaning, evaluate(meaning, raw, ORACLE_LIMITS))
        except EmberlogError as error:
            if is_limit(error):
                raise TooLong from None
            return None

    try:
        with patience(PATIENCE):
            return check_view(
                program.text,
                program.registered,
                pools_of(program, random),
                from_scratch,
                random,
                TRANSACTIONS,
                lambda row: tuple(map(without_zone, row)),
            )
    except (TooLong, NoEnd):
        return 0


def read_or_none(program: Program) -> Any:
    try:
        return read(program)
    except EmberlogError:
        return None


@pytest.mark.parametrize("first", range(0, PROGRAMS, AT_A_TIME))
def test_programs_of_the_second_generator(first: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = [check_second_generator(seed) for seed in range(first, min(first + AT_A_TIME, PROGRAMS))]
    assert sum(made) > 0


VALUES = {"int": INTS, "float": FLOATS, "string": STRINGS}


@given(programs(), st.integers(0, 2**32))
@settings(
    max_examples=PROGRAMS,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)
def test_programs_of_the_first_generator(random_program: RandomProgram, seed: int) -> None:
    random = Random(seed)
    program = checked(random_program.text, params={})
    has_nulls = any(None in row for rows in random_program.facts.values() for row in rows)

    def from_scratch(rows: Mapping[str, Sequence[Row]]) -> Mapping[str, frozenset[Row]] | None:
        try:
            return evaluate(program, rows, ORACLE_LIMITS)
        except EmberlogError as error:
            if is_limit(error):
                raise TooLong from None
            return None

    pools = Pools(
        {
            one.name: [[*VALUES[kind], *((None,) if has_nulls and one.name != "road" else ())] for kind in one.types]
            for one in INPUTS
        }
    )
    used = {name: sorted(rows, key=repr) for name, rows in random_program.facts.items() if name in program.inputs}
    assume(used)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check_view(random_program.text, used, pools, from_scratch, random, TRANSACTIONS)
    except TooLong:
        assume(False)


assert LIMITS.max_iterations == ORACLE_LIMITS.max_iterations
