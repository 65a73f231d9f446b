"""Inputs of joins of which so few columns are needed that most of their rows are repeats: made relations of their own.

What is computed once and small is joined instead of what it was made from. Only relations without recursion are looked
at, and only those that read none: what folds a recursion is best left in one job with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from emberlog.logical.nodes import Definition, Field, Fixpoint, Join, LogicalPlan, Plan, PlannedStratum
from emberlog.logical.properties import is_set, plan_can_fail
from emberlog.logical.statistics import Statistics
from emberlog.logical.traverse import scans, walk
from emberlog.optimize.cardinality import Estimate, NotKnown, distinct_rows, estimate
from emberlog.optimize.derived_statistics import with_relations_of

FEWER = 2.0
"""How many times fewer rows there have to be: making several one takes an exchange."""


@dataclass(slots=True)
class SideRelations:
    """The relations that one definition gets beside it."""

    owner: str
    statistics: Statistics
    taken: frozenset[str]
    """Names of relations that are there already."""
    made: list[Definition] = field(default_factory=list)

    def add(self, plan: Plan) -> Definition:
        """Returns the relation that the plan defines; one for all inputs that are the same."""
        known = next((one for one in self.made if one.plan == plan), None)
        if known is None:
            taken = self.taken | {one.relation for one in self.made}
            names = (f"{self.owner}.{number}" for number in count(1))
            known = Definition(next(name for name in names if name not in taken), plan)
            self.made.append(known)
        return known

    def is_worthwhile(self, plan: Plan, kept: Sequence[Field] | None = None) -> bool:
        """Tells whether most rows of the input are repeats in the columns that are kept of it, or in all of them; it is
        no join itself, and nothing in it can fail."""
        columns = plan.columns if kept is None else kept
        is_all_kept = len(columns) == len(plan.columns)
        has_joins = any(isinstance(node, Join) for node in walk(plan))
        if (is_all_kept and is_set(plan)) or plan_can_fail(plan) or has_joins:
            return False
        found = self._estimate(plan)
        if found is None:
            return False
        return distinct_rows(found, [field.name for field in columns]) * FEWER <= found.rows

    def is_repeated(self, plan: Plan, joined: Plan) -> bool:
        """Tells whether a row of the input comes out of the join several times."""
        found, result = self._estimate(plan), self._estimate(joined)
        return found is not None and result is not None and found.rows * FEWER <= result.rows

    def _estimate(self, plan: Plan) -> Estimate | None:
        try:
            return estimate(plan, self.statistics)
        except NotKnown:
            return None


Rewrite = Callable[[Plan, SideRelations], Plan]
"""A definition's plan with some of its inputs made relations of their own; the same object when there are none."""


def with_side_relations(logical: LogicalPlan, rewrite: Rewrite) -> LogicalPlan:
    """Returns the plan with what `rewrite` makes of each definition, and the new relations before it."""
    if not logical.statistics:
        return logical
    known = logical.statistics
    taken = frozenset((*logical.inputs, *(name for stratum in logical.strata for name in stratum.relations)))
    recursive: set[str] = set()
    strata: list[PlannedStratum] = []
    for stratum in logical.strata:
        match stratum.root:
            case Fixpoint():
                recursive.update(stratum.relations)
            case Definition(relation, plan) if all(scan.relation not in recursive for scan in scans(plan)):
                beside = SideRelations(relation, known, taken)
                new = rewrite(plan, beside)
                if new is not plan:
                    for one in beside.made:
                        strata.append(PlannedStratum(stratum.index, one))
                        known = with_relations_of(strata[-1], known)
                    stratum = replace(stratum, root=replace(stratum.root, plan=new))
            case _:
                pass
        strata.append(stratum)
        known = with_relations_of(stratum, known)
    changed = len(strata) != len(logical.strata)
    return replace(logical, strata=tuple(strata)) if changed else logical
