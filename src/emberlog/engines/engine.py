"""What a database needs of whoever runs its programs: Spark, or this process."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from emberlog.config import Execution, Limits
from emberlog.engines.recording import Recording, recursion_cases
from emberlog.events import Listener, RuleRound, RuleStep
from emberlog.io.intake import Glance
from emberlog.io.local_relation import LocalRelation
from emberlog.io.shelves import Shelf
from emberlog.io.text_format import TextOptions
from emberlog.logical.nodes import LogicalPlan
from emberlog.logical.statistics import RelationStatistics
from emberlog.semantics.model import CheckedProgram, Column, RecursionCase, Relation
from emberlog.source import Span
from emberlog.workers.plan.worker_plan import WorkerPlanner

Frame = TypeVar("Frame")
"""What a relation is outside: a DataFrame of Spark, or a LocalRelation."""
Recorded = TypeVar("Recorded")
"""What it is inside, while a run goes on and after it."""


@dataclass(frozen=True, slots=True)
class Request:
    """Says which program is to be run, and how."""

    checked: CheckedProgram
    plan: LogicalPlan
    inputs: Sequence[str]
    """The registered relations that it reads."""
    places: Mapping[str, Span]
    """Where each rule stands."""
    limits: Limits
    listener: Listener
    execution: Execution
    planner: WorkerPlanner


class Outputs(Mapping[str, Frame], ABC):
    """Holds the relations that a run gives."""

    @abstractmethod
    def header(self, name: str) -> str:
        """Returns the columns of an output and their types."""

    def at_hand(self, name: str) -> LocalRelation | None:
        """Returns the facts of an output where they are in this process already; None where reading them takes more."""
        return None

    @abstractmethod
    def write(self, folder: str | Path, format: str, *, header: bool, iterations: bool) -> None:
        """Writes every relation into a folder of its own name in this one; with the iteration of each fact, where there
        is a history."""

    def recorded(self, plan: LogicalPlan | None = None) -> Recording[Shelf] | None:
        """Returns all relations of the run and the histories of recursive ones, if it was asked for provenance; or
        those of another plan, which is run on the same inputs for it."""
        return None

    @property
    def histories(self) -> Mapping[str, Frame]:
        """The histories of recursive relations, as people look at them."""
        return {}

    is_closed = False
    """Whether relations can no longer be read."""

    @abstractmethod
    def close(self) -> None:
        """Gives back what the outputs hold."""


class RunOutputs(Outputs[Frame], Generic[Frame, Recorded]):
    """Holds the relations of a run that is over, and what it recorded."""

    def __init__(
        self, checked: CheckedProgram, relations: Mapping[str, Frame], recording: Recording[Recorded] | None
    ) -> None:
        self._known = checked.relations
        self._cases = recursion_cases(checked)
        self._relations = relations
        self._recording = recording

    def __getitem__(self, name: str) -> Frame:
        return self._relations[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._relations)

    def __len__(self) -> int:
        return len(self._relations)

    def write(self, folder: str | Path, format: str, *, header: bool, iterations: bool) -> None:
        histories = self.histories if iterations else {}
        written = {
            name: self._dated(frame, histories[name], self._cases[name]) if name in histories else frame
            for name, frame in self._relations.items()
        }
        self._write(written, folder, format, header=header)

    def recorded(self, plan: LogicalPlan | None = None) -> Recording[Shelf] | None:
        if self._recording is None:
            return None
        recording = self._recording if plan is None else self._rerun(plan)
        return Recording(
            {name: self._shelf(frame) for name, frame in recording.relations.items()},
            {name: self._shelf(frame) for name, frame in recording.histories.items()},
        )

    @property
    def histories(self) -> Mapping[str, Frame]:
        histories = self._recording.histories.items() if self._recording else ()
        return {name: self._history(self._known[name], frame) for name, frame in histories if name in self._known}

    @abstractmethod
    def _history(self, relation: Relation, recorded: Recorded) -> Frame:
        """Returns a history as people look at it."""

    @abstractmethod
    def _rerun(self, plan: LogicalPlan) -> Recording[Recorded]:
        """Runs another plan on the same inputs, and returns what it recorded."""

    @abstractmethod
    def _dated(self, facts: Frame, history: Frame, case: RecursionCase) -> Frame:
        """Returns facts with the iteration in which each came, in a column behind their own. `history` has these facts,
        and perhaps others."""

    @abstractmethod
    def _shelf(self, recorded: Recorded) -> Shelf: ...

    @abstractmethod
    def _write(self, relations: Mapping[str, Frame], folder: str | Path, format: str, *, header: bool) -> None: ...


@dataclass(frozen=True, slots=True)
class Inputs(Generic[Frame]):
    """Holds the registered data that a program reads, in the columns and types that the program sees."""

    relations: Mapping[str, Frame]
    plain_times: bool
    """Whether the times in it are plain numbers."""


@dataclass(frozen=True, slots=True)
class Counted:
    """Holds what was counted in a run, all iterations added."""

    plan: LogicalPlan
    """What was run."""
    nodes: Mapping[int, int]
    """By the identity of a node of the plan, the rows that it gave."""
    facts: Mapping[str, int] = field(default_factory=dict)
    """Of relations, how many there are, where somebody counted them."""
    rounds: tuple[RuleRound, ...] = ()
    """What each rule gave, and each step of it, where workers ran it."""
    steps: tuple[RuleStep, ...] = ()


class Engine(ABC, Generic[Frame]):
    """Keeps the data that people register, and runs programs on it."""

    @abstractmethod
    def register(
        self, name: str, data: object, *, columns: Sequence[str] | None, text: TextOptions, format: str | None
    ) -> None: ...

    @abstractmethod
    def forget(self, name: str) -> None: ...

    @abstractmethod
    def __iter__(self) -> Iterator[str]:
        """Returns the names of what is registered."""

    @abstractmethod
    def original(self, name: str) -> Frame:
        """Returns the data as a person would look at it."""

    @abstractmethod
    def columns(self, name: str, declared: Sequence[Column] | None) -> Sequence[Column] | None:
        """Returns the columns that a program sees, given those that it declares; None if the data says nothing about
        them."""

    @abstractmethod
    def glance(self, name: str) -> Glance:
        """Returns what is known of registered data without reading any."""

    @abstractmethod
    def statistics(self, name: str, relation: Relation) -> RelationStatistics | None:
        """Returns what is known of registered data that a program sees as this relation; found out cheaply or not at
        all."""

    @abstractmethod
    def repeated_rows(self, name: str, relation: Relation) -> int | None:
        """Returns how many rows of registered data are there already; None where that is not known cheaply."""

    @abstractmethod
    def planner(self, plan: LogicalPlan, execution: Execution, *, without_data: bool) -> WorkerPlanner:
        """Makes what plans the strata of a program for workers, each when it is its turn. It may be that the program
        is only explained, `without_data`."""

    @abstractmethod
    def choices(self, plan: LogicalPlan, planner: WorkerPlanner) -> tuple[str, ...]:
        """Says how each stratum is run, and why, a line each. What was run already is told as it was."""

    @abstractmethod
    def run(self, request: Request) -> Outputs[Frame]: ...

    @abstractmethod
    def counted(self, request: Request) -> Counted:
        """Runs a program for the rows that it gives on the way."""

    @abstractmethod
    def inputs(self, checked: CheckedProgram, names: Sequence[str]) -> Inputs[Frame]:
        """Returns the registered data of these names as the program sees it."""

    @abstractmethod
    def close(self) -> None:
        """Forgets everything."""
