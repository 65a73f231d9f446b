"""Proofs and refutations that know the slide they are about: the answers to questions about a stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from emberlog.language.spellings import moment_or_number
from emberlog.provenance.explanation import Proof, Refutation
from emberlog.provenance.model import Goal, ProofTree
from emberlog.provenance.refutations import RefutationTree
from emberlog.provenance.streams.expiry import Certainty, Expiry, Promise
from emberlog.render.outline import Kind, Moment, Node, Outline, SlideNote
from emberlog.render.wording import fact_text
from emberlog.semantics.model import CheckedProgram
from emberlog.streams.evaluate.window_facts import WindowFacts


@dataclass(frozen=True, slots=True)
class Lasting:
    """Says how long a fact will hold, and because of what."""

    promise: Promise
    expiry: Expiry
    times: Mapping[Goal, int]
    """The time of the tuple that stays the longest, for each fact of a stream that the whole proof rests on."""
    leaving: tuple[Goal, ...]
    """Those of these facts that are in the window of the last slide for the last time."""


class StreamProof(Proof):
    """Shows a fact of a slide with the rules and tuples that it follows from, those that last longest."""

    def __init__(self, tree: ProofTree, checked: CheckedProgram, window: WindowFacts, lasting: Lasting) -> None:
        super().__init__(tree, checked)
        self.window = window
        self.lasting = lasting

    @property
    def slide(self) -> datetime | int:
        """Returns the slide that it is about."""
        return moment_or_number(self.window.at, plain_times=self.window.plain_times)

    @property
    def until(self) -> datetime | int | None:
        """Returns the last slide at which the fact holds if no more tuples come; None if it does not expire."""
        until = self.lasting.expiry.until
        return None if until is None else moment_or_number(until, plain_times=self.window.plain_times)

    @cached_property
    def outline(self) -> Outline:
        plain = super().outline
        goals = {(goal.relation, goal.fact): goal for goal in self.lasting.times}
        leaving = []
        for place, node in enumerate(plain.nodes):
            if node.kind in (Kind.INPUT, Kind.OPEN) and node.relation is not None and node.fact is not None:
                goal = goals.get((node.relation, node.fact))
                if goal is not None:
                    self._show_time(node, self.lasting.times[goal])
                if goal in self.lasting.leaving:
                    leaving.append(place)
        note = replace(
            slide_note(self.window, self._promise_text()),
            certainty=self.lasting.promise.certainty.value,
            until=self._shown(self.lasting.expiry.until),
            because=tuple(leaving),
        )
        return Outline(f"{plain.title} at {note.slide}", plain.nodes, plain.checked, note)

    def _show_time(self, node: Node, time: int) -> None:
        node.time, node.until = self._shown(time), self._shown(self.window.last_slide(time))
        if node.kind is Kind.INPUT:
            node.how = f"{node.how} of {node.time}"

    def _shown(self, time: int | None) -> Moment | None:
        return None if time is None else shown_moment(time, plain_times=self.window.plain_times)

    def _promise_text(self) -> str:
        promise, expiry = self.lasting.promise, self.lasting.expiry
        if self.window.schedule.gap is not None:
            return "the session is over, and nothing changes it any more"
        if expiry.until is not None:
            least = "" if expiry.is_sure else "at least "
            holds = f"holds {least}until {self._shown(expiry.until)}{self._reason()}"
        elif self.lasting.times:
            holds = "holds from now on, as nothing leaves without a window"
        else:
            holds = "holds at every slide, as it rests on no tuple of a stream"
        match promise.certainty:
            case Certainty.HOLDS:
                return holds
            case Certainty.UNLESS_BETTER:
                return f"{holds}, unless a better value comes"
            case Certainty.MAY_CHANGE:
                return f"may change with every tuple that comes ({promise.why}); if none comes, it {holds}"

    def _reason(self) -> str:
        if not self.lasting.leaving:
            return ""
        first, *others = self.lasting.leaving
        named = f"{fact_text(first.relation, first.fact)} of {self._shown(self.lasting.times[first])}"
        return f", the last slide whose window has {named}{f' and {len(others):,} more' if others else ''}"


class StreamRefutation(Refutation):
    """Shows what is missing, at a slide, for a fact that is not there."""

    def __init__(self, tree: RefutationTree, checked: CheckedProgram, window: WindowFacts) -> None:
        super().__init__(tree, checked)
        self.window = window

    @property
    def slide(self) -> datetime | int:
        """Returns the slide that it is about."""
        return moment_or_number(self.window.at, plain_times=self.window.plain_times)

    @cached_property
    def outline(self) -> Outline:
        plain, note = super().outline, slide_note(self.window)
        return Outline(f"{plain.title} at {note.slide}", plain.nodes, plain.checked, note)


def slide_note(window: WindowFacts, *lines: str) -> SlideNote:
    if window.schedule.gap is not None:
        end = shown_moment(window.schedule.until(window.at), plain_times=window.plain_times)
        return SlideNote(end, None, (f"session that ended at {end}", *lines))
    slide = shown_moment(window.at, plain_times=window.plain_times)
    begin = window.schedule.since(window.at)
    since = None if begin is None else shown_moment(begin, plain_times=window.plain_times)
    about = f"slide {slide}, " + ("without a window" if since is None else f"window from {since} on")
    return SlideNote(slide, since, (about, *lines))


def shown_moment(time: int, *, plain_times: bool) -> Moment:
    moment = moment_or_number(time, plain_times=plain_times)
    return moment if isinstance(moment, int) else moment.replace(tzinfo=None).isoformat(sep=" ")
