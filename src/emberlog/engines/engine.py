"""What a database needs of whoever runs its programs: Spark, or this process."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from emberlog.config import Execution, Limits
from emberlog.engines.recording import Recording
from emberlog.events import Listener, RuleRound, RuleStep
from emberlog.io.shelves import Shelf
from emberlog.logical.nodes import LogicalPlan
from emberlog.logical.statistics import RelationStatistics
from emberlog.semantics.model import CheckedProgram, Column, Relation
from emberlog.source import Span
from emberlog.workers.plan.worker_plan import WorkerPlanner

Frame = TypeVar("Frame")
"""What a relation is outside: a DataFrame of Spark, or a LocalRelation."""


@dataclass(frozen=True, slots=True)
class Request:
    """A program that is to be run, and how."""

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
    """The relations that a run gives."""

    @abstractmethod
    def header(self, name: str) -> str:
        """The columns of an output and their types."""

    @abstractmethod
    def write(self, folder: str | Path, format: str, *, header: bool, iterations: bool) -> None:
        """Every relation into a folder of its own name in this one; with the iteration of each fact, where there is a
        history."""

    def recorded(self, plan: LogicalPlan | None = None) -> Recording[Shelf] | None:
        """All relations of the run and the histories of recursive ones, if it was asked for provenance; or those of
        another plan, which is run on the same inputs for it."""
        return None

    @property
    def histories(self) -> Mapping[str, Frame]:
        """The histories, as people look at them."""
        return {}

    @abstractmethod
    def close(self) -> None:
        """Gives back what the outputs hold."""


@dataclass(frozen=True, slots=True)
class Inputs(Generic[Frame]):
    """Holds the registered data that a program reads, in the columns and types that the program sees."""

    relations: Mapping[str, Frame]
    plain_times: bool
    """Whether the times in it are plain numbers."""


@dataclass(frozen=True, slots=True)
class Counted:
    """What was counted in a run, all iterations added."""

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
        self, name: str, data: object, *, columns: Sequence[str] | None, header: bool, format: str | None
    ) -> None: ...

    @abstractmethod
    def forget(self, name: str) -> None: ...

    @abstractmethod
    def __iter__(self) -> Iterator[str]:
        """The names of what is registered."""

    @abstractmethod
    def original(self, name: str) -> Frame:
        """The data as a person would look at it."""

    @abstractmethod
    def columns(self, name: str, declared: Sequence[Column] | None) -> Sequence[Column] | None:
        """The columns that a program sees, given those that it declares; None if the data says nothing about them."""

    @abstractmethod
    def statistics(self, name: str, relation: Relation) -> RelationStatistics | None:
        """What is known of registered data that a program sees as this relation; found out cheaply or not at all."""

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
