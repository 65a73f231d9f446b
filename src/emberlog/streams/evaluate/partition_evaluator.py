"""One partition of a stream program's facts, kept up to date together with the others, wherever they are.

Every partition is given a share of the tuples, and tells the others which texts are new in it, so that all number them
alike; facts go to their owners with the mail of the rounds. What is computed anew at every slide needs all facts in one
place, and so do answers that do not come from a stream at all: such programs have one partition.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pyarrow as pa

from emberlog.config import DEFAULT_LIMITS, Limits
from emberlog.datatypes import STRING
from emberlog.semantics.model import CheckedProgram
from emberlog.streams.evaluate.incremental import IncrementalEvaluator
from emberlog.streams.plan.batch_program import BatchProgram, batch_program
from emberlog.streams.plan.maintenance import RESIDENT, Method, plan_maintenance
from emberlog.streams.plan.window import Window
from emberlog.streams.state.stream_worker import StreamWorker
from emberlog.workers.kernels.lanes import Lane, Lanes
from emberlog.workers.wire.messages import Mail, Message, Running

_WORD = 8

Swap = Callable[[Mail], Mail]
"""Gives every partition its message, and gives back what every partition has for this one."""


class PartitionEvaluator(IncrementalEvaluator):
    def __init__(
        self,
        program: BatchProgram,
        window: Window | None,
        statics: Mapping[str, pa.Table],
        limits: Limits = DEFAULT_LIMITS,
        *,
        part: int,
        parts: int,
        tracks_changes: bool = True,
    ) -> None:
        self._part = part
        self._swap: Swap | None = None
        super().__init__(program, window, statics, limits, workers=parts, tracks_changes=tracks_changes)

    def connect(self, swap: Swap) -> None:
        """Connections do not outlive the job of a micro-batch."""
        self._swap = swap

    def _shares(self, arrived: Mapping[str, pa.Table]) -> list[dict[str, Lanes]]:
        """All that has arrived here is the share of this partition."""
        wanted = {name: table for name, table in arrived.items() if name in self._plan.kept}
        self._number_texts(wanted)
        return [{name: self._contributions(name, table) for name, table in wanted.items()}]

    def _number_texts(self, arrived: Mapping[str, pa.Table]) -> None:
        """The new texts of all partitions, in the order of these."""
        columns = [
            table.column(place)
            for name, table in arrived.items()
            for place, field in enumerate(self._arriving[name])
            if field.type == STRING
        ]
        if not columns:
            return
        told = json.dumps(self._texts.unknown(columns)).encode()
        lanes = np.frombuffer(told.ljust(-(-len(told) // _WORD) * _WORD), np.int64)[np.newaxis]
        for message in self._swapped([Message((), {0: lanes}) for _ in range(self._workers)]):
            self._texts.learn(json.loads(message.batches[0].tobytes()))

    def _workers_with_nothing(self) -> list[StreamWorker]:
        return super()._workers_with_nothing()[self._part : self._part + 1]

    def _drive(self, running: list[Running]) -> None:
        (own,) = running
        mail = next(own, None)
        while mail is not None:
            try:
                mail = own.send(self._swapped(mail))
            except StopIteration:
                return

    def _text_lanes(self) -> Iterator[Lane]:
        """The texts of all partitions: what one of them forgets, all forget."""
        own = np.unique(np.concatenate([np.empty(0, np.int64), *super()._text_lanes()]))
        everyone = self._swapped([Message((), {0: own[np.newaxis]}) for _ in range(self._workers)])
        yield from (message.batches[0][0] for message in everyone)

    def _swapped(self, mail: Mail) -> Mail:
        assert self._swap is not None
        return self._swap(mail)


def why_one_partition(checked: CheckedProgram) -> str | None:
    """What keeps the facts of a program in one place; None if nothing does."""
    maintenance = plan_maintenance(batch_program(checked))
    anew = maintenance.names(Method.ANEW)
    if anew:
        return f"{', '.join(anew)} computed anew from all facts at each slide"
    fixed = [name for name in maintenance.checked.outputs if maintenance.choices[name].method not in RESIDENT]
    return f"{', '.join(fixed)} not derived from a stream" if fixed else None
