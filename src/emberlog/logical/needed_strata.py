"""What a program's outputs need: the strata that they reach through scans, and the inputs that these read.

That is a matter of meaning, not of speed: a fault in a rule that nothing needs is nobody's concern, and facts that only
such a rule reads may be missing. So every executor computes these strata and no others, as the oracle
does, and a plan is shown without the rest. Relations of one recursive stratum need each other, so a stratum is kept or
dropped as a whole.
"""

from __future__ import annotations

from dataclasses import replace

from emberlog.logical.nodes import LogicalPlan, PlannedStratum
from emberlog.logical.traverse import relations_read


def needed_strata(plan: LogicalPlan) -> tuple[list[PlannedStratum], set[str]]:
    """Returns the strata that outputs need, in their order, and the names of all relations that have a part in it."""
    names = set(plan.outputs)
    strata: list[PlannedStratum] = []
    for stratum in reversed(plan.strata):
        if names.intersection(stratum.relations):
            strata.insert(0, stratum)
            names |= relations_read(stratum.root)
    return strata, names


def needed_inputs(plan: LogicalPlan) -> list[str]:
    """Lists the inputs without which the outputs of a plan cannot be computed."""
    read = {name for stratum in plan.strata for name in relations_read(stratum.root)}
    return [name for name in plan.inputs if name in read or name in plan.outputs]


def only_what_is_needed(plan: LogicalPlan) -> LogicalPlan:
    """Returns the plan without strata and inputs that no output needs; the same object when there are none."""
    strata, names = needed_strata(plan)
    inputs = {name: columns for name, columns in plan.inputs.items() if name in names}
    if len(strata) == len(plan.strata) and len(inputs) == len(plan.inputs):
        return plan
    return replace(plan, strata=tuple(strata), inputs=inputs)
