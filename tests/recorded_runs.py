"""Programs run in this process with provenance: what proofs are rebuilt from, on each way to run a recursion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from emberlog.config import DEFAULT_LIMITS, Execution, Limits
from emberlog.engines.local.run import run
from emberlog.engines.recording import Recording
from emberlog.io.local_relation import LocalRelation
from emberlog.io.shelves import Shelf, shelf_of
from emberlog.logical.nodes import Fixpoint, LogicalPlan
from emberlog.optimize.pipeline import plan_program
from emberlog.provenance.questions import Questions
from emberlog.semantics.model import CheckedProgram, Fact
from emberlog.workers.plan.capabilities import obstacles
from emberlog.workers.plan.compile import compile_fixpoint
from emberlog.workers.plan.factored import relations_needed_whole
from tests.local_runs import SETUPS, as_relations

INTERPRETER = "interpreter"

RECORDERS: Mapping[str, Execution] = {
    INTERPRETER: Execution(),
    **{name: execution for name, execution in SETUPS.items() if execution.mode != "async"},
    "hash": Execution(representation="hash"),
    "rows": Execution(representation="rows"),
}


def factors(plan: LogicalPlan) -> bool:
    """Whether the facts of every recursion that workers run can be kept as bits."""
    recursions = [one.root for one in plan.strata if isinstance(one.root, Fixpoint) and not obstacles(one.root)]
    return all(relations_needed_whole(compile_fixpoint(one)) for one in recursions)


def recorded(
    checked: CheckedProgram,
    inputs: Mapping[str, Iterable[Fact]],
    recorder: str,
    limits: Limits = DEFAULT_LIMITS,
    *,
    restricted: bool = False,
) -> Recording[Shelf]:
    """What a run records: of everything that has a part in an answer, or of what its queries demand."""
    plan = plan_program(checked, off=frozenset() if restricted else {"rewrite_demand"}, provenance=True).plan
    execution = RECORDERS[recorder]
    has_nulls = any(None in fact for facts in inputs.values() for fact in facts)
    if execution.representation == "rows" and (has_nulls or not factors(plan)):
        execution = replace(execution, representation="auto")
    recording: Recording[LocalRelation] = Recording()
    run(
        plan,
        as_relations(plan, inputs),
        limits,
        execution=replace(execution, provenance=True),
        interpret_small=recorder == INTERPRETER,
        recording=recording,
    )
    return Recording(
        {name: shelf_of(relation) for name, relation in recording.relations.items()},
        {name: shelf_of(history) for name, history in recording.histories.items()},
    )


def questions_of(
    checked: CheckedProgram, inputs: Mapping[str, Iterable[Fact]], recorder: str, limits: Limits = DEFAULT_LIMITS
) -> Questions:
    """Who answers questions about a run that computed what its queries demand."""
    return Questions(
        checked,
        recorded(checked, inputs, recorder, limits, restricted=True),
        plan_program(checked, provenance=True).demands,
        lambda query: recorded(replace(checked, queries=(query,)), inputs, recorder, limits, restricted=True),
    )
