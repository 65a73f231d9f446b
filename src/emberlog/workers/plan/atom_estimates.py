"""What an atom of a rule will give, by the statistics of its relation."""

from __future__ import annotations

from emberlog.datatypes import UNKNOWN
from emberlog.logical.nodes import Field, Filter, Plan, Scan
from emberlog.logical.statistics import Statistics
from emberlog.optimize.cardinality import Estimate, estimate
from emberlog.semantics.model import Compare
from emberlog.syntax.ast import ComparisonOperator, Variable
from emberlog.workers.plan.rules import Atom


def estimate_of(atom: Atom, statistics: Statistics) -> Estimate:
    """Raises NotKnown. A variable that is repeated keeps few rows."""
    names: list[str] = []
    repeated = []
    for column, name in enumerate(atom.variables):
        if name in names:
            names.append(f"{name} in column {column + 1}")
            repeated.append(Compare(ComparisonOperator.EQUAL, Variable(name), Variable(names[-1])))
        else:
            names.append(name)
    plan: Plan = Scan(atom.relation, tuple(Field(name, UNKNOWN) for name in names), atom.version)
    return estimate(Filter(plan, tuple(repeated)) if repeated else plan, statistics)
