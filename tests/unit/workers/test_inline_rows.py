"""Rows that go in and out with the stage itself, of all relations in one frame."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from emberlog.datatypes import BOOL, FLOAT, INT, STRING, DataType, list_of, pair_of
from emberlog.workers.kernels.lanes import floats_to_lane
from emberlog.workers.store.texts import TextTable
from emberlog.workers.wire.feeding import lane_of_column
from emberlog.workers.wire.inline_rows import SUMMARY, TAG, InlineLayout, columns_for

PAIR, LIST = pair_of(INT, STRING), list_of(INT)
OUTPUTS: dict[str, tuple[DataType, ...]] = {"far": (INT, PAIR, LIST, PAIR), "near": (PAIR, FLOAT), "is": (BOOL, INT)}


def test_each_type_of_pairs_and_lists_is_a_kind_of_its_own() -> None:
    far, near = columns_for(OUTPUTS["far"]), columns_for(OUTPUTS["near"])
    assert len(set(far)) == 4
    assert near[0] == far[1]
    assert {far[2], far[3]}.isdisjoint(near)
    layout = InlineLayout({}, OUTPUTS)
    assert set(layout.output_columns) == {*far, *near, *columns_for(OUTPUTS["is"])}


def test_they_come_back_as_they_went() -> None:
    texts, layout = TextTable(), InlineLayout({0: OUTPUTS["far"]}, OUTPUTS)
    pairs = [(1, "one"), (2, "two"), (1, "one")]
    lists: list[tuple[int, ...]] = [(), (1, 2), (3,)]
    lanes = [
        np.arange(3),
        texts.encode_values(pairs, PAIR),
        texts.encode_values(lists, LIST),
        texts.encode_values(pairs[::-1], PAIR),
    ]
    batch = layout.result_batch("far", lanes, OUTPUTS["far"], texts)
    other = layout.result_batch(
        "near", [texts.encode_values(pairs[:1], PAIR), floats_to_lane(np.array([0.5]))], OUTPUTS["near"], texts
    )
    told = layout.summary_batch("{}")
    assert batch.schema == other.schema == told.schema
    assert batch.schema.names[:2] == [TAG, SUMMARY]
    (rows,) = layout.collect(iter([told, batch]))[0]
    again = [
        lane_of_column(pa.chunked_array([column]), type_, texts)
        for column, type_ in zip(rows.columns, OUTPUTS["far"], strict=True)
    ]
    assert [lane.tolist() for lane in again] == [lane.tolist() for lane in lanes]
