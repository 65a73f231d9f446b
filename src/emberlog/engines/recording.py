"""What a run with provenance leaves behind: every relation whole, and in which iteration each recursive fact came.

A history has the columns of its relation and the iteration behind them. What its rows are depends on the recursion:
  sets                   each fact once, with the iteration that derived it; 0 for what needs no recursion
  meets, monotone sums   a row for each value that a group had, with the iteration that brought it
  bounded recursion      all facts of each round
A staged recursion has no history: the stage of a fact says when it came.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar, assert_never

from emberlog.semantics.model import CheckedProgram, RecursionCase

Frame = TypeVar("Frame")

ITERATION = "iteration"
"""The last column of a history."""


@dataclass(slots=True)
class Recording(Generic[Frame]):
    relations: dict[str, Frame] = field(default_factory=dict)
    """Inputs too."""
    histories: dict[str, Frame] = field(default_factory=dict)


def recursion_cases(checked: CheckedProgram) -> dict[str, RecursionCase]:
    """Returns the kind of recursion of each recursive relation."""
    return {
        name: stratum.recursion.case
        for stratum in checked.strata
        if stratum.recursion is not None
        for name in stratum.relations
    }


def has_history(case: RecursionCase) -> bool:
    return case is not RecursionCase.STAGED


def what_is_recorded(case: RecursionCase) -> str:
    """Says in words, for `explain`."""
    match case:
        case RecursionCase.SET:
            return "the iteration of each fact"
        case RecursionCase.MEET | RecursionCase.MONOTONE_SUM:
            return "each value of a group, and its iteration"
        case RecursionCase.BOUNDED:
            return "all facts of each round"
        case RecursionCase.STAGED:
            return "nothing, as facts have a stage"
    assert_never(case)


def is_latest(case: RecursionCase) -> bool:
    """Tells whether a fact of the result came in the latest of its rows: a bounded recursion ends with its last round,
    all others keep what they once derived."""
    return case is RecursionCase.BOUNDED


def is_one_with_result(case: RecursionCase) -> bool:
    """Tells whether the rows of the history are the facts of the relation."""
    return case is RecursionCase.SET
