"""Computes what maintenance begins with by the engine of this process, which is made for many facts: relations, the
number of derivations of each fact, and the ranks of the facts of a recursion.

A number of derivations is a count over the valuations of the rules. A rank is the smallest depth of a derivation, so
the ranks of a set are the shortest paths over its own rules: `p(…, min<R>)`, where a rule adds 1 to the highest rank
that it reads. In a recursion with values, such as shortest paths, only the final facts take part, so these are computed
first, and the ranks of those contributions that have their values afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from emberlog.config import Limits
from emberlog.datatypes import INT
from emberlog.engines.local.run import run
from emberlog.io.local_relation import LocalRelation, facts_of_table
from emberlog.live.searches.facts import Facts
from emberlog.logical.nodes import (
    Aggregate,
    AggregateColumn,
    AntiJoin,
    Definition,
    Distinct,
    Field,
    Filter,
    Fixpoint,
    FixpointRelation,
    Join,
    LogicalPlan,
    Output,
    Plan,
    PlannedStratum,
    Project,
    RecursiveRule,
    Scan,
    Union,
    Values,
)
from emberlog.logical.traverse import column_names, relation_columns, relations_read
from emberlog.optimize.pipeline import optimize
from emberlog.semantics.model import Fact, Recursion, RecursionCase
from emberlog.source import Span
from emberlog.syntax.ast import Binary, BinaryOperator, Call, Constant, Expression, Variable

_TIMES = "times?"
_RANK = "rank?"
_FINAL = "final?"
"""Names that no program can write."""


_LOSE_FAULTS = frozenset({"prune_columns", "simplify"})
"""Passes that leave out what nobody reads, also where it has no value: a view has to fail whenever a value is missing,
not only when the plan at hand needs it."""


class NotRanked(Exception):
    """Says that the engine cannot find the ranks of a recursion."""


@dataclass(frozen=True, slots=True)
class Loader:
    """Runs parts of a program on the facts that there are after a transaction."""

    whole: LogicalPlan
    facts: Mapping[str, Facts]
    limits: Limits
    places: Mapping[str, Span]

    def relations(self, stratum: PlannedStratum) -> dict[str, LocalRelation]:
        """Returns the relations of a stratum."""
        return self._run(self.plan_of(stratum), {})

    def plan_of(self, stratum: PlannedStratum) -> LogicalPlan:
        """Returns the plan of one stratum alone, in which all that it reads is an input."""
        read = relations_read(stratum.root) - set(stratum.relations)
        columns = {name: fields for name, fields in self._columns().items() if name in read}
        plan = LogicalPlan(columns, (stratum,), stratum.relations, (), self.whole.functions)
        return optimize(plan, off=_LOSE_FAULTS).plan

    def run(self, plan: LogicalPlan) -> dict[str, frozenset[Fact]]:
        return {name: relation.facts for name, relation in self._run(plan, {}).items()}

    def rows(self, definition: Definition) -> dict[Fact, int]:
        """Returns what the rules of a relation contribute, and how often."""
        contributions = _contributions(definition.plan)
        names = column_names(contributions)
        times = AggregateColumn(Field(_TIMES, INT), "count", ())
        bag = Definition(definition.relation, Aggregate(contributions, names, (times,)))
        [relation] = self.relations(PlannedStratum(1, bag)).values()
        return {row: times for row, times in _numbered_rows(relation) if times}

    def ranks_of_sets(self, stratum: PlannedStratum) -> dict[str, dict[Fact, int]]:
        """Returns the facts of a recursion without aggregates, with their ranks."""
        return self._ranked(stratum, {})

    def ranks_of_values(
        self, stratum: PlannedStratum, final: Mapping[str, LocalRelation]
    ) -> dict[str, dict[Fact, int]]:
        """Returns the ranks of the final facts of a recursion; some may be left out."""
        return self._ranked(stratum, final)

    def _ranked(self, stratum: PlannedStratum, final: Mapping[str, LocalRelation]) -> dict[str, dict[Fact, int]]:
        assert isinstance(stratum.root, Fixpoint)
        own = frozenset(stratum.relations)
        relations = tuple(_ranked_relation(one, own, is_final=one.name in final) for one in stratum.root.relations)
        recursion = Recursion(
            RecursionCase.MEET, "ranks only fall", stratum.root.recursion.is_linear, stratum.root.recursion.is_mutual
        )
        ranked = PlannedStratum(stratum.index, Fixpoint(relations, recursion))
        found = self._run(self.plan_of(ranked), final)
        return {name: dict(_numbered_rows(relation)) for name, relation in found.items()}

    def _columns(self) -> dict[str, tuple[Field, ...]]:
        columns = dict(self.whole.inputs)
        for stratum in self.whole.strata:
            columns |= relation_columns(stratum.root)
        return columns | {f"{_FINAL}{name}": fields for name, fields in columns.items()}

    def _run(self, plan: LogicalPlan, final: Mapping[str, LocalRelation]) -> dict[str, LocalRelation]:
        relations = {}
        for name, fields in plan.inputs.items():
            if name.startswith(_FINAL):
                relations[name] = final[name.removeprefix(_FINAL)]
                continue
            names, types = [field.name for field in fields], [field.type for field in fields]
            relations[name] = LocalRelation(names, types, frozenset(self.facts[name]))
        return run(plan, relations, self.limits, places=self.places, interpret_small=True)


def _numbered_rows(relation: LocalRelation) -> Iterator[tuple[Fact, int]]:
    """Yields the rows of a relation whose last column is a number, and that number apart."""
    for row in facts_of_table(relation.table) if relation.is_table else relation.facts:
        number = row[-1]
        assert isinstance(number, int)
        yield row[:-1], number


def _contributions(plan: Plan) -> Plan:
    """Returns the bag that the plan of a relation makes a set or groups."""
    match plan:
        case Distinct(contributions) | Aggregate(contributions) | Project(Aggregate(contributions)):
            return contributions
        case _:
            return plan


# --- ranks ----------------------------------------------------------------------------------------------------------


def _ranked_relation(relation: FixpointRelation, own: frozenset[str], *, is_final: bool) -> FixpointRelation:
    """Returns the relation with the rank as one more column, of which the smallest counts."""
    names = tuple(field.name for field in relation.columns)
    rank = Field(_RANK, INT)

    def ranked(plan: Plan) -> Plan:
        if isinstance(plan, Union):
            return Union(tuple(map(ranked, plan.inputs)))
        plan = _with_rank(plan, own)
        if is_final:
            # Where two columns have to be equal, a contribution has its final value.
            plan = Join(plan, Scan(f"{_FINAL}{relation.name}", relation.columns), names)
        order = (*names, _RANK)
        return plan if column_names(plan) == order else Project(plan, tuple(map(_same, _fields(plan, order))))

    return FixpointRelation(
        relation.name,
        (*relation.columns, rank),
        names,
        (AggregateColumn(rank, "min", (_RANK,)),),
        ranked(relation.seed),
        tuple(RecursiveRule(rule.name, ranked(rule.plan)) for rule in relation.rules),
        relation.location,
    )


def _with_rank(plan: Plan, own: frozenset[str]) -> Plan:
    """Returns a plan with the rank of each row as its last column."""
    match plan:
        case Project(source, outputs, rule):
            source, ranks = _carrying(source, own)
            return Project(source, (*outputs, Output(Field(_RANK, INT), _next(ranks))), rule)
        case Values(columns):
            kept = tuple(map(_same, columns))
            return Project(plan, (*kept, Output(Field(_RANK, INT), Constant(0))))
    raise NotRanked


def _next(ranks: Sequence[str]) -> Expression:
    """Returns 1 more than the highest rank, and 0 if there is none."""
    if not ranks:
        return Constant(0)
    highest: Expression = Variable(ranks[0])
    if len(ranks) > 1:
        highest = Call("greatest", tuple(map(Variable, ranks)))
    return Binary(BinaryOperator.ADD, highest, Constant(1))


def _carrying(plan: Plan, own: frozenset[str]) -> tuple[Plan, list[str]]:
    """Returns the plan of a body that carries the ranks of the facts that it reads, and the names of their columns."""
    match plan:
        case Scan(relation, columns) if relation in own:
            # A scan is known by its columns, of which each body has its own; a body may read a relation twice.
            name = f"{_RANK}{id(plan)}"
            return replace(plan, columns=(*columns, Field(name, INT))), [name]
        case Scan() | Values():
            return plan, []
        case Filter(source):
            source, ranks = _carrying(source, own)
            return replace(plan, input=source), ranks
        case Project(source, outputs):
            source, ranks = _carrying(source, own)
            return replace(plan, input=source, outputs=(*outputs, *(_same(Field(one, INT)) for one in ranks))), ranks
        case Join(left, right):
            left, ranks = _carrying(left, own)
            right, others = _carrying(right, own)
            return replace(plan, left=left, right=right), [*ranks, *others]
        case AntiJoin(left):
            left, ranks = _carrying(left, own)
            return replace(plan, left=left), ranks
    raise NotRanked


def _same(field: Field) -> Output:
    return Output(field, Variable(field.name))


def _fields(plan: Plan, names: Sequence[str]) -> list[Field]:
    by_name = {field.name: field for field in plan.columns}
    return [by_name[name] for name in names]
