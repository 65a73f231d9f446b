"""Programs run in this process with provenance: what proofs are rebuilt from, on each way to run a recursion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from emberlog.config import DEFAULT_LIMITS, Execution, Limits
from emberlog.executors.local.run import run
from emberlog.executors.recording import Recording
from emberlog.io.arrow_shelves import shelf_of
from emberlog.io.local_relation import LocalRelation
from emberlog.io.shelves import Shelf
from emberlog.optimize.pipeline import plan_program
from emberlog.semantics.model import CheckedProgram, Fact
from tests.local_runs import SETUPS, as_relations

INTERPRETER = "interpreter"

RECORDERS: Mapping[str, Execution] = {
    INTERPRETER: Execution(),
    **{name: execution for name, execution in SETUPS.items() if execution.mode != "async"},
    "hash": Execution(representation="hash"),
    "rows": Execution(representation="rows"),
}


def recorded(
    checked: CheckedProgram, inputs: Mapping[str, Iterable[Fact]], recorder: str, limits: Limits = DEFAULT_LIMITS
) -> Recording[Shelf]:
    plan = plan_program(checked, provenance=True).plan
    recording: Recording[LocalRelation] = Recording()
    run(
        plan,
        as_relations(plan, inputs),
        limits,
        execution=replace(RECORDERS[recorder], provenance=True),
        interpret_small=recorder == INTERPRETER,
        recording=recording,
    )
    return Recording(
        {name: shelf_of(relation) for name, relation in recording.relations.items()},
        {name: shelf_of(history) for name, history in recording.histories.items()},
    )
