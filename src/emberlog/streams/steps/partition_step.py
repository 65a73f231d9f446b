"""A step that several partitions take together: who has which part, and what all of them tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from emberlog.streams.evaluate.partition_evaluator import Swap
from emberlog.streams.steps.checkpoint import Record
from emberlog.streams.steps.query_state import take
from emberlog.streams.steps.step import Measures, Part, Spec, Step, take_part
from emberlog.workers.wire.messages import Mail, Message

_NONE = -1


def take_step_together(
    spec: Spec, step: Step, share: Mapping[str, pa.Table], number: int, count: int, swap: Swap
) -> tuple[Record, Measures]:
    """The step of worker `number` of `count`, which was given a share of the batch, and enters that.

    A worker takes the part whose state it has. If some state is not there, all of them make theirs again: they number
    texts alike only if they have seen the same.
    """
    found = take(spec.query, step.before.token) if step.before is not None else None
    claim = found.part if found is not None else _NONE
    told = swap([Message((claim,)) for _ in range(count)])
    claims = [message.numbers[0] for message in told]
    if sorted(claims) != list(range(count)):
        found, claims = None, list(range(count))
    part = Part(claims[number], count, _by_part(swap, claims))
    return take_part(spec, step, share, found, part)


def _by_part(swap: Swap, parts: Sequence[int]) -> Swap:
    """Mail is for parts, and connections are between workers."""

    def swapped(mail: Mail) -> Mail:
        received = swap([mail[part] for part in parts])
        ordered = list(received)
        for part, message in zip(parts, received, strict=True):
            ordered[part] = message
        return ordered

    return swapped


def merged(steps: Sequence[tuple[Record, Measures]]) -> tuple[Record, Measures]:
    """What all partitions tell, as that of one."""
    ordered = sorted(steps, key=lambda one: one[1].part)
    records = [record for record, _ in ordered]
    measures = [one for _, one in ordered]
    record = replace(
        records[0],
        log=tuple(file for one in records for file in one.log),
        outputs=tuple(file for one in records for file in one.outputs),
        totals=replace(
            records[0].totals,
            tuples=sum(one.totals.tuples for one in records),
            late=sum(one.totals.late for one in records),
            expired=sum(one.totals.expired for one in records),
            facts=_summed([one.totals.facts for one in records]),
        ),
    )
    told = replace(
        measures[0],
        tuples=sum(one.tuples for one in measures),
        late=sum(one.late for one in measures),
        expired=sum(one.expired for one in measures),
        added=_summed([one.added for one in measures]),
        removed=_summed([one.removed for one in measures]),
        slide_seconds=tuple(map(max, zip(*(one.slide_seconds for one in measures), strict=True))),
        window_tuples=sum(one.window_tuples for one in measures),
        state_bytes=sum(one.state_bytes for one in measures),
        is_rebuilt=any(one.is_rebuilt for one in measures),
        seconds=max(one.seconds for one in measures),
    )
    return record, told


def _summed(counts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    names = dict.fromkeys(name for one in counts for name in one)
    return {name: sum(one.get(name, 0) for one in counts) for name in names}
