"""Makes a plan a tree of short texts, from which the explain text and the pictures are both drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import assert_never

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
    Output,
    Plan,
    PlannedStratum,
    Project,
    RecursiveRule,
    Scan,
    Union,
    Values,
    Version,
)
from emberlog.logical.rule_text import aggregate_text, cell_text, literal_text
from emberlog.semantics.model import Fact
from emberlog.syntax.ast import Variable
from emberlog.syntax.printer import print_expression

ROWS_SHOWN = 3
"""Further rows of `Values` are counted instead of shown."""


@dataclass(frozen=True, slots=True)
class PlanBranch:
    """`operator` is the name of the node, `detail` what it does, `role` what it is to the branch above."""

    operator: str
    detail: str = ""
    role: str = ""
    children: tuple[PlanBranch, ...] = ()
    rule: str = ""
    """The rule whose head a projection computes."""
    node: Plan | None = None
    """What it shows, if that gives rows."""
    name: str = ""
    """`#1`, where the same stands elsewhere, too."""
    same_as: str = ""
    """The name of the branch that shows what is below this one."""

    @property
    def tag(self) -> str:
        """Returns the rule, unless the role already names it."""
        return "" if self.role.endswith(f" {self.rule}") else self.rule


def stratum_tree(stratum: PlannedStratum) -> PlanBranch:
    match stratum.root:
        case Definition() as definition:
            return definition_tree(definition)
        case Fixpoint() as fixpoint:
            return fixpoint_tree(fixpoint)
        case _:
            assert_never(stratum.root)


def definition_tree(definition: Definition) -> PlanBranch:
    head = f"{definition.relation}({_names(definition.plan.columns)})"
    return PlanBranch("Define", head, children=(plan_tree(definition.plan),))


def fixpoint_tree(fixpoint: Fixpoint) -> PlanBranch:
    if len(fixpoint.relations) == 1:
        (relation,) = fixpoint.relations
        return PlanBranch("Fixpoint", _defined(relation), children=_contributions(relation))
    parts = tuple(PlanBranch("Relation", _defined(one), children=_contributions(one)) for one in fixpoint.relations)
    return PlanBranch("Fixpoint", f"of {len(parts)} relations", children=parts)


def plan_tree(plan: Plan, role: str = "") -> PlanBranch:
    return replace(_shown(plan, role), node=plan)


def _shown(plan: Plan, role: str) -> PlanBranch:
    match plan:
        case Scan(relation, columns, version):
            return PlanBranch("Scan", _scanned(relation, columns, version), role)
        case Values(columns, rows):
            return PlanBranch("Values", _values(columns, rows), role)
        case Filter(source, conditions):
            detail = ", ".join(literal_text(condition) for condition in conditions)
            return PlanBranch("Filter", detail, role, (plan_tree(source),))
        case Project(source, outputs, rule):
            detail = ", ".join(_output(output) for output in outputs) or "no columns"
            return PlanBranch("Project", detail, role, (plan_tree(source),), rule or "")
        case Join(left, right, on):
            detail = f"on {', '.join(on)}" if on else "every pair"
            return PlanBranch("Join", detail, role, (plan_tree(left), plan_tree(right)))
        case AntiJoin(left, right, on):
            detail = f"on {', '.join(on)}" if on else "unless any row"
            return PlanBranch("AntiJoin", detail, role, (plan_tree(left), plan_tree(right)))
        case Union(inputs):
            return PlanBranch("Union", "", role, tuple(plan_tree(one) for one in inputs))
        case Distinct(source):
            return PlanBranch("Distinct", "", role, (plan_tree(source),))
        case Aggregate(source, keys, aggregates):
            group = f"by {', '.join(keys)}" if keys else "all rows"
            columns_text = ", ".join(_aggregate(column) for column in aggregates)
            return PlanBranch("Aggregate", f"{group}: {columns_text}", role, (plan_tree(source),))
        case _:
            assert_never(plan)


def _contributions(relation: FixpointRelation) -> tuple[PlanBranch, ...]:
    seed = plan_tree(relation.seed, "seed")
    return (seed, *(branch for rule in relation.rules for branch in _iterated(rule)))


def _iterated(rule: RecursiveRule) -> tuple[PlanBranch, ...]:
    """Returns the delta plans, which are what runs. The full plan says the same, and is shown only without them."""
    plans = rule.deltas or (rule.plan,)
    return tuple(plan_tree(plan, f"iterate {rule.name}") for plan in plans)


def _defined(relation: FixpointRelation) -> str:
    aggregates = {column.field.name: column for column in relation.aggregates}
    parts = [
        _aggregate(aggregates[field.name]) if field.name in aggregates else field.name for field in relation.columns
    ]
    return f"{relation.name}({', '.join(parts)})"


def _scanned(relation: str, columns: Sequence[Field], version: Version) -> str:
    atom = f"{relation}({_names(columns)})"
    match version:
        case Version.FULL:
            return atom
        case Version.DELTA:
            return f"Δ{atom}"
        case Version.BEFORE:
            return f"{atom} without Δ"
        case _:
            assert_never(version)


def _values(columns: Sequence[Field], rows: Sequence[Fact]) -> str:
    if not columns:
        return "one empty row" if len(rows) == 1 else f"{len(rows):,} empty rows"
    if not rows:
        return f"{_names(columns)}: no rows"
    shown = ", ".join(cell_text(row) for row in rows[:ROWS_SHOWN])
    more = f", … {len(rows):,} rows" if len(rows) > ROWS_SHOWN else ""
    return f"{_names(columns)}: {shown}{more}"


def _output(output: Output) -> str:
    if isinstance(output.expression, Variable) and output.expression.name == output.field.name:
        return output.field.name
    return f"{output.field.name} = {print_expression(output.expression)}"


def _aggregate(column: AggregateColumn) -> str:
    return f"{column.field.name} = {aggregate_text(column.function, column.arguments)}"


def _names(columns: Sequence[Field]) -> str:
    return ", ".join(field.name for field in columns)
