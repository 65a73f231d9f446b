"""Relations without recursion as plans of a recursion that ends before it begins: seeds and no rules."""

from __future__ import annotations

from emberlog.logical.nodes import (
    Aggregate,
    Definition,
    Distinct,
    Field,
    Fixpoint,
    FixpointRelation,
    Output,
    Plan,
    Project,
    Union,
)
from emberlog.semantics.model import Recursion, RecursionCase
from emberlog.syntax.ast import Variable

NO_RECURSION = Recursion(RecursionCase.SET, "there is no recursion", is_linear=True, is_mutual=False)


def as_fixpoint(definition: Definition) -> Fixpoint | None:
    """The definition as a fixpoint without rules; None where it is neither a set nor one aggregation."""
    columns, plan = _columns_seen_through(definition.plan)
    if isinstance(plan, Aggregate):
        relation = FixpointRelation(
            definition.relation, columns, plan.keys, plan.aggregates, _with_one_naming(plan.input), ()
        )
    else:
        plan = definition.plan
        source = plan.input if isinstance(plan, Distinct) else plan
        keys = tuple(field.name for field in plan.columns)
        relation = FixpointRelation(definition.relation, plan.columns, keys, (), _with_one_naming(source), ())
    return Fixpoint((relation,), NO_RECURSION) if len({one.name for one in relation.columns}) == len(columns) else None


def _columns_seen_through(plan: Plan) -> tuple[tuple[Field, ...], Plan]:
    """The columns of a plan and what they are columns of, without a projection that only puts them in order."""
    if not isinstance(plan, Project) or not isinstance(plan.input, Aggregate):
        return plan.columns, plan
    inner = {field.name: field for field in plan.input.columns}
    names = [one.expression.name if isinstance(one.expression, Variable) else "" for one in plan.outputs]
    if sorted(names) != sorted(inner):
        return plan.columns, plan
    return tuple(inner[name] for name in names), plan.input


def _with_one_naming(plan: Plan) -> Plan:
    """Parts of a union agree by position; here they are to agree by name, too."""
    if not isinstance(plan, Union):
        return plan
    return Union(tuple(_renamed(part, plan.columns) for part in plan.inputs))


def _renamed(plan: Plan, columns: tuple[Field, ...]) -> Plan:
    pairs = list(zip(columns, plan.columns, strict=True))
    if all(wanted.name == own.name for wanted, own in pairs):
        return plan
    return Project(plan, tuple(Output(Field(wanted.name, own.type), Variable(own.name)) for wanted, own in pairs))
