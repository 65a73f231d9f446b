"""What is known of the data while a plan runs: what is computed has been counted, and later joins can go by that."""

from __future__ import annotations

from emberlog.logical.nodes import LogicalPlan, PlannedStratum
from emberlog.logical.statistics import Statistics
from emberlog.optimize.derived_statistics import scaled, with_relations_of
from emberlog.optimize.reorder_joins import reordered

COUNTED = "counted"


class Refinement:
    """Strata are asked for in their turn, and what they gave is told."""

    def __init__(self, plan: LogicalPlan) -> None:
        self.statistics: Statistics = plan.statistics

    def planned(self, stratum: PlannedStratum) -> PlannedStratum:
        """The stratum with its joins in the order that is best by now; as it is if nothing is known of the inputs."""
        if not self.statistics:
            return stratum
        self.statistics = with_relations_of(stratum, self.statistics)
        return reordered(stratum, self.statistics)

    def tell(self, relation: str, rows: int) -> None:
        """A relation is complete, and has so many rows."""
        if relation in self.statistics:
            self.statistics = {**self.statistics, relation: scaled(self.statistics[relation], rows, COUNTED)}
