"""Compiles a stream program for incremental evaluation: what is computed once, what is kept up to date, and what is
computed anew from that.

The plan is compiled on the driver when a query starts. Workers get it pickled, and compile nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from emberlog.config import DEFAULT_LIMITS, Limits
from emberlog.logical.build import build, fields_of
from emberlog.logical.nodes import Field, LogicalPlan
from emberlog.optimize.pipeline import optimize
from emberlog.semantics.model import Absent, Match, Relation, TimeRole
from emberlog.source import Span
from emberlog.streams.evaluate.complete_strata import CompleteStrata
from emberlog.streams.plan.best_tuples import best_of
from emberlog.streams.plan.expiring_program import expiring_fixpoint, without_searches_for_lost_keys
from emberlog.streams.plan.maintenance import RESIDENT, Maintenance, Method
from emberlog.syntax.ast import Constant
from emberlog.workers.plan.compile import CyclicProgram, compile_fixpoint
from emberlog.workers.plan.worker_plan import unique_columns
from emberlog.workers.store.texts import texts_of


@dataclass(frozen=True, slots=True, eq=False)
class IncrementalPlan:
    maintenance: Maintenance
    limits: Limits
    kept: tuple[str, ...]
    """The relations whose facts stay from slide to slide."""
    repaired: tuple[str, ...]
    """Those of them whose lost facts are derived again."""
    expiring: CyclicProgram
    """The rules of the relations that are kept."""
    once: CompleteStrata
    anew: CompleteStrata
    read_anew: tuple[str, ...]
    """The relations that are kept and read by what is computed anew."""

    @property
    def fields(self) -> dict[str, tuple[Field, ...]]:
        return {name: fields_of(relation) for name, relation in self.maintenance.checked.relations.items()}

    @property
    def unread_as_they_arrive(self) -> Mapping[str, frozenset[int]]:
        """Returns the columns of each input that no rule reads, the time of a stream counted."""
        return self.maintenance.unread

    @property
    def unread(self) -> dict[str, frozenset[int]]:
        """The same of relations as they are kept: a time that is left out is none, and the best tuples of a stream have
        its columns."""
        times, found = self.maintenance.program.times, {}
        for name, places in self.maintenance.unread.items():
            shift = times.get(name) is TimeRole.NONE
            found[name] = frozenset(place - shift for place in places)
        for name, source in best_of(self.maintenance.checked).items():
            found[name] = found.get(source, frozenset())
        return {name: places for name, places in found.items() if places}

    @property
    def places(self) -> dict[str, Span]:
        return _places(self.maintenance)

    @property
    def texts(self) -> list[str]:
        """Lists the texts that the queries and the rules have."""
        found = {*self.once.texts, *self.anew.texts, *texts_of(self.expiring)}
        for query in self.maintenance.checked.queries:
            found.update(
                term.value for term in query.terms if isinstance(term, Constant) and isinstance(term.value, str)
            )
        return sorted(found)


def incremental_plan(maintenance: Maintenance, limits: Limits = DEFAULT_LIMITS) -> IncrementalPlan:
    checked, places = maintenance.checked, _places(maintenance)
    kept, repaired = maintenance.names(*RESIDENT), maintenance.names(Method.REPAIRED)
    rules = [rule for rule in checked.rules if rule.relation in kept]
    compiled = compile_fixpoint(expiring_fixpoint(checked, kept, rules, repaired))
    expiring = without_searches_for_lost_keys(compiled, repaired)
    once = CompleteStrata(_part(maintenance, Method.ONCE), limits, places, {})
    anew = CompleteStrata(_part(maintenance, Method.ANEW), limits, places, unique_columns(expiring))
    read_anew = tuple(name for name in kept if name in anew.reads)
    return IncrementalPlan(maintenance, limits, kept, repaired, expiring, once, anew, read_anew)


def _places(maintenance: Maintenance) -> dict[str, Span]:
    return {rule.name: rule.span for rule in maintenance.program.checked.rules}


def _part(maintenance: Maintenance, method: Method) -> LogicalPlan:
    """Plans the relations that are computed by one method, from all others. Its outputs are those that others read,
    too."""
    checked = maintenance.checked
    own = set(maintenance.names(method))
    relations = {name: one if name in own else _complete(one) for name, one in checked.relations.items()}
    read = {
        literal.relation
        for rule in checked.rules
        if rule.relation not in own
        for literal in rule.body
        if isinstance(literal, Match | Absent)
    }
    part = replace(
        checked,
        relations=relations,
        facts={name: rows for name, rows in checked.facts.items() if name in own},
        rules=tuple(rule for rule in checked.rules if rule.relation in own),
        strata=tuple(stratum for stratum in checked.strata if own.issuperset(stratum.relations)),
        queries=(),
    )
    outputs = tuple(
        name for name in maintenance.choices if name in own and (name in read or name in maintenance.outputs)
    )
    return optimize(replace(build(part), outputs=outputs)).plan


def _complete(relation: Relation) -> Relation:
    """Makes a relation an input: its values are what they are."""
    columns = tuple(replace(column, aggregate=None) for column in relation.columns)
    return replace(relation, columns=columns, is_derived=False)
