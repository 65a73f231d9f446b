"""The program of a question about a stream, run once on the tuples of a window.

It is the batch program that defines the answer of a slide, with the times that only annotate facts left out: facts are
told apart by their other columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from emberlog.config import Execution, Limits
from emberlog.engines.local.run import run
from emberlog.engines.recording import Recording
from emberlog.io.arrow_shelves import shelf_of
from emberlog.io.local_relation import LocalRelation
from emberlog.optimize.pipeline import plan_program
from emberlog.provenance.facts import FactBase
from emberlog.semantics.model import CellValue, CheckedProgram, CheckedQuery, Fact
from emberlog.streams.evaluate.window_facts import WindowFacts
from emberlog.streams.plan.batch_program import BatchProgram, batch_program
from emberlog.syntax.ast import Constant, Variable


def question_program(checked: CheckedProgram, relation: str, *, with_time: bool = False) -> BatchProgram:
    """What computes one relation; with its own time, if that is asked for."""
    others = [Variable(f"_{place}") for place in range(2, checked.relations[relation].arity + 1)]
    query = CheckedQuery(
        relation, (Variable("Time" if with_time else "_1"), *others)[: checked.relations[relation].arity]
    )
    return batch_program(replace(checked, queries=(query,)))


class WindowRuns:
    """`program` on the window at its slide, and at later ones if no more tuples come."""

    def __init__(self, program: BatchProgram, window: WindowFacts, limits: Limits) -> None:
        self.program = program
        self.window = window
        self._limits = limits

    def facts(self, relation: str, pattern: Sequence[CellValue], slide: int) -> list[Fact]:
        """Those that agree with the pattern, in which None is any value. No more than these is computed."""
        terms = tuple(
            Constant(value) if isinstance(value, bool | int | float | str) else Variable(f"_{place}")
            for place, value in enumerate(pattern, 1)
        )
        asked = replace(self.program.checked, queries=(CheckedQuery(relation, terms),))
        found = run(plan_program(asked).plan, self._inputs(slide), self._limits, interpret_small=True)[relation].facts
        return [
            fact
            for fact in found
            if all(value is None or value == own for value, own in zip(pattern, fact, strict=True))
        ]

    def recorded(self, slide: int) -> FactBase:
        """All that has a part in the relation that is asked about, with its iterations."""
        recording: Recording[LocalRelation] = Recording()
        run(
            plan_program(self.program.checked, provenance=True).plan,
            self._inputs(slide),
            self._limits,
            execution=Execution(provenance=True),
            interpret_small=True,
            recording=recording,
        )
        shelves = {name: shelf_of(relation) for name, relation in recording.relations.items()}
        histories = {name: shelf_of(history) for name, history in recording.histories.items()}
        return FactBase(self.program.checked, shelves, histories)

    def _inputs(self, slide: int) -> dict[str, LocalRelation]:
        return self.window.inputs(self.program, slide)
