"""How a plan will be run where Spark does not just run a query, and why, in words: what `explain` says of it."""

from __future__ import annotations

from collections.abc import Iterator

from emberlog.executors.cyclic.capabilities import obstacles
from emberlog.executors.cyclic.factored import DoesNotFactor, factor
from emberlog.executors.cyclic.mode import Mode, needs_rounds
from emberlog.executors.cyclic.multiway import multiway_of
from emberlog.executors.cyclic.placement import Placement, has_one_group
from emberlog.executors.cyclic.split_rule_by_location import located_rules
from emberlog.executors.cyclic.stage import Stage, StageStratum, plan_stage
from emberlog.executors.cyclic.static_placement import NO_HOME
from emberlog.logical.nodes import Definition, LogicalPlan
from emberlog.optimize.derived_statistics import with_relations_of
from emberlog.semantics.model import RecursionCase

_MODES = {
    Mode.DECOMPOSED: "decomposed, no exchange",
    Mode.BSP: "bsp, an exchange after each round",
    Mode.ASYNC: "async, no rounds",
}


def described(plan: LogicalPlan) -> tuple[str, ...]:
    """Some lines for each stratum that is recursive or a join for the workers, those after the first indented."""
    lines: list[str] = []
    expected = plan.statistics
    for stratum in plan.strata:
        expected = with_relations_of(stratum, expected) if expected else expected
        names = ", ".join(stratum.relations)
        if isinstance(stratum.root, Definition):
            if (multiway := multiway_of(stratum.root, expected)) is not None:
                stage = plan_stage(plan.strata, stratum, plan.outputs, statistics=expected)
                lines.append(f"{names}: cyclic executor, one job; {multiway.why}")
                lines += (f"  {line}" for line in _of_definition(stage))
            continue
        # Without the data, a type may not be known yet; most data have plain ones.
        if reasons := [one for one in obstacles(stratum.root) if not one.endswith("of type unknown")]:
            lines.append(f"{names}: dataframe executor, a series of jobs; {'; '.join(reasons)}")
            continue
        stage = plan_stage(plan.strata, stratum, plan.outputs, statistics=expected)
        lines.append(f"{names}: cyclic executor, one job")
        lines += (f"  {line}" for line in _of_stage(stage))
    return tuple(lines)


def _of_definition(stage: Stage) -> list[str]:
    return [f"partitioning: {_partitioning(stage, stage.main.placement)}", *_beside(stage)]


def _of_stage(stage: Stage) -> list[str]:
    placement = stage.main.placement
    lines = [f"mode: {_MODES[placement.mode]}; {placement.why}", f"without rounds: {_without_rounds(stage.main)}"]
    lines.append(f"partitioning: {_partitioning(stage, placement)}")
    lines.append(f"placement: by {stage.division.kind.value}; {stage.division.why}")
    lines += (f"located: {line}" for line in _exchanges(stage.main) if not placement.is_decomposed)
    lines.append(f"representation: {_representation(stage.main)}")
    return lines + _beside(stage)


def _beside(stage: Stage) -> list[str]:
    lines = []
    beside = [one.program.relations[0].name for one in stage.strata if not one.is_main]
    if beside:
        lines.append(f"in the same job: {', '.join(beside)}")
    if stage.streamed:
        lines.append(f"never written out: {', '.join(sorted(stage.streamed))}")
    return lines


def _without_rounds(stratum: StageStratum) -> str:
    reason = needs_rounds(stratum.program)
    return "possible (mode async), facts are only added or improved" if reason is None else f"not possible; {reason}"


def _partitioning(stage: Stage, placement: Placement) -> str:
    parts = [f"{name} by column {column + 1}" for name, column in placement.homes.items()]
    parts += [f"{name} also by column {one + 1}" for name, columns in placement.copies.items() for one in columns]
    for name, column in sorted(stage.spread.items()):
        if name not in stage.streamed:
            parts.append(f"{name} whole on every worker" if column is None else f"{name} by column {column + 1}")
    return "; ".join(parts)


def _exchanges(stratum: StageStratum) -> Iterator[str]:
    """Rule by rule, what is joined where its data is, what moves in between, and where the heads go."""
    homes = stratum.placement.homes
    for chain in stratum.placement.rules:
        *moving, last = located_rules(chain, homes)
        yield from (f"{one} {'Sent to every worker' if one.is_for_all else 'Exchanged'}." for one in moving)
        home = homes[chain.relation]
        where = "one worker" if home == NO_HOME else f"{chain.relation} by column {home + 1}"
        yield f"{last} Combined, then exchanged: {where}."


def _representation(stratum: StageStratum) -> str:
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
