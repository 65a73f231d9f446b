"""Stream programs slide by slide, on each evaluator and by the definition: the batch program on a window's tuples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from emberlog.config import DEFAULT_LIMITS, Limits
from emberlog.io.arrow_values import table_of
from emberlog.io.local_relation import LocalRelation
from emberlog.live.slides import LiveEvaluator, LivePlan
from emberlog.provenance.streams.questions import StreamQuestions
from emberlog.semantics.analysis import analyze
from emberlog.semantics.model import CheckedProgram, Column, Fact, TimeRole
from emberlog.source import Source
from emberlog.streams.evaluate.evaluator import SlideEvaluator
from emberlog.streams.evaluate.incremental import IncrementalEvaluator
from emberlog.streams.evaluate.incremental_plan import incremental_plan
from emberlog.streams.evaluate.simple import SimpleEvaluator, simple_plan
from emberlog.streams.evaluate.window_facts import WindowFacts
from emberlog.streams.plan.batch_program import BatchProgram
from emberlog.streams.plan.maintenance import Maintenance, plan_maintenance
from emberlog.streams.plan.needed_columns import needed_columns
from emberlog.streams.plan.slides import Clock, Due, Schedule, Slide, schedule_of
from emberlog.streams.state.backlog import Backlog, sort_out
from emberlog.syntax.parser import parse
from tests.oracle.evaluate import evaluate

Tuples = Mapping[str, Sequence[Fact]]
"""Of each stream, the time first."""
Answers = Mapping[str, frozenset[Fact]]
MakeEvaluator = Callable[["StreamCase"], SlideEvaluator]

LIMITS = Limits(max_iterations=300, max_rows=5_000)
"""A recursion over floats may go on for ever; with products in it, it soon fills a computer."""

EVALUATORS: Mapping[str, MakeEvaluator] = {
    "simple": lambda case: SimpleEvaluator(simple_plan(case.program, LIMITS), case.static_tables()),
    "incremental": lambda case: case.incremental(limits=LIMITS),
    "incremental-3": lambda case: case.incremental(limits=LIMITS, workers=3),
    "live": lambda case: LiveEvaluator(LivePlan(case.program, LIMITS), case.schedule, case.static_tables()),
}


@dataclass(frozen=True, slots=True)
class StreamCase:
    checked: CheckedProgram
    maintenance: Maintenance
    columns: Mapping[str, Sequence[Column]]
    """Of the inputs as they arrive."""
    schedule: Schedule
    statics: Mapping[str, Sequence[Fact]]

    @property
    def program(self) -> BatchProgram:
        return self.maintenance.program

    def incremental(self, *, limits: Limits = DEFAULT_LIMITS, workers: int = 1) -> IncrementalEvaluator:
        plan = incremental_plan(self.maintenance, limits)
        return IncrementalEvaluator(plan, self.schedule, self.static_tables(), workers=workers)

    def static_tables(self) -> dict[str, pa.Table]:
        return {name: self.table(name, rows) for name, rows in self.statics.items()}

    def table(self, name: str, rows: Sequence[Fact]) -> pa.Table:
        columns = self.columns[name]
        return table_of([column.name for column in columns], [column.type for column in columns], rows)

    def slides(self, tuples: Tuples) -> list[Slide]:
        """Those from the first tuple until the last one is gone; without a window one per time unit."""
        moments = [int(row[0]) for rows in tuples.values() for row in rows if row[0] is not None]  # type: ignore[arg-type]
        if not moments:
            return []
        first, last = self.schedule.slide_of(min(moments)), max(moments) + (self.schedule.size or 0)
        beyond = last + 2 * self.schedule.distance
        return [self.schedule.slide(at) for at in range(first, beyond, self.schedule.distance)]


def stream_case(
    text: str, statics: Mapping[str, Sequence[Fact]] | None = None, iterations: int | None = None
) -> StreamCase:
    return case_of(analyze(parse(Source("p.dl", text)), iterations=iterations), statics)


def case_of(checked: CheckedProgram, statics: Mapping[str, Sequence[Fact]] | None = None) -> StreamCase:
    columns = {name: checked.relations[name].columns for name in checked.inputs}
    schedule = schedule_of(checked, plain_clock=True)
    return StreamCase(checked, plan_maintenance(checked), columns, schedule, statics or {})


def by_definition(case: StreamCase, slide: Slide, tuples: Tuples) -> Answers:
    """The batch program, by the oracle, on the tuples of the window."""
    return evaluate(case.program.checked, {**case.statics, **facts_in_window(case.program, slide, tuples)}, LIMITS)


def usable(case: StreamCase, tuples: Tuples) -> Tuples:
    """Without the rows that have no value where the program needs one, as a query puts them aside."""
    needed = needed_columns(case.checked)
    return {
        name: [row for row in rows if all(row[place] is not None for place in needed[name])]
        for name, rows in tuples.items()
    }


def facts_in_window(program: BatchProgram, slide: Slide, tuples: Tuples) -> dict[str, set[Fact]]:
    """What the streams are to the batch program."""
    facts: dict[str, set[Fact]] = {}
    for name in program.streams:
        window = [row for row in tuples.get(name, ()) if _is_in(slide, row)]
        match program.times[name]:
            case TimeRole.NONE:
                facts[name] = {row[1:] for row in window}
            case TimeRole.ANNOTATION:
                facts[name] = {min(other for other in window if other[1:] == row[1:]) for row in window}
            case TimeRole.ORDINARY:
                facts[name] = set(window)
    return facts


def stream_questions(case: StreamCase, tuples: Tuples, at: int) -> StreamQuestions:
    """About the window of a slide."""
    arrived = {name: case.table(name, tuples.get(name, ())) for name in case.program.streams}
    return StreamQuestions(
        case.checked, WindowFacts(case.schedule, at, arrived, case.static_tables(), plain_times=True)
    )


def _is_in(slide: Slide, row: Fact) -> bool:
    assert isinstance(row[0], int)
    return row[0] <= slide.until and (slide.since is None or slide.since <= row[0])


def by_evaluator(
    case: StreamCase, evaluator: SlideEvaluator, slides: Iterable[Slide], tuples: Tuples
) -> Iterator[Answers]:
    """The answers at each slide; what the changes of all slides add up to is checked on the way."""
    sent = {name: 0 for name in tuples}
    ordered = {name: sorted(rows, key=lambda row: row[0]) for name, rows in tuples.items()}  # type: ignore[arg-type,return-value]
    shown: dict[str, frozenset[Fact]] = {}
    for slide in slides:
        arrived = {}
        for name, rows in ordered.items():
            new = [row for row in rows[sent[name] :] if row[0] <= slide.until]  # type: ignore[operator]
            sent[name] += len(new)
            arrived[name] = case.table(name, new)
        evaluator.advance(slide, arrived)
        answers = {name: facts_of(case, name, table) for name, table in evaluator.answers().items()}
        for name, changes in evaluator.changes().items():
            added, removed = facts_of(case, name, changes.added), facts_of(case, name, changes.removed)
            known = shown.get(name, frozenset())
            assert removed <= known and not added & known, (name, slide, added, removed, known)
            shown[name] = (known - removed) | added
        assert shown == answers, slide
        yield answers


def by_arrival(
    case: StreamCase, evaluator: SlideEvaluator, batches: Iterable[Tuples], delay: int
) -> dict[str, frozenset[Fact]]:
    """The answers, by relation and slide, at each slide that closes while batches of tuples arrive, and when no more
    will come."""
    schedule = replace(case.schedule, delay=delay)
    clock, backlog = Clock(), Backlog(schedule, {name: case.table(name, ()) for name in case.program.streams})
    found: dict[str, frozenset[Fact]] = {}

    def close(due: Due) -> Clock:
        for at, arrived in backlog.take(due.slides):
            evaluator.advance(schedule.slide(at), arrived)
            answers = evaluator.answers().items()
            found.update((f"{name} at {at}", facts_of(case, name, table)) for name, table in answers)
        return due.clock

    for batch in batches:
        told = sort_out(schedule, clock, {name: case.table(name, rows) for name, rows in batch.items()})
        assert not any(late.num_rows for late in told.late.values())
        backlog.add(told.in_time)
        clock = close(backlog.due(told.clock))
    close(backlog.due(clock, to_the_end=True))
    return found


def facts_of(case: StreamCase, name: str, table: pa.Table) -> frozenset[Fact]:
    columns = case.program.checked.relations[name].columns
    facts = LocalRelation([one.name for one in columns], [one.type for one in columns], table).facts
    assert len(facts) == table.num_rows or not columns, f"{name} has a fact twice"
    return facts
