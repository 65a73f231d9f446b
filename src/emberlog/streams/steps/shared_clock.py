"""What partitions tell each other about time: each has seen its share of the tuples, and slides close for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from emberlog.streams.evaluate.partition_evaluator import Swap
from emberlog.streams.plan.slides import Clock
from emberlog.workers.kernels.lanes import Lanes
from emberlog.workers.wire.messages import Mail, Message

_SEEN, _WAITING = 0, 1


def shared_clock(
    swap: Swap, count: int, clock: Clock, waiting: Mapping[int, int], streams: Sequence[str]
) -> tuple[Clock, dict[int, int]]:
    """The clock when all have been heard, and the slides that tuples of anyone wait for, each with the greatest time of
    its tuples."""
    seen = {streams.index(stream): time for stream, time in clock.greatest.items()}
    received = swap([Message((), {_SEEN: _pairs(seen), _WAITING: _pairs(waiting)}) for _ in range(count)])
    for number, time in _greatest(received, _SEEN).items():
        clock = clock.seen(streams[number], time)
    return clock, _greatest(received, _WAITING)


def _pairs(times: Mapping[int, int]) -> Lanes:
    return np.array([*times.items()], np.int64).reshape(-1, 2).T.copy()


def _greatest(received: Mail, channel: int) -> dict[int, int]:
    greatest: dict[int, int] = {}
    for message in received:
        for key, time in message.batches[channel].T.tolist() if channel in message.batches else ():
            greatest[key] = max(time, greatest.get(key, time))
    return greatest
