"""Delta rules find every derivation, and find it once: the number of rows shows what a set of facts would hide."""

from __future__ import annotations

from hypothesis import given, reject

from emberlog.config import DEFAULT_LIMITS
from emberlog.diagnostics import EmberlogError
from emberlog.engines.interpreter.limits import Watch
from emberlog.engines.interpreter.operators import Facts, Operators, Rows
from emberlog.language.registry import BUILT_IN
from emberlog.logical.build import build
from emberlog.logical.nodes import Fixpoint, LogicalPlan, Version
from emberlog.logical.traverse import plans_of, scans
from emberlog.optimize.pipeline import optimize
from emberlog.semantics.model import Fact, RecursionCase
from tests.programs import checked
from tests.property.programs import INPUTS, RandomProgram
from tests.property.shapes import programs
from tests.property.test_programs import properties


class Relations(Facts):
    """Relations in their three versions."""

    def __init__(self, facts: dict[str, frozenset[Fact]], stratum: Fixpoint) -> None:
        self.full = dict(facts)
        self.delta = {relation.name: frozenset[Fact]() for relation in stratum.relations}
        self.full.update(self.delta)

    def read(self, relation: str, version: Version) -> Rows:
        match version:
            case Version.FULL:
                return self.full[relation]
            case Version.DELTA:
                return self.delta[relation]
            case Version.BEFORE:
                return self.full[relation] - self.delta[relation]


def rows_of_deltas(stratum: Fixpoint, relations: Relations) -> int:
    """Runs the recursion to its end; gives the number of rows that the delta plans gave on the way."""
    operators = Operators(relations, Watch(DEFAULT_LIMITS), BUILT_IN, frozenset(relations.delta))
    count = 0
    new = {relation.name: frozenset(operators.rows(relation.seed)) for relation in stratum.relations}
    while any(new.values()):
        relations.delta = new
        relations.full.update({name: relations.full[name] | facts for name, facts in new.items()})
        derived = {
            relation.name: [row for rule in relation.rules for plan in rule.deltas for row in operators.rows(plan)]
            for relation in stratum.relations
        }
        count += sum(map(len, derived.values()))
        new = {name: frozenset(rows) - relations.full[name] for name, rows in derived.items()}
    return count


def rows_of_full_rules(stratum: Fixpoint, relations: Relations) -> int:
    operators = Operators(relations, Watch(DEFAULT_LIMITS), BUILT_IN)
    return sum(len(operators.rows(rule.plan)) for relation in stratum.relations for rule in relation.rules)


def first_set_recursion(plan: LogicalPlan) -> Fixpoint | None:
    """A recursion over sets that reads nothing but inputs outside itself."""
    inputs = {relation.name for relation in INPUTS}
    for stratum in plan.strata:
        read = {scan.relation for one in plans_of(stratum.root) for scan in scans(one)}
        if (
            isinstance(stratum.root, Fixpoint)
            and stratum.root.recursion.case is RecursionCase.SET
            and read <= inputs | set(stratum.relations)
        ):
            return stratum.root
    return None


@given(programs(recursive_only=True))
@properties
def test_each_derivation_is_found_exactly_once(random: RandomProgram) -> None:
    # What only has to be there is there in every round that adds some of it: that is no derivation twice.
    plan = optimize(build(checked(random.text, params={})), off={"ask_for_existence"}).plan
    stratum = first_set_recursion(plan)
    if stratum is None:
        reject()
    relations = Relations(dict(random.facts), stratum)
    try:
        found = rows_of_deltas(stratum, relations)
    except EmberlogError:
        reject()  # a division by zero: there is no end to compare
    assert found == rows_of_full_rules(stratum, relations)
