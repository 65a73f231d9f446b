"""Texts come back from their numbers, however many are asked for, and also when a number has had another text."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from emberlog.streams.state import stream_texts
from emberlog.streams.state.stream_texts import StreamTexts


@pytest.mark.parametrize("few", [1, 8, 1_000_000])
def test_texts_come_and_go(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_texts, "FEW", few)
    dice, texts = random.Random(7), StreamTexts()
    texts.write(["kept"])
    written = texts.written["kept"]
    held: dict[str, int] = {}
    for step in range(60):
        come = [f"text {dice.randrange(20 * step, 20 * step + 60)}" for _ in range(dice.randrange(1, 50))]
        lane = texts.encode(pa.chunked_array([come]))
        held.update(zip(come, lane.tolist(), strict=True))
        for _ in range(2):
            asked = dice.choices(sorted(held), k=dice.randrange(1, 40))
            numbers = np.array([written, *(held[text] for text in asked)], np.int64)
            assert texts.decode(numbers).to_pylist() == ["kept", *asked]
        if step % 7 == 6:
            held = dict(dice.sample(sorted(held.items()), k=len(held) // 3))
            texts.forget_all_but([np.array(list(held.values()), np.int64)])
            assert len(texts) == len(held) + 1
