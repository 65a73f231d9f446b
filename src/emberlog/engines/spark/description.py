"""How a plan will be run where Spark does not just run a query, and why, in words: what `explain` says of it."""

from __future__ import annotations

from collections.abc import Iterator

from emberlog.config import DEFAULT_EXECUTION, ON_ONE_MACHINE, WHERE_DRIVER_IS, Bounds, Execution
from emberlog.logical.needed_strata import needed_strata
from emberlog.logical.nodes import Definition, LogicalPlan
from emberlog.optimize.derived_statistics import with_relations_of
from emberlog.semantics.model import RecursionCase
from emberlog.workers.plan.factored import DoesNotFactor, factor
from emberlog.workers.plan.mode import Mode, needs_rounds
from emberlog.workers.plan.multiway import multiway_of
from emberlog.workers.plan.placement import Placement, has_one_group
from emberlog.workers.plan.split_rule_by_location import located_rules
from emberlog.workers.plan.static_placement import NO_HOME
from emberlog.workers.plan.worker_plan import WorkerPlan, WorkerPlanner, WorkerStratum, room_for_copies

_MODES = {
    Mode.DECOMPOSED: "decomposed, no exchange",
    Mode.BSP: "bsp, an exchange after each round",
    Mode.ASYNC: "async, no rounds",
}


def planner_of(
    plan: LogicalPlan,
    execution: Execution = DEFAULT_EXECUTION,
    *,
    without_data: bool = False,
    memory: int | None = None,
) -> WorkerPlanner:
    """Makes the planner of a run on Spark, where relations without recursion are queries that nobody has run yet.
    `memory` is what each worker has, as far as it is known."""
    strata, _ = needed_strata(plan)
    return WorkerPlanner(
        strata,
        plan.outputs,
        execution,
        functions=plan.functions,
        without_data=without_data,
        room_for_copies=None if execution.workers == 1 else room_for_copies(execution.memory or memory),
    )


def described(
    plan: LogicalPlan, planner: WorkerPlanner | None = None, bounds: Bounds = ON_ONE_MACHINE
) -> tuple[str, ...]:
    """Returns some lines for each stratum that is recursive or a join for the workers, those after the first indented.
    What ran already is described as it was planned then."""
    planner = planner or planner_of(plan, without_data=True)
    lines: list[str] = []
    expected = plan.statistics
    for stratum in planner.strata:
        expected = with_relations_of(stratum, expected) if expected else expected
        names = ", ".join(stratum.relations)
        if stratum.relations in planner.elsewhere:
            lines.append(f"{names}: {planner.elsewhere[stratum.relations]}")
            continue
        if isinstance(stratum.root, Definition):
            program = planner.compiled(stratum, expected).program if expected else None
            if program is not None and (multiway := multiway_of(program, expected)) is not None:
                worker_plan = planner.plan(stratum, expected)
                lines.append(f"{names}: cyclic executor, one job; {multiway.why}")
                lines += (f"  {line}" for line in _of_definition(worker_plan))
            continue
        if reasons := planner.compiled(stratum, expected).obstacles:
            lines.append(f"{names}: dataframe executor, a series of jobs; {'; '.join(reasons)}")
            continue
        lines.append(f"{names}: cyclic executor, one job")
        worker_plan = planner.plan(stratum, expected)
        if stratum.relations in planner.begun:
            lines.append(f"  begun {WHERE_DRIVER_IS}: {planner.begun[stratum.relations]}")
        lines += (f"  {line}" for line in _of_plan(worker_plan))
    if len(planner.elsewhere) < len(lines) and runs_small_strata(planner.execution):
        lines.append(f"a stratum that {bounds} is computed {WHERE_DRIVER_IS} instead, without a job")
    return tuple(lines)


def runs_small_strata(execution: Execution) -> bool:
    """Tells whether what is small may be computed in the driver's process."""
    return execution.executor == "auto" and not execution.asks_for_workers


def _of_definition(worker_plan: WorkerPlan) -> list[str]:
    return [f"partitioning: {_partitioning(worker_plan, worker_plan.main.placement)}", *_beside(worker_plan)]


def _of_plan(worker_plan: WorkerPlan) -> list[str]:
    placement = worker_plan.main.placement
    lines = [f"mode: {_MODES[placement.mode]}; {placement.why}", f"without rounds: {_without_rounds(worker_plan.main)}"]
    lines.append(f"partitioning: {_partitioning(worker_plan, placement)}")
    lines.append(f"placement: by {worker_plan.partition_choice.kind.value}; {worker_plan.partition_choice.why}")
    lines += (f"located: {line}" for line in _exchanges(worker_plan.main) if not placement.is_decomposed)
    lines.append(f"representation: {_representation(worker_plan.main)}")
    if worker_plan.splittable:
        names = ", ".join(sorted(worker_plan.splittable))
        lines.append(f"hot keys: rows of a key of {names} that has very many go to all workers")
    if worker_plan.has_texts:
        lines.append(f"texts: {_texts(worker_plan)}")
    return lines + _beside(worker_plan)


def _beside(worker_plan: WorkerPlan) -> list[str]:
    lines = []
    beside = [one.program.relations[0].name for one in worker_plan.strata if not one.is_main]
    if beside:
        lines.append(f"in the same job: {', '.join(beside)}")
    if worker_plan.streamed:
        lines.append(f"never written out: {', '.join(sorted(worker_plan.streamed))}")
    return lines


def _texts(worker_plan: WorkerPlan) -> str:
    reader = worker_plan.reads_letters
    if reader is None:
        return "spread by their hashes, and asked for when results are written"
    return f"all on every worker, because {reader} looks into them"


def _without_rounds(stratum: WorkerStratum) -> str:
    reason = needs_rounds(stratum.program)
    return "possible (mode async), facts are only added or improved" if reason is None else f"not possible; {reason}"


def _partitioning(worker_plan: WorkerPlan, placement: Placement) -> str:
    parts = [f"{name} by column {column + 1}" for name, column in placement.homes.items()]
    parts += [f"{name} also by column {one + 1}" for name, columns in placement.copies.items() for one in columns]
    copied = worker_plan.copied
    for name, column in sorted(worker_plan.spread.items()):
        if name not in worker_plan.streamed:
            named = f"a copy of {copied[name]}" if name in copied else name
            parts.append(f"{named} whole on every worker" if column is None else f"{named} by column {column + 1}")
    return "; ".join(parts)


def _exchanges(stratum: WorkerStratum) -> Iterator[str]:
    """Tells, rule by rule, what is joined where its data is, what moves in between, and where the heads go."""
    homes = stratum.placement.homes
    for chain in stratum.placement.rules:
        *moving, last = located_rules(chain, homes)
        yield from (f"{one} {'Sent to every worker' if one.is_for_all else 'Exchanged'}." for one in moving)
        home = homes[chain.relation]
        where = "one worker" if home == NO_HOME else f"{chain.relation} by column {home + 1}"
        yield f"{last} Combined, then exchanged: {where}."


def _representation(stratum: WorkerStratum) -> str:
    if stratum.program.recursion.case is not RecursionCase.SET:
        return "one row for each key; keys in a small range are looked up directly"
    if has_one_group(stratum.program):
        return "rows in a hash table; a single source is closed faster in rounds that all workers share"
    try:
        factored = factor(stratum.program)
    except DoesNotFactor as problem:
        return f"rows in a hash table; {problem}"
    if factored.left and stratum.placement.is_decomposed:
        return "marks or lanes, by a sample of the data; hash if its steps are too many"
    return "rows of bits, if they fit the memory of the workers; else hash"
