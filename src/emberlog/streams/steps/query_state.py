"""The state of stream queries in a Python worker of Spark, from one micro-batch to the next.

A state is taken out while a step changes it and put back under the name of what the step made of it. A step that fails,
or whose record was never committed, thus leaves nothing behind that a later step could take for its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from emberlog.streams.evaluate.evaluator import SlideEvaluator
from emberlog.streams.state.backlog import Backlog


@dataclass(frozen=True, slots=True)
class State:
    evaluator: SlideEvaluator
    backlog: Backlog
    part: int = 0
    """Which partition of the facts it has."""


_states: dict[str, tuple[str, State]] = {}


def take(query: str, token: str) -> State | None:
    """The state that the step with this token left here, if it did."""
    found, state = _states.pop(query, ("", None))
    return state if found == token else None


def keep(query: str, token: str, state: State) -> None:
    _states[query] = (token, state)


def forget_others(query: str) -> None:
    """A worker is that of one query at a time: what is here of another belongs to one that has ended."""
    for other in _states.keys() - {query}:
        del _states[other]
