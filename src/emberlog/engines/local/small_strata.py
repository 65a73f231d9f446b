"""Computes strata in this process for an engine whose own machinery costs more than they do, as long as they are small.

A job of Spark takes half a second however little there is to do. What such a stratum reads is here or is brought here,
and the backend of this process computes it, within bounds: a stratum that passes one of them is given back.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from emberlog.config import WHERE_DRIVER_IS, Bounds, Execution, Limits
from emberlog.diagnostics import EmberlogError
from emberlog.engines.experience import Experience
from emberlog.engines.interpreter.limits import NotSmall
from emberlog.engines.local.run import FEW_DERIVED, FEW_HANDLED, MANY_READ, LocalBackend, planner_of
from emberlog.engines.recording import Recording
from emberlog.engines.runner import Outcome, Runner
from emberlog.events import Event, ExecutorChosen, Listener
from emberlog.io.local_relation import LocalRelation
from emberlog.logical.nodes import Definition, LogicalPlan, PlannedStratum
from emberlog.logical.statistics import Statistics
from emberlog.logical.summary import counted
from emberlog.logical.traverse import relation_columns
from emberlog.source import Span
from emberlog.workers.plan.faults import Refused

if TYPE_CHECKING:
    from emberlog.engines.local.kept import KeptInputs
    from emberlog.engines.local.left_off import LeftOff


class PassedBound(Exception):
    """Says which bound a stratum passed, and holds what was computed of it."""

    def __init__(self, why: str, *, is_known: bool = False, found: LeftOff | str = "") -> None:
        """`is_known` if that is known from an earlier run, and nothing was computed. `found` may say why what was found
        is lost, which is little: the bounds see to that."""
        super().__init__(why)
        self.is_known = is_known
        self.left_off = None if isinstance(found, str) else found
        self.why_lost = found if isinstance(found, str) else ""


class SmallStrata:
    """Computes small strata of one plan, and keeps their relations for those that read them."""

    def __init__(
        self,
        plan: LogicalPlan,
        limits: Limits,
        listener: Listener,
        execution: Execution,
        places: Mapping[str, Span],
        bounds: Bounds | None,
        experience: Experience | None = None,
        kept: KeptInputs | None = None,
    ) -> None:
        """`bounds` are None where somebody asked for this process, whatever it takes. `experience` is what earlier runs
        learnt, `kept` what they read."""
        own = replace(execution, executor="auto")
        self.bounds = bounds
        self._listener = listener
        self._why = ""
        interprets = not execution.asks_for_workers
        self._experience = experience or Experience()
        self._plan = plan
        self._backend = _BoundedBackend(
            plan, limits, self._tell, own, places, interprets, bounds, self._experience, kept
        )
        self._runner = Runner(plan, self._backend, planner_of(plan, own), self._tell, places)

    def compute(
        self,
        stratum: PlannedStratum,
        relations: Mapping[str, LocalRelation],
        statistics: Statistics,
        rows_left: int | None,
    ) -> Outcome[LocalRelation]:
        """Computes a stratum that reads these relations; raises PassedBound. `rows_left` is how many facts it may have
        by the limits of the run."""
        backend = self._backend
        read = sum(map(len, relations.values()))
        if self.bounds is not None and self._experience.is_too_large(self._plan, stratum.index, WHERE_DRIVER_IS, read):
            raise PassedBound(f"it was too large {WHERE_DRIVER_IS} when it ran before", is_known=True)
        backend.relations.update(relations)
        backend.rows_left = rows_left
        self._why = f"reads {counted(read, 'fact')}"
        self._runner.refinement.statistics = statistics
        try:
            outcome = self._runner.computed(stratum)
        except NotSmall:
            self._experience.outgrew(self._plan, stratum.index, WHERE_DRIVER_IS, read)
            why = f"it is more than the interpreter does {WHERE_DRIVER_IS}"
            raise PassedBound(why, found="the interpreter keeps nothing that others could go on with") from None
        except EmberlogError as error:
            passed = backend.passed(error.diagnostics[0].code)
            if passed is None:
                raise
            if error.diagnostics[0].code != "DL512":  # a first run takes longer than those after it
                self._experience.outgrew(self._plan, stratum.index, WHERE_DRIVER_IS, read)
            raise PassedBound(f"{passed} {WHERE_DRIVER_IS}", found=backend.found(error.diagnostics[0].code)) from None
        backend.take(stratum, outcome)
        return outcome

    def answer(self, relation: str, facts: LocalRelation) -> LocalRelation:
        """Returns those facts of an output that the queries ask for."""
        self._backend.relations[relation] = facts
        return self._backend.answer(relation)

    def _tell(self, event: Event, /) -> None:
        if isinstance(event, ExecutorChosen):
            how = event.how.replace("in this process", WHERE_DRIVER_IS) if "in this process" in event.how else None
            event = replace(event, executor="driver", how=how or f"{event.how} {WHERE_DRIVER_IS}", why=self._why)
        self._listener(event)


class _BoundedBackend(LocalBackend):
    """Computes strata in this process, and gives up where they pass a bound."""

    def __init__(
        self,
        plan: LogicalPlan,
        limits: Limits,
        listener: Listener,
        execution: Execution,
        places: Mapping[str, Span],
        interpret_small: bool,
        bounds: Bounds | None,
        experience: Experience,
        kept: KeptInputs | None,
    ) -> None:
        recording: Recording[LocalRelation] = Recording()
        super().__init__(plan, {}, limits, listener, execution, places, interpret_small, recording, kept, experience)
        self.lasting = frozenset(plan.inputs)
        self.bounds = bounds
        self.rows_left: int | None = None
        self.most_facts = 0
        self._of_run = limits
        self._end = None if limits.timeout is None else self.timed_from + limits.timeout

    def begin(self, stratum: PlannedStratum) -> None:
        super().begin(stratum)
        if self.bounds is None:
            return
        self.most_facts = self.bounds.facts_of(max(map(len, relation_columns(stratum.root).values())))
        rows = self.most_facts if self.rows_left is None else min(self.most_facts, self.rows_left)
        now = time.monotonic()
        ends = [self.bounds.seconds, None if self._end is None else max(self._end - now, 0.001)]
        left = min((end for end in ends if end is not None), default=None)
        self.limits = replace(self._of_run, max_rows=rows, timeout=left)
        self.timed_from = now

    def passed(self, code: str) -> str | None:
        """Says which bound an error is about; None if it is an error of the program, or a limit of the run."""
        if self.bounds is None:
            return None
        is_own = self.rows_left is None or self.most_facts < self.rows_left
        said = {
            "DL511": f"it derives more than {self.most_facts:,} facts" if is_own else None,
            "DL512": None if self.bounds.seconds is None else f"it takes more than {self.bounds.seconds:g} s",
            "DL514": "it needs more memory than there is",
        }
        return said.get(code)

    def found(self, code: str) -> LeftOff | str:
        """Returns what workers found before an error of this code ended them; or why that is lost."""
        if self.job is None or code == "DL514":
            return "it ended in the middle of an iteration"
        from emberlog.engines.local.left_off import left_off

        team, self.job = self.job.team, None
        return left_off(team)

    def compute(self, stratum: PlannedStratum, refused: Refused | None) -> Outcome[LocalRelation]:
        if self.bounds is not None:
            # Workers were asked first; a query of Spark takes longer to begin than the interpreter for so many rows.
            most = FEW_HANDLED if isinstance(stratum.root, Definition) else MANY_READ
            if self._read_rows(stratum.root) > most:
                raise NotSmall
            self.progress.most_facts = FEW_DERIVED
        return super().compute(stratum, refused)
