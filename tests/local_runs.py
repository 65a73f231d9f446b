"""Plans run in this process by the cyclic workers, facts in and facts out: what is compared with the reference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from emberlog.config import DEFAULT_EXECUTION, DEFAULT_LIMITS, Execution, Limits
from emberlog.engines.interpreter.interpreter import read_input
from emberlog.engines.local.run import run
from emberlog.events import Listener, ignore
from emberlog.io.local_relation import LocalRelation
from emberlog.logical.needed_strata import needed_strata
from emberlog.logical.nodes import LogicalPlan, PlannedStratum
from emberlog.logical.statistics import NO_STATISTICS, Statistics
from emberlog.semantics.model import Fact
from emberlog.workers.plan.worker_plan import WorkerPlan, WorkerPlanner

SETUPS: Mapping[str, Execution] = {
    "cyclic-1": Execution(workers=1),
    "cyclic-2": Execution(workers=2, mode="bsp"),
    "cyclic-3": Execution(workers=3, mode="bsp"),
    "cyclic-5": Execution(workers=5, mode="bsp"),
    "decomposed": Execution(workers=3),
    "threads": Execution(workers=2),
}
"""Those without a mode go by rounds where a recursion cannot be decomposed. Workers are planned as those of Spark, each
with a memory of its own; `threads` share one."""


def run_locally(
    plan: LogicalPlan,
    inputs: Mapping[str, Iterable[Fact]],
    limits: Limits = DEFAULT_LIMITS,
    execution: Execution = SETUPS["cyclic-1"],
    listener: Listener = ignore,
) -> dict[str, frozenset[Fact]]:
    """The facts of every output. What the workers cannot run, the plan interpreter does."""
    planner = WorkerPlanner(
        needed_strata(plan)[0],
        plan.outputs,
        execution,
        functions=plan.functions,
        computes_before=False,
        shares_memory=execution == SETUPS["threads"],
    )
    found = run(plan, as_relations(plan, inputs), limits, listener, planner=planner)
    return {name: relation.facts for name, relation in found.items()}


def as_relations(plan: LogicalPlan, inputs: Mapping[str, Iterable[Fact]]) -> dict[str, LocalRelation]:
    return {
        name: LocalRelation([c.name for c in columns], [c.type for c in columns], read_input(name, columns, inputs))
        for name, columns in plan.inputs.items()
        if name in inputs
    }


def plan_workers(
    strata: Sequence[PlannedStratum],
    main: PlannedStratum,
    outputs: Sequence[str],
    execution: Execution = DEFAULT_EXECUTION,
    statistics: Statistics = NO_STATISTICS,
    room_for_copies: int | None = None,
) -> WorkerPlan:
    """Plans one of the strata for workers by itself, whatever its types are."""
    planner = WorkerPlanner(strata, outputs, execution, without_data=True, room_for_copies=room_for_copies)
    return planner.plan(main, statistics)
