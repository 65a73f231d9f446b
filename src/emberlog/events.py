"""What a run tells while it goes on: typed events, for progress lines, profiles and tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias


@dataclass(frozen=True, slots=True)
class RunStarted:
    strata: int


@dataclass(frozen=True, slots=True)
class StratumStarted:
    stratum: int
    """Counted from 1, as in plans."""
    relations: tuple[str, ...]
    is_recursive: bool


@dataclass(frozen=True, slots=True)
class ExecutorChosen:
    """Who runs a recursive stratum. It comes again if the first choice turns out not to work."""

    stratum: int
    relations: tuple[str, ...]
    executor: str
    how: str
    """The mode, the number of workers and the like."""
    why: str


@dataclass(frozen=True, slots=True)
class RecursionRetried:
    """A worker of a recursive stratum was lost, and all of them begin again. Iterations may be told a second time."""

    stratum: int
    relations: tuple[str, ...]
    attempt: int
    """The one that begins now: 2 for the first retry."""
    reason: str
    """What became of the attempt before."""
    since: int
    """The iteration of the checkpoint from which it goes on; 0 for the beginning."""


@dataclass(frozen=True, slots=True)
class IterationFinished:
    """One round of a recursive stratum."""

    stratum: int
    relations: tuple[str, ...]
    iteration: int
    delta_rows: int
    """Facts that are new, or whose aggregated value changed."""
    total_rows: int
    """Facts of the stratum so far."""
    seconds: float
    bytes_sent: int = 0
    """Between workers, since the stratum began."""


@dataclass(frozen=True, slots=True)
class RecursionCutOff:
    """The last round of a recursion, as `@iterations` counts them, still changed something."""

    stratum: int
    relations: tuple[str, ...]
    iterations: int
    changed: int
    """Facts that the last round changed."""


@dataclass(frozen=True, slots=True)
class RuleRound:
    """What one rule did in one iteration, on all workers."""

    rule: str
    """Or several, where facts are kept as bits and rules take their steps together."""
    relation: str
    iteration: int
    """0 for what needs no recursion."""
    derived: int | None
    """Rows that the rule gave; None where facts are kept as bits, which are not counted one by one."""
    kept: int
    """Those that were not known where they were derived; workers that exchange facts each know a part of them."""
    seconds: float
    """To derive and to store them; of several workers added up. Where sources are closed one after the other, the
    seconds of all iterations are told with the first one."""


@dataclass(frozen=True, slots=True)
class RuleStep:
    """What one step of a rule handed on to the next, in all iterations, on all workers. A last join whose rows are
    combined one by one hands on nothing, and is not listed."""

    rule: str
    relation: str
    place: int
    """Of the step in the rule, from 0; a rule that reads its recursion twice has steps for each."""
    step: str
    """As a person would write it: `arc(X, Y)`, `X < Y`."""
    rows: int


@dataclass(frozen=True, slots=True)
class RulesProfiled:
    """A stratum of the workers is over, and this is what its rules did. It comes if `Execution.profile` asks for it."""

    stratum: int
    relations: tuple[str, ...]
    rounds: tuple[RuleRound, ...]
    steps: tuple[RuleStep, ...] = ()


@dataclass(frozen=True, slots=True)
class WorkerEffort:
    """What one worker of a recursion did with its time."""

    worker: int
    """Counted from 1."""
    busy: float
    """Seconds in which it derived facts."""
    waiting: float
    """Seconds in which it waited for others, or for mail to be carried."""
    exchanges: int
    """How often it sent something to others: in rounds, once or more for each."""


@dataclass(frozen=True, slots=True)
class StratumFinished:
    stratum: int
    relations: tuple[str, ...]
    iterations: int
    """0 for a stratum without recursion, which is left for Spark to run when someone reads it."""
    rows: int | None
    """None where nobody has counted them."""
    seconds: float
    bytes_sent: int = 0
    """Between workers."""
    representation: str = ""
    """How the cyclic executor kept the facts and why, where it had a choice."""
    workers: tuple[WorkerEffort, ...] = ()
    """Of the cyclic executor."""
    spilled: str = ""
    """What its workers did about a memory that was too short for their facts."""


@dataclass(frozen=True, slots=True)
class RunFinished:
    seconds: float


@dataclass(frozen=True, slots=True)
class TimeSpent:
    """Where the time of a run went that is over, its planning included. Recursive relations are computed by then, and
    others when someone reads them."""

    seconds: Mapping[str, float]
    """Of each part that took any, in the order of a run."""


Event: TypeAlias = (
    RunStarted
    | StratumStarted
    | ExecutorChosen
    | RecursionRetried
    | IterationFinished
    | RecursionCutOff
    | RulesProfiled
    | StratumFinished
    | RunFinished
    | TimeSpent
)


class Listener(Protocol):
    def __call__(self, event: Event, /) -> None: ...


def ignore(_event: Event, /) -> None:
    """The listener of a run that nobody watches."""


def both(one: Listener, other: Listener) -> Listener:
    """Returns a listener that tells two others what it hears."""
    if one is ignore or other is ignore:
        return other if one is ignore else one

    def tell(event: Event, /) -> None:
        one(event)
        other(event)

    return tell
