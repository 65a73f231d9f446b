"""Drops the strata that no output needs, and the inputs that then nobody reads.

Correct because a stratum has no effect but its relations, and only relations that an output reaches through
scans can have a part in the answer. Relations of one recursive stratum need each other, so a stratum is kept
or dropped as a whole. The reference evaluator computes the same relations and no others, so a fault in a rule
that nothing needs goes unreported there too.
"""

from __future__ import annotations

from dataclasses import replace

from emberlog.logical.nodes import LogicalPlan
from emberlog.logical.traverse import plans_of, scans
from emberlog.optimize.context import PassContext


def eliminate_dead_relations(plan: LogicalPlan, _context: PassContext) -> LogicalPlan:
    needed = set(plan.outputs)
    strata = []
    for stratum in reversed(plan.strata):
        if needed.intersection(stratum.relations):
            strata.append(stratum)
            needed.update(scan.relation for one in plans_of(stratum.root) for scan in scans(one))
    inputs = {name: columns for name, columns in plan.inputs.items() if name in needed}
    if len(strata) == len(plan.strata) and len(inputs) == len(plan.inputs):
        return plan
    return replace(plan, strata=tuple(reversed(strata)), inputs=inputs)
