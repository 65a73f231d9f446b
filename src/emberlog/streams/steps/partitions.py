"""What the partitions of a step have in common: which slides close, for all of them together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from emberlog.streams.evaluate.incremental import Swap
from emberlog.streams.plan.slides import Clock, Due, due_slides
from emberlog.streams.state.backlog import Backlog
from emberlog.streams.state.sessions import SessionBacklog
from emberlog.streams.steps.spec import Spec, Step
from emberlog.workers.kernels.lanes import Lanes
from emberlog.workers.wire.messages import Mail, Message

_SEEN, _WAITING, _ARRIVED = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Part:
    """Says which of the partitions of a query this is. The first one records what they have in common."""

    number: int = 0
    count: int = 1
    swap: Swap | None = None
    """Exchanges messages with the others; None if there are none."""

    @property
    def is_first(self) -> bool:
        return self.number == 0

    def share(self, table: pa.Table) -> pa.Table:
        begin, end = (table.num_rows * one // self.count for one in (self.number, self.number + 1))
        return table.slice(begin, end - begin)


def due_of_all(
    spec: Spec, step: Step, backlog: Backlog | SessionBacklog, clock: Clock, arrived: Mapping[str, pa.Table], part: Part
) -> Due:
    """Finds the slides that close. Each partition has seen its share of the tuples, and slides close for all of them:
    they tell each other the greatest time that they saw on each stream, the slides that their tuples wait for, and
    which streams gave something."""
    gave = {stream for stream, table in arrived.items() if table.num_rows}
    if part.swap is None or isinstance(backlog, SessionBacklog):
        idle = [stream for stream in step.idle if stream not in gave]
        return backlog.due(clock, to_the_end=step.closes, idle=idle)
    streams = list(spec.streams)
    seen = {streams.index(stream): time for stream, time in clock.greatest.items()}
    batches = {
        _SEEN: _pairs(seen),
        _WAITING: _pairs(backlog.waiting()),
        _ARRIVED: _pairs({streams.index(stream): 1 for stream in gave}),
    }
    received = part.swap([Message((), batches) for _ in range(part.count)])
    for number, greatest in _greatest(received, _SEEN).items():
        clock = clock.seen(streams[number], greatest)
    waiting, all_gave = _greatest(received, _WAITING), _greatest(received, _ARRIVED)
    idle = [stream for stream in step.idle if streams.index(stream) not in all_gave]
    return due_slides(spec.schedule, clock, streams, waiting, to_the_end=step.closes, idle=idle)


def _pairs(times: Mapping[int, int]) -> Lanes:
    return np.array([*times.items()], np.int64).reshape(-1, 2).T.copy()


def _greatest(received: Mail, channel: int) -> dict[int, int]:
    greatest: dict[int, int] = {}
    for message in received:
        for key, at in message.batches[channel].T.tolist() if channel in message.batches else ():
            greatest[key] = max(at, greatest.get(key, at))
    return greatest
