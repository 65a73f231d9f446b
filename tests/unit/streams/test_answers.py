"""How the files of answers look: as people see them."""

from __future__ import annotations

import pyarrow as pa

from emberlog.datatypes import INT, STRING, TIMESTAMP, list_of, pair_of
from emberlog.semantics.model import Column
from emberlog.streams.steps.answers import Layout

MOMENT = pa.timestamp("us", "UTC")
COLUMNS = (Column("Slide", STRING), Column("At", pair_of(TIMESTAMP, list_of(TIMESTAMP))), Column("at", INT))
RIDE = (Column("Ts", TIMESTAMP), Column("Who", STRING))


def layout(*, tells_changes: bool, plain_times: bool) -> Layout:
    return Layout(tells_changes, {"seen": COLUMNS}, {"ride": RIDE}, plain_times)


def test_moments_are_moments_wherever_they_are_and_names_are_different() -> None:
    pair = pa.struct([("first", MOMENT), ("second", pa.list_(MOMENT))])
    assert layout(tells_changes=False, plain_times=False).schema("seen") == pa.schema(
        [("slide_", MOMENT), ("Slide", pa.string()), ("At", pair), ("at_", pa.int64())]
    )
    assert layout(tells_changes=False, plain_times=False).schema("ride_late") == pa.schema(
        [("Ts", MOMENT), ("Who", pa.string())]
    )


def test_plain_times_stay_numbers() -> None:
    pair = pa.struct([("first", pa.int64()), ("second", pa.list_(pa.int64()))])
    assert layout(tells_changes=True, plain_times=True).schema("seen") == pa.schema(
        [("slide_", pa.int64()), ("change", pa.string()), ("Slide", pa.string()), ("At", pair), ("at_", pa.int64())]
    )
