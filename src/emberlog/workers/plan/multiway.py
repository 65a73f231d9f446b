"""Joins without recursion that the workers should do: their bodies close a cycle, and pair by pair they would explode.

A triangle is the smallest: two of its three joins list every path of length two. Workers intersect instead (see
`closing_joins`), which never lists more than what the cycle's other atoms allow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from emberlog.logical.statistics import Statistics
from emberlog.logical.summary import round_number
from emberlog.optimize.cardinality import NotKnown
from emberlog.optimize.join_order import order_as_given
from emberlog.workers.plan.closing_joins import with_intersections
from emberlog.workers.plan.compile import CyclicProgram
from emberlog.workers.plan.rules import Intersect, Keep, Probe, Start
from emberlog.workers.plan.step_order import estimate_of

MANY_ROWS = 500_000
"""An intermediate result of fewer rows is no trouble for Spark."""

BLOW_UP = 2
"""How many times larger than the largest relation that is read an intermediate result may be."""


@dataclass(frozen=True, slots=True)
class Multiway:
    """A rule whose joins should be done together."""

    rule: str
    variables: tuple[str, ...]
    """Those that are found by intersections."""
    largest: float
    """Rows of the largest intermediate result, joined pair by pair in the best order."""
    read: float

    @property
    def why(self) -> str:
        return (
            f"{self.rule} closes a cycle: pair by pair its joins would list about {round_number(self.largest)} rows "
            f"from {round_number(self.read)}; lists are intersected instead"
        )


def multiway_of(program: CyclicProgram, statistics: Statistics) -> Multiway | None:
    """Returns the rule for whose sake workers should compute a relation without recursion; None where there is none, or
    where nobody knows."""
    found = list(_of_program(program, statistics)) if statistics else []
    return max(found, key=lambda one: one.largest, default=None)


def _of_program(program: CyclicProgram, statistics: Statistics) -> Iterator[Multiway]:
    for chain in program.seeds:
        closed = [step for step in with_intersections(chain, frozenset()).steps if isinstance(step, Intersect)]
        if not closed:
            continue
        atoms = [step.atom for step in chain.steps if isinstance(step, Start | Probe)]
        conditions = [step.condition for step in chain.steps if isinstance(step, Keep)]
        try:
            order = order_as_given([estimate_of(atom, statistics) for atom in atoms], conditions)
        except NotKnown:
            continue
        read = max(statistics[atom.relation].rows for atom in atoms)
        if order.largest > max(MANY_ROWS, BLOW_UP * read):
            yield Multiway(chain.name, tuple(step.variable for step in closed), order.largest, read)
