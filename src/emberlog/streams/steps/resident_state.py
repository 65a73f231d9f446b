"""The state of a query in the process of a worker, from one micro-batch to the next; and how it is made again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

import pyarrow as pa
import pyarrow.compute as pc

from emberlog.streams.evaluate.changing import ChangingEvaluator
from emberlog.streams.evaluate.evaluator import DeletingEvaluator, SlideEvaluator
from emberlog.streams.evaluate.several_windows import SeveralWindows
from emberlog.streams.plan.slides import Clock
from emberlog.streams.state.backlog import TIME, Backlog
from emberlog.streams.state.copies import net
from emberlog.streams.state.sessions import SessionBacklog
from emberlog.streams.steps.checkpoint import Checkpoint, Record
from emberlog.streams.steps.partitions import Part
from emberlog.streams.steps.spec import Spec, Step

_RESOLVED = " resolved"


@dataclass(frozen=True, slots=True)
class State:
    """Holds what a worker keeps from one micro-batch to the next.

    A state is taken out while a step changes it and put back under the token of that step. A step that fails, or whose
    record was never committed, thus leaves nothing behind that a later step could take for its own."""

    evaluator: SlideEvaluator
    backlog: Backlog | SessionBacklog
    part: int = 0
    """The partition of the facts that it has."""
    parts: int = 1
    """Of so many."""


_states: dict[str, tuple[str, State]] = {}


def take_state(query: str, token: str) -> State | None:
    """Takes out the state that the step with this token left here, if it did."""
    found, state = _states.pop(query, ("", None))
    return state if found == token else None


def keep_state(query: str, token: str, state: State) -> None:
    _states[query] = (token, state)


def forget_other_states(query: str) -> None:
    """Deletes the states of other queries: a worker serves one query at a time, so these have ended."""
    for other in _states.keys() - {query}:
        del _states[other]


def new_state(spec: Spec, checkpoint: Checkpoint, part: Part) -> State:
    nothing = {stream: spec.schema(stream).empty_table() for stream in spec.streams}
    evaluator = spec.make(checkpoint.static_tables(spec.statics), part.number, part.count)
    if spec.changing:
        evaluator = ChangingEvaluator(cast("DeletingEvaluator", evaluator), spec.changing, spec.schedule.size)
    return State(evaluator, spec.backlog(nothing), part.number, part.count)


def restore(spec: Spec, step: Step, state: State, checkpoint: Checkpoint, before: Record, part: Part) -> None:
    """Makes the state after a step from the tuples that its window holds or waits for: an equal share of them. A
    program that has changed may need values that some of them do not have."""

    def kept(stream: str, name: str) -> pa.Table:
        return spec.inspected(stream, checkpoint.log.read(before.log, name, spec.schema(stream))).good

    tuples = {stream: step.without_barred(stream, part.share(kept(stream, stream))) for stream in spec.streams}
    closed = before.clock.closed
    if closed is None or isinstance(state.backlog, SessionBacklog):
        state.backlog.add(tuples)
        if isinstance(state.backlog, SessionBacklog) and closed is not None:
            state.backlog.forget_told(closed)
        return
    state.backlog.closed = closed
    until, had = spec.schedule.until(closed), spec.schedule.had_by_all(closed)
    state.backlog.add({stream: table.filter(pc.greater(table.column(TIME), had)) for stream, table in tuples.items()})
    window = {stream: table.filter(pc.less_equal(table.column(TIME), until)) for stream, table in tuples.items()}
    for stream in spec.changing:
        window[stream] = kept(stream, resolved_name(stream))
    if isinstance(state.evaluator, SeveralWindows):
        state.evaluator.begin_at(before.clock.first)
    state.evaluator.restore(spec.schedule.slide(closed), window)
    if spec.options.early:
        for at, arrived in early_slides(spec, state, before.clock):
            state.evaluator.advance(spec.schedule.slide(at), arrived)


def early_slides(spec: Spec, state: State, clock: Clock) -> Iterator[tuple[int, Mapping[str, pa.Table]]]:
    """Yields the slide that closes next with the tuples for it that are there, if there are some."""
    if clock.closed is None or isinstance(state.backlog, SessionBacklog):
        return
    at = clock.closed + spec.schedule.distance
    if at in state.backlog.waiting():
        yield at, state.backlog.take_early(at)


def resolved_name(stream: str) -> str:
    """Names the changes of a stream in the log that say which copy of a row they are about."""
    return f"{stream}{_RESOLVED}"


def compacted(relation: str, rows: pa.Table) -> pa.Table:
    return net(rows) if relation.endswith(_RESOLVED) else rows
