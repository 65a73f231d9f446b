"""Texts as hashes that whoever holds one can read back."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from emberlog.workers.store import texts
from emberlog.workers.store.texts import SameHash, TextTable, packed, unpacked

TEXTS = ["", "a", "b", "ab", "ba", "ünïcödé", "🦉", "line\nbreak", "a" * 1000, "\0", "a\0"]


def test_texts_come_back_on_every_worker() -> None:
    one, other = TextTable(), TextTable()
    written = np.array([one.code("written")])
    first = one.encode(pa.chunked_array([TEXTS[:6], TEXTS[2:4]]))
    second = other.encode(pa.chunked_array([TEXTS[4:]]))
    words = [packed(table.since(0)) for table in (one, other)]
    for table in (one, other):
        for part in unpacked(np.concatenate(words)):
            table.add(part)
        assert table.decode(first).to_pylist() == TEXTS[:6] + TEXTS[2:4]
        assert table.decode(second).to_pylist() == TEXTS[4:]
        assert table.decode(written).to_pylist() == ["written"]
    assert first[4] == second[0]


def test_all_texts_differ() -> None:
    assert len(set(TextTable().encode(pa.array(TEXTS)).tolist())) == len(TEXTS)


def test_a_part_of_a_column() -> None:
    column = pa.chunked_array([pa.array(TEXTS).slice(3, 4)])
    table = TextTable()
    lane = table.encode(column)
    assert table.decode(lane).to_pylist() == TEXTS[3:7]
    assert [part.to_pylist() for part in unpacked(packed(pa.array(TEXTS, pa.large_string()).slice(3, 4)))] == [
        TEXTS[3:7]
    ]


def test_no_texts() -> None:
    table = TextTable()
    lane = table.encode(pa.chunked_array([], pa.string()))
    assert table.count == 0
    assert table.decode(lane).to_pylist() == []
    assert table.since(0).to_pylist() == []
    assert [part.to_pylist() for part in unpacked(packed(table.since(0)))] == [[]]


def test_texts_that_come_bit_by_bit() -> None:
    """Each is there once, in the order in which they came, however they lie in memory."""
    dice, table, known = random.Random(5), TextTable(), dict[str, int]()
    for _ in range(300):
        new = [str(dice.randrange(2000)) for _ in range(dice.randrange(20))]
        known.update(zip(new, table.encode(pa.array(new, pa.string())).tolist(), strict=True))
        asked = dice.sample(list(known), len(known) // 2)
        assert table.decode(np.array([known[text] for text in asked], np.int64)).to_pylist() == asked
        assert table.since(0).to_pylist() == list(known)
    assert table.count == len(known) > 1000
    assert table.since(700).to_pylist() == list(known)[700:]


@pytest.mark.parametrize("apart", [True, False])
def test_two_texts_with_one_hash_are_noticed(apart: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "hash_texts", lambda offsets, data, seed: np.zeros(len(offsets) - 1, np.int64))
    table = TextTable()
    if apart:
        table.code("a")
    with pytest.raises(SameHash):
        table.encode(pa.array(["b"] if apart else ["a", "b"]))


@pytest.mark.parametrize("words", [[5], [-1, 0], [1, 9, 0], [1, -3], [2, 4, 2, 0], [1, 8, -1]])
def test_broken_words_are_no_texts(words: list[int]) -> None:
    with pytest.raises(ValueError):
        list(unpacked(np.array(words, np.int64)))


def test_another_seed_gives_other_hashes() -> None:
    assert TextTable(0).encode(pa.array(TEXTS)).tolist() != TextTable(1).encode(pa.array(TEXTS)).tolist()
