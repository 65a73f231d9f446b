"""What a step tells about itself, beside its record; and what the partitions of a step tell together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from emberlog.streams.steps.answers import Told
from emberlog.streams.steps.checkpoint import Record


@dataclass(frozen=True, slots=True)
class Measures:
    """Holds what a step tells about itself, beside its record."""

    part: int
    tuples: int
    late: int
    bad: int
    """The rows that could not be used."""
    expired: int
    told: tuple[Told, ...]
    """The slides, with the sizes of their answers, where these are told whole."""
    arrived: Mapping[str, int]
    """The rows that came, by stream."""
    added: Mapping[str, int]
    removed: Mapping[str, int]
    slide_seconds: tuple[float, ...]
    """How long each slide took, answers written."""
    window_tuples: int
    """The tuples in the log of the checkpoint."""
    state_bytes: int
    is_rebuilt: bool
    """Whether the state was not there, and was made again from the log."""
    seconds: float


def merged(steps: Sequence[tuple[Record, Measures]]) -> tuple[Record, Measures]:
    """Merges what all partitions tell into what one would tell."""
    ordered = sorted(steps, key=lambda one: one[1].part)
    records = [record for record, _ in ordered]
    measures = [one for _, one in ordered]
    totals = [record.totals for record in records]
    record = replace(
        records[0],
        log=tuple(file for one in records for file in one.log),
        outputs=tuple(file for one in records for file in one.outputs),
        quarantine=tuple(file for one in records for file in one.quarantine),
        totals=replace(
            totals[0],
            tuples=sum(one.tuples for one in totals),
            late=sum(one.late for one in totals),
            bad=sum(one.bad for one in totals),
            expired=sum(one.expired for one in totals),
            facts=_summed([one.facts for one in totals]),
        ),
    )
    told = replace(
        measures[0],
        tuples=sum(one.tuples for one in measures),
        late=sum(one.late for one in measures),
        bad=sum(one.bad for one in measures),
        told=tuple(
            (slides[0][0], _summed([sizes for _, sizes, _ in slides]), slides[0][2])
            for slides in zip(*(one.told for one in measures), strict=True)
        ),
        arrived=_summed([one.arrived for one in measures]),
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
