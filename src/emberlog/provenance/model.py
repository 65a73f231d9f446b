"""Holds proofs as data: goals, and the step that proves each of them from others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from emberlog.semantics.model import Absent, Bind, CellValue, Compare, Fact, Holds


@dataclass(frozen=True, slots=True)
class Goal:
    """Names a fact, as of an iteration of its recursion."""

    relation: str
    fact: Fact
    iteration: int | None = None
    """The one that derived it; 0 for what needs no recursion, in a staged recursion its stage, None without one."""


@dataclass(frozen=True, slots=True)
class InputFact:
    """Says that the caller supplied the fact."""


@dataclass(frozen=True, slots=True)
class WrittenFact:
    """Says that the fact stands in the program."""

    fact: Fact


@dataclass(frozen=True, slots=True)
class Absence:
    """Says that a negated atom holds: no fact agrees with the pattern, in which None is any value."""

    literal: Absent
    relation: str
    pattern: tuple[CellValue, ...]


@dataclass(frozen=True, slots=True)
class Condition:
    """Says that a comparison, a test or an assignment holds."""

    literal: Bind | Compare | Holds


Premise: TypeAlias = Goal | Absence | Condition


@dataclass(frozen=True, slots=True)
class RuleStep:
    """Applies a rule whose body holds under the bindings; one premise per literal, in the order of the body."""

    rule: str
    bindings: tuple[tuple[str, CellValue], ...]
    premises: tuple[Premise, ...]


@dataclass(frozen=True, slots=True)
class Contributed:
    """Holds what a rule or a written fact adds to an aggregated column: the arguments of the aggregate."""

    arguments: tuple[CellValue, ...]
    by: RuleStep | WrittenFact


@dataclass(frozen=True, slots=True)
class CombinedColumn:
    """Says why an aggregated column has its value."""

    column: int
    function: str
    is_winner: bool
    """Whether one contribution alone decides, as it does for `min`; otherwise all of them do."""
    contributions: tuple[Contributed, ...]
    more: int | None = 0
    """How many contributions are not listed; None for very many."""


@dataclass(frozen=True, slots=True)
class Combination:
    """Explains a fact of an aggregated relation: each of its values, from contributions to its group."""

    columns: tuple[CombinedColumn, ...]


Step: TypeAlias = InputFact | WrittenFact | RuleStep | Combination


def applications(step: Step) -> tuple[RuleStep, ...]:
    """Returns the rules that a step applies."""
    match step:
        case RuleStep():
            return (step,)
        case Combination(columns):
            listed = (one.by for column in columns for one in column.contributions)
            return tuple(dict.fromkeys(one for one in listed if isinstance(one, RuleStep)))
        case _:
            return ()


def goals_of(step: Step) -> tuple[Goal, ...]:
    """Returns the facts that a step rests on, each once."""
    premises = (premise for application in applications(step) for premise in application.premises)
    return tuple(dict.fromkeys(premise for premise in premises if isinstance(premise, Goal)))


@dataclass(frozen=True, slots=True)
class ProofTree:
    """Holds a fact and the steps that lead to it from input facts. No fact is used in its own proof."""

    root: Goal
    steps: Mapping[Goal, Step]
    """The step of every goal, but for those beyond the depth or the number of facts asked for. The root is first."""
