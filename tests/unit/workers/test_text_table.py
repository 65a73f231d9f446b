"""Texts as hashes that every worker can read back."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from emberlog.workers.store import texts
from emberlog.workers.store.texts import SameHash, TextTable

TEXTS = ["", "a", "b", "ab", "ba", "ünïcödé", "🦉", "line\nbreak", "a" * 1000, "\0", "a\0"]


def test_texts_come_back_on_every_worker() -> None:
    one, other = TextTable(["written"]), TextTable(["written"])
    first = one.encode(pa.chunked_array([TEXTS[:6], TEXTS[2:4]]))
    second = other.encode(pa.chunked_array([TEXTS[4:]]))
    packed = [one.pack(), other.pack()]
    for table in (one, other):
        table.merge(packed)
        assert table.decode(first).to_pylist() == TEXTS[:6] + TEXTS[2:4]
        assert table.decode(second).to_pylist() == TEXTS[4:]
        written = np.array([table.codes(["written"])["written"]])
        assert table.decode(written).to_pylist() == ["written"]
    assert first[4] == second[0]


def test_all_texts_differ() -> None:
    codes = TextTable().codes(TEXTS)
    assert len(set(codes.values())) == len(TEXTS)


def test_a_part_of_a_column() -> None:
    column = pa.chunked_array([pa.array(TEXTS).slice(3, 4)])
    table = TextTable()
    lane = table.encode(column)
    table.merge([table.pack()])
    assert table.decode(lane).to_pylist() == TEXTS[3:7]


def test_no_texts() -> None:
    table = TextTable()
    assert not table.is_used
    lane = table.encode(pa.chunked_array([], pa.string()))
    table.merge([table.pack()])
    assert table.decode(lane).to_pylist() == []


def test_two_texts_with_one_hash_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "hash_texts", lambda offsets, data, seed: np.zeros(len(offsets) - 1, np.int64))
    table = TextTable(["a", "b"])
    with pytest.raises(SameHash):
        table.merge([table.pack()])


def test_another_seed_gives_other_hashes() -> None:
    assert TextTable(seed=0).codes(TEXTS) != TextTable(seed=1).codes(TEXTS)
