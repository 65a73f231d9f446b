"""Lets each batch count once, whatever ends the process and whenever.

Spark gives a batch again, with the same number and the same rows, until it knows that the batch was dealt with. A step
that has its record is never evaluated again: its answers are delivered again from the files that the record names.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from threading import RLock
from typing import Generic, TypeVar

import pyarrow as pa

from emberlog.diagnostics import EmberlogError, fail
from emberlog.streams.steps.checkpoint import Checkpoint, Record
from emberlog.streams.steps.culprits import is_of_values
from emberlog.streams.steps.measures import Measures
from emberlog.streams.steps.silence import Silence
from emberlog.streams.steps.spec import Step

Batch = TypeVar("Batch")


class ExactlyOnce(Generic[Batch]):
    def __init__(
        self,
        checkpoint: Checkpoint,
        evaluate: Callable[[Step, Batch | None], tuple[Record, Measures]],
        deliver: Callable[[Record], None],
        tell: Callable[[Record, Measures], None],
        find_culprits: Callable[[Step, Batch | None], Mapping[str, pa.Table]] = lambda _step, _batch: {},
        silence: Silence | None = None,
    ) -> None:
        """`find_culprits` finds the tuples of a step that a rule has no value for; `silence` knows which streams nobody
        waits for."""
        self._checkpoint = checkpoint
        self._evaluate = evaluate
        self._deliver = deliver
        self._tell = tell
        self._find_culprits = find_culprits
        self._silence = silence
        self._lock = RLock()
        """Held while a step is taken: steps without a batch begin in a thread of their own."""
        self._last = checkpoint.last()

    def resume(self) -> None:
        """Ends what a run before began: the closing of all slides is none of the batches that are given again."""
        number = self._last.step if self._last is not None else -1
        if self._checkpoint.intends_to_close(number + 1):
            self._take(self._step(self._batch, closes=True), None)
        elif self._last is not None and self._last.is_extra:
            self._deliver(self._last)

    def batch(self, number: int, batch: Batch) -> None:
        with self._lock:
            self._batch_in_turn(number, batch)

    def pass_time(self) -> None:
        """Takes a step without a batch if there is a stream more that nobody waits for."""
        with self._lock:
            if self._last is not None and self._silence is not None and self._silence.has_grown():
                self._take(self._step(self._batch, closes=self._silence.is_complete), None)

    def _batch_in_turn(self, number: int, batch: Batch) -> None:
        if number > self._batch:
            self._take(self._step(number), batch)
        elif number == self._batch and self._last is not None:
            self._deliver(self._last)
        else:
            raise fail(
                "DL341",
                f"the input begins again at batch {number:,}, and the checkpoint is at {self._batch:,} already",
                None,
                "a part of the checkpoint was changed or lost; start with a new one",
            )

    def close_all(self) -> None:
        """Closes every slide that tuples wait for."""
        with self._lock:
            step = self._step(self._batch, closes=True)
            self._checkpoint.intend_to_close(step.number)
            self._take(step, None)

    @property
    def _batch(self) -> int:
        return self._last.batch if self._last is not None else -1

    def _step(self, batch: int, *, closes: bool = False) -> Step:
        number = self._last.step + 1 if self._last is not None else 0
        idle = self._silence.idle() if self._silence is not None else ()
        return Step(number, batch, uuid.uuid4().hex, self._last, closes, idle)

    def _evaluated(self, step: Step, batch: Batch | None) -> tuple[Record, Measures]:
        """Evaluates a step, once more without the tuples that a rule has no value for."""
        try:
            return self._evaluate(step, batch)
        except EmberlogError as error:
            culprits = self._find_culprits(step, batch) if is_of_values(error) else {}
            if not culprits:
                raise
        return self._evaluate(replace(step, barred=culprits), batch)

    def _take(self, step: Step, batch: Batch | None) -> None:
        record, measures = self._evaluated(step, batch)
        if batch is None:
            record = replace(record, is_extra=True)
        if self._silence is not None:
            self._silence.heard(measures.arrived)
        self._checkpoint.commit(record)
        self._last = record
        self._deliver(record)
        self._checkpoint.prune(record)
        self._tell(record, measures)
