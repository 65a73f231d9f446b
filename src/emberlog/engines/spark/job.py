"""Defines what the driver sends to the workers of a job, and what each of them tells when it ends."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from emberlog.config import Execution, Limits
from emberlog.datatypes import DataType
from emberlog.workers.plan.worker_plan import WorkerPlan
from emberlog.workers.wire.feeding import Feed
from emberlog.workers.wire.handshake import Address
from emberlog.workers.wire.inline_rows import InlineLayout
from emberlog.workers.wire.listener import ANY_PORT, Ports

if TYPE_CHECKING:
    from emberlog.engines.spark.task import TaskRun


class Phase(Enum):
    """Names the phases of a worker's life, each at the moment when it begins."""

    READ = "read"
    FIRST_ROUND = "first round"
    EXCHANGE = "exchange"
    """Again before each."""
    CHECKPOINT = "checkpoint"
    """Its files are written, and it is not valid yet."""
    WRITE = "write"
    """Again after each batch of results."""
    RESULT_READ = "result read"
    """Everything is written, and nobody was told so yet."""


class FaultInjector(Protocol):
    """Breaks a worker on purpose. A job has one in tests only."""

    def at(self, phase: Phase, run: TaskRun) -> None:
        """Breaks what it likes of the worker, its process, connections and files."""
        ...


@dataclass(frozen=True, slots=True)
class Output:
    """Holds a relation that somebody reads after the recursion, or its history."""

    relation: str
    types: tuple[DataType, ...]
    """Those of its columns, and of the iteration behind them in a history."""
    is_history: bool = False
    nullable: frozenset[int] = frozenset()
    """The columns that may have nulls."""

    @property
    def coded(self) -> list[int]:
        """Returns the columns whose values are codes of texts."""
        return [place for place, one in enumerate(self.types) if one.is_coded]

    @property
    def title(self) -> str:
        """Returns its name among the outputs of a job, which no other has."""
        return f"history of {self.relation}" if self.is_history else self.relation

    @property
    def names(self) -> list[str]:
        """Returns the names of its columns in files; people see others."""
        return [f"c{index}" for index in range(len(self.types))]


@dataclass(frozen=True, slots=True)
class Job:
    """Holds all that the workers of a run have to know, as it is sent to them."""

    run: str
    worker_plan: WorkerPlan
    feeds: tuple[Feed, ...]
    seed: int
    """Of the hashes of texts."""
    outputs: tuple[Output, ...]
    workers: int
    limits: Limits
    execution: Execution
    memory: int | None
    """Bytes that the facts of each worker may use; None where the worker has to see for itself."""
    memory_from_spark: int | None
    """Bytes that the process of each worker may use, by the settings of Spark; None where they do not tell."""
    tracker: Address | None
    folder: str | None
    """Of the run, where results are written, if workers and driver share one; else they go to Spark as rows."""
    layout: InlineLayout
    known: tuple[Output, ...] = ()
    """What is handed out in place of the results when memory is short: contributions to each relation."""
    attempt: int = 1
    resume: tuple[str | None, ...] = ()
    """For each worker the checkpoint that it goes on from; empty where all begin anew."""
    injector: FaultInjector | None = None
    ports: Ports = ANY_PORT
    """On which workers listen for each other."""
    is_moved: bool = False
    """Whether these checkpoints are of more or fewer workers, and each takes its own rows from all of them."""
    encrypts_files: bool = False
    """Whether what Spark writes to local disks is encrypted: what workers write there is then, too."""

    @property
    def handed_out(self) -> tuple[Output, ...]:
        """Returns all that may be handed out, in the order of folders and tags."""
        return (*self.outputs, *self.known)


class Status(StrEnum):
    """Says how a worker ended. A worker that stops takes the others with it, so of all of them the first of these
    counts: LOST is mostly what those say who miss another one."""

    FAULT = "fault"
    """The program has no value there."""
    NULLS = "nulls"
    """There are nulls where none were expected."""
    UNSEEN = "unseen"
    """Files of an input cannot be read from there."""
    UNFIT = "unfit"
    """The data do not fit into its memory, or into its representation."""
    SAME_HASH = "same hash"
    UNWRITTEN = "unwritten"
    """Results could not be written."""
    UNREACHABLE = "unreachable"
    STALE = "stale"
    """The checkpoint cannot be resumed from."""
    BROKEN = "broken"
    """It met what nobody foresaw."""
    LOST = "lost"
    """Another worker, or the driver, is gone."""
    DONE = "done"


@dataclass(slots=True)
class Summary:
    """Holds what a worker tells when it ends."""

    worker: int
    status: Status = Status.DONE
    code: str = ""
    message: str = ""
    rule: str = ""
    notes: list[str] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    files: dict[str, dict[str, int]] = field(default_factory=dict)
    """Of each output: where its rows are, below the folder of the run, and how many bytes each file has."""
    iterations: int = 0
    bytes_sent: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    peak_bytes: int = 0
    choice: str = ""
    """The representation of facts and why, where there was a choice."""
    spilled: str = ""
    """What was done about a memory that was too short."""
    effort: list[Any] = field(default_factory=list)
    """Of the recursion: seconds busy, seconds waiting, exchanges."""
    profile: list[list[Any]] = field(default_factory=list)
    """By rule, relation and iteration: facts derived, facts kept, seconds."""
    steps: list[list[Any]] = field(default_factory=list)
    """By rule, relation, place and text of a step: rows handed on."""
    unsaved: str = ""
    """Why checkpoints could not be written, if so."""
    nulls: dict[str, list[int]] = field(default_factory=dict)
    """The columns that have nulls although none were expected, by relation."""
    unseen: str = ""
    """The relation whose files cannot be read from here."""

    def to_text(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def read(text: str) -> Summary:
        told = json.loads(text)
        return Summary(**{**told, "status": Status(told["status"])})
