"""Advances a program over streams slide by slide, in this process: rows come from files, or are typed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from emberlog.config import Evaluation
from emberlog.diagnostics import fail
from emberlog.io.arrow_values import table_of
from emberlog.io.local_relation import LocalRelation
from emberlog.provenance.asked import asked_in_text, asked_pattern
from emberlog.provenance.streams.questions import StreamQuestions
from emberlog.semantics.model import CheckedProgram
from emberlog.streams.evaluate.methods import plan_evaluations, slide_evaluator
from emberlog.streams.evaluate.window_facts import WindowFacts
from emberlog.streams.plan.needed_columns import needed_columns
from emberlog.streams.plan.slides import Clock, Slide, schedule_of
from emberlog.streams.plan.window_plans import plan_windows
from emberlog.streams.state.backlog import TIME, Backlog, sort_out
from emberlog.streams.state.sessions import SessionBacklog
from emberlog.streams.steps.quarantine import inspect
from emberlog.studio.answers import LocalAnswer


@dataclass(frozen=True, slots=True)
class SlideShown:
    """Holds what one slide gave."""

    number: int
    at: str
    since: str
    """The beginning of the window; empty without one."""
    arrived: int
    """Rows that came into the window with this slide."""
    held: int
    """Rows in the window."""
    sizes: Mapping[str, tuple[int, int, int]]
    """Facts of each relation, and how many of them were added and removed."""
    answers: Mapping[str, LocalAnswer]
    """Of the last slide, as `added` and `removed` are; earlier slides keep their sizes alone."""
    added: Mapping[str, LocalAnswer]
    removed: Mapping[str, LocalAnswer]

    def without_facts(self) -> SlideShown:
        return replace(self, answers={}, added={}, removed={})


class Slides:
    """Holds a stream query that a person advances by hand."""

    def __init__(self, checked: CheckedProgram, relations: Mapping[str, LocalRelation]) -> None:
        """`relations` are the inputs of the program, streams with their rows among them."""
        self._checked = checked
        streams = {name: one for name, one in relations.items() if checked.relations[name].is_stream}
        self._plain_times = all(one.plain_times for one in streams.values()) if streams else True
        plans = plan_windows(checked)
        self.schedule = schedule_of(checked, plain_clock=self._plain_times)
        self._needed = needed_columns(checked)
        self._statics = {name: one.table for name, one in relations.items() if name not in streams}
        evaluation: Evaluation = "incremental" if self.schedule.gap is None else "simple"
        plan = plan_evaluations(plans, [evaluation] * len(plans.each))
        self._evaluator = slide_evaluator(plan, self.schedule, True, self._statics)
        self._outputs = plans.outputs
        self._window = {name: one.table.slice(0, 0) for name, one in streams.items()}
        columns = {name: [one.name for one in checked.relations[name].columns] for name in streams}
        keys = {name: columns[name].index(self.schedule.key) for name in streams if self.schedule.key}
        self._backlog: Backlog | SessionBacklog = (
            Backlog(self.schedule, self._window)
            if self.schedule.gap is None
            else SessionBacklog(self.schedule, self._window, keys)
        )
        self._clock = Clock()
        self._at: int | None = None
        """The time of the last slide."""
        self.late = 0
        """Rows that came after their slide had closed, or have no value where one is needed."""
        self.shown: list[SlideShown] = []
        for name, one in streams.items():
            self.add(name, one.table)

    @property
    def streams(self) -> tuple[str, ...]:
        return tuple(self._window)

    @property
    def waiting(self) -> int:
        """Counts the rows whose slide has not closed."""
        return sum(table.num_rows for table in self._backlog.tuples.values())

    def add(self, stream: str, table: pa.Table) -> int:
        """Takes rows of a stream; returns how many of them come too late."""
        columns = self._checked.relations[stream].columns
        inspected = inspect(table, columns, self._needed[stream])
        told = sort_out(self.schedule, self._clock, {stream: inspected.good})
        self._clock = told.clock
        self._backlog.add(told.in_time)
        late: int = told.late[stream].num_rows + inspected.bad.num_rows
        self.late += late
        return late

    def add_typed(self, text: str) -> int:
        """Takes rows as a person types them, `ride(7, "a", "b")`, one in each line; returns how many come too late."""
        rows: dict[str, list[tuple[object, ...]]] = {}
        for line in filter(str.strip, text.splitlines()):
            name, values = asked_in_text(line)
            if name not in self._window:
                names = ", ".join(self._window) or "none"
                raise fail("DL441", f"`{name}` is not a stream of the program", None, f"its streams are {names}")
            fact = asked_pattern(self._checked.relations[name], values)
            if None in fact:
                raise fail("DL441", f"`{line.strip()}` leaves a value open", None, "write a constant for each column")
            rows.setdefault(name, []).append(fact)
        late = 0
        for stream, facts in rows.items():
            columns = self._checked.relations[stream].columns
            titles, types = [one.name for one in columns], [one.type for one in columns]
            table = table_of(titles, types, facts)  # type: ignore[arg-type]
            late += self.add(stream, table.cast(self._window[stream].schema))
        return late

    @property
    def next_slide(self) -> int | None:
        """Returns the time of the slide that comes next, or the end of the next session; None where nothing waits and
        the window is empty."""
        if isinstance(self._backlog, SessionBacklog):
            return self._backlog.next_end
        waiting = [at for at in self._backlog.waiting() if self._clock.closed is None or at > self._clock.closed]
        closed, newest, size = self._clock.closed, self._clock.newest, self.schedule.size
        holds = closed is not None and newest is not None and size is not None and newest >= closed - size
        following = [closed + self.schedule.distance] if holds and closed is not None else []
        return min([*waiting, *following], default=None)

    def advance(self) -> SlideShown | None:
        """Closes the next slide, or ends the next session; returns None if there is none."""
        at = self.next_slide
        if at is None:
            return None
        slide = self.schedule.slide(at)
        arrived, came, since = self._session(at) if isinstance(self._backlog, SessionBacklog) else self._slide(slide)
        self._evaluator.advance(slide, arrived)
        # Sessions have no fact in common: what one has is no change of what another had.
        changes = self._evaluator.changes() if self.schedule.gap is None else {}
        answers = {name: self._shown(name, table) for name, table in self._evaluator.answers().items()}
        added = {name: self._shown(name, one.added) for name, one in changes.items()}
        removed = {name: self._shown(name, one.removed) for name, one in changes.items()}
        shown = SlideShown(
            len(self.shown) + 1,
            self._moment(at),
            "" if since is None else self._moment(since),
            came,
            sum(table.num_rows for table in self._window.values()),
            {name: (one.total, _total(added.get(name)), _total(removed.get(name))) for name, one in answers.items()},
            answers,
            added,
            removed,
        )
        self._at = at
        self.shown[-1:] = [one.without_facts() for one in self.shown[-1:]]
        self.shown.append(shown)
        return shown

    def _slide(self, slide: Slide) -> tuple[dict[str, pa.Table], int, int | None]:
        """Closes a slide: returns the rows that some window has not had, how many of them come into the window with
        this slide, and the beginning of that."""
        assert isinstance(self._backlog, Backlog)
        newest = self._backlog.waiting().get(slide.at)
        ((_, arrived),) = self._backlog.take((slide.at,))
        if newest is not None:
            newest = newest if self._clock.newest is None else max(newest, self._clock.newest)
            self._clock = replace(self._clock, newest=newest)
        closed, self._clock = self._clock.closed, replace(self._clock, closed=slide.at)
        came = 0
        for name, table in arrived.items():
            if closed is not None:
                table = table.filter(pc.greater(table.column(TIME), self.schedule.until(closed)))
            came += table.num_rows
            held = pa.concat_tables([self._window[name], table])
            self._window[name] = (
                held if slide.since is None else held.filter(pc.greater_equal(held.column(TIME), slide.since))
            )
        return arrived, came, slide.since

    def _session(self, end: int) -> tuple[dict[str, pa.Table], int, int | None]:
        """Ends a session: returns its rows, how many they are, and the time of the first."""
        ((_, arrived),) = self._backlog.take((end,))
        assert self.schedule.gap is not None
        self._clock = replace(self._clock, closed=end + self.schedule.gap + 1)
        self._window = dict(arrived)
        came = sum(table.num_rows for table in arrived.values())
        return arrived, came, min(pc.min(table.column(TIME)).as_py() for table in arrived.values() if table.num_rows)

    def questions(self) -> StreamQuestions:
        """Returns what answers questions about the last slide, or about the session that ended last."""
        if self._at is None:
            raise fail("DL447", "no slide has closed yet", None, "Advance closes the next one")
        at = self._at if self.schedule.gap is None else self._at + 1  # the first one that has all of the session
        window = WindowFacts(self.schedule, at, self._window, self._statics, self._plain_times)
        return StreamQuestions(self._checked, window)

    def _shown(self, name: str, table: pa.Table) -> LocalAnswer:
        columns = self._outputs[name]
        names, types = [one.name for one in columns], [one.type for one in columns]
        return LocalAnswer(name, LocalRelation(names, types, table, plain_times=self._plain_times))

    def _moment(self, at: int) -> str:
        if self._plain_times:
            return f"{at:,}"
        return moment_text(at)


def _total(answer: LocalAnswer | None) -> int:
    return 0 if answer is None else answer.total


def moment_text(microseconds: int) -> str:
    """Returns a moment as people read it, in UTC."""
    from datetime import UTC, datetime, timedelta

    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)
    return moment.strftime("%Y-%m-%d %H:%M:%S" + (".%f" if microseconds % 1_000_000 else ""))
