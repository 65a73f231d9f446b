"""Finds the tuples that a rule has no value for, so that a query can go on without them.

The slides of a step are evaluated again, with some of the tuples at a time: a group that gives no fault is kept, one
that does is halved. A fault that is there without any new tuple is none of theirs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from emberlog.diagnostics import EmberlogError
from emberlog.language.faults import Fault
from emberlog.streams.plan.slides import Clock
from emberlog.streams.state.backlog import sort_out, times_of
from emberlog.streams.steps.checkpoint import Checkpoint
from emberlog.streams.steps.partitions import Part
from emberlog.streams.steps.quarantine import with_reason
from emberlog.streams.steps.resident_state import State, new_state, restore
from emberlog.streams.steps.spec import Spec, Step

MOST_TRIALS = 200
"""After so many evaluations a group that gives a fault is put aside as a whole."""
VALUE_FAULTS = frozenset({"DL403", *(f"DL{number}" for number in (*range(501, 508), *range(515, 520)))})
"""What an operation has no value for; other errors of a run are limits, and mistakes of the program."""

Tuple = tuple[str, int]
"""The stream of a tuple, and its place among those that wait."""


def is_of_values(error: EmberlogError) -> bool:
    """Tells whether an error says that a rule has no value for what it read."""
    return error.diagnostics[0].code in VALUE_FAULTS


@dataclass
class _Trials:
    """Evaluates the slides of a step with some of the tuples that wait for them."""

    spec: Spec
    step: Step
    waiting: Mapping[str, pa.Table]
    slides: tuple[int, ...]
    count: int = 0

    def fault(self, tuples: Sequence[Tuple]) -> str | None:
        """Returns what these tuples give a rule no value for, if anything; raises what has another cause."""
        self.count += 1
        state = _state_before(self.spec, self.step)
        backlog = self.spec.backlog({name: self._some(name, tuples) for name in self.waiting})
        try:
            for at, arrived in backlog.take(self.slides):
                state.evaluator.advance(self.spec.schedule.slide(at), arrived)
        except EmberlogError as error:
            if not is_of_values(error):
                raise
            first = error.diagnostics[0]
            return f"{first.code}: {first.message}"
        except Fault as fault:
            return f"{fault.code}: {fault.message}"
        return None

    def _some(self, stream: str, tuples: Sequence[Tuple]) -> pa.Table:
        places = sorted(place for name, place in tuples if name == stream)
        return self.waiting[stream].take(pa.array(places, pa.int64()))


def find_culprits(spec: Spec, step: Step, batch: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """Returns the tuples that must be left out of a step, with reasons; none if the fault has another cause."""
    inspected = {stream: spec.inspected(stream, batch.get(stream)) for stream in spec.streams}
    state = _state_before(spec, step)
    clock = step.before.clock if step.before else Clock()
    told = sort_out(spec.schedule, clock, {name: one.good for name, one in inspected.items()})
    state.backlog.add(told.in_time)
    due = state.backlog.due(
        told.clock, to_the_end=step.closes, idle=[one for one in step.idle if not told.in_time[one].num_rows]
    )
    slides = due.slides
    if spec.options.early and due.clock.closed is not None:
        slides = (*slides, due.clock.closed + spec.schedule.distance)
    trials = _Trials(spec, step, state.backlog.tuples, slides)
    if not slides or trials.fault(()) is not None:
        return {}
    order = sorted(
        (time, stream, place)
        for stream, table in trials.waiting.items()
        for place, time in enumerate(times_of(table).tolist())
        if time <= spec.schedule.until(slides[-1])
    )
    kept: list[Tuple] = []
    culprits: list[tuple[Tuple, str]] = []
    groups = [[(stream, place) for _, stream, place in order]]
    while groups:
        group = groups.pop()
        fault = trials.fault([*kept, *group])
        if fault is None:
            kept += group
        elif len(group) == 1 or trials.count >= MOST_TRIALS:
            culprits += ((one, fault) for one in group)
        else:
            groups += [group[len(group) // 2 :], group[: len(group) // 2]]
    return _tables(trials.waiting, culprits)


def _state_before(spec: Spec, step: Step) -> State:
    checkpoint = Checkpoint(spec.location)
    state = new_state(spec, checkpoint, Part())
    if step.before is not None:
        spec = replace(spec, options=replace(spec.options, early=False))
        restore(spec, step, state, checkpoint, step.before, Part())
    return state


def _tables(waiting: Mapping[str, pa.Table], culprits: Sequence[tuple[Tuple, str]]) -> dict[str, pa.Table]:
    found: dict[str, pa.Table] = {}
    for reason in dict.fromkeys(reason for _, reason in culprits):
        for stream, table in waiting.items():
            places = [place for (name, place), why in culprits if name == stream and why == reason]
            if places:
                rows = with_reason(table.take(pa.array(places)), reason)
                found[stream] = pa.concat_tables([found[stream], rows]) if stream in found else rows
    return found
