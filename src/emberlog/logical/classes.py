"""Recognises a recursion that gives each element of a class the smallest element there, along links that go both ways.

`declare same(a: int, b: int) equivalence.` is such a recursion, and so is every program that finds connected components
by the smallest label. Round by round it takes as many rounds as the longest way has links; to unite sets takes none.
"""

from __future__ import annotations

from emberlog.logical.nodes import Fixpoint, FixpointRelation, Join, Plan, Project, Scan, Union
from emberlog.logical.traverse import scans
from emberlog.semantics.model import RecursionCase
from emberlog.syntax.ast import Variable


def links_of_classes(fixpoint: Fixpoint) -> str | None:
    """Returns the relation whose two columns are the links of the classes; None if it is another recursion."""
    if len(fixpoint.relations) != 1 or fixpoint.recursion.case is not RecursionCase.MEET:
        return None
    (relation,) = fixpoint.relations
    is_smallest = [one.function for one in relation.aggregates] == ["min"] and len(relation.columns) == 2
    if not is_smallest or relation.columns[0].name != relation.keys[0] or len(relation.rules) != 2:
        return None
    seeds = relation.seed.inputs if isinstance(relation.seed, Union) else (relation.seed,)
    begun = {_own_label(one) for one in seeds}
    followed = {_followed(rule.plan, relation) for rule in relation.rules}
    links = {found[0] for found in (*begun, *followed) if found is not None}
    if len(links) != 1 or relation.name in links:
        return None
    (name,) = links
    both = {(name, 0), (name, 1)}
    types = {type_ for plan in (relation.seed, *(rule.plan for rule in relation.rules)) for type_ in _types(plan, name)}
    has_one_type = types == {relation.columns[0].type} == {relation.columns[1].type}
    return name if begun == both and followed == both and has_one_type else None


def _types(plan: Plan, name: str) -> list[object]:
    return [column.type for one in scans(plan) if one.relation == name for column in one.columns]


def _own_label(seed: Plan) -> tuple[str, int] | None:
    """Returns which column of which relation the seed gives as its own label."""
    match seed:
        case Project(Scan(name, columns), (key, label)) if len(columns) == 2:
            names = [column.name for column in columns]
            match key.expression, label.expression:
                case Variable(one), Variable(other) if one == other and one in names:
                    return name, names.index(one)
    return None


def _followed(plan: Plan, relation: FixpointRelation) -> tuple[str, int] | None:
    """Returns the column of which relation gets the label of the other one."""
    match plan:
        case Project(Join(Scan() as left, Scan() as right, (on,)), (key, label)):
            own, links = (left, right) if left.relation == relation.name else (right, left)
            names = [column.name for column in links.columns]
            if own.relation != relation.name or links.relation == relation.name or len(names) != 2:
                return None
            reached, carried = (column.name for column in own.columns)
            match key.expression, label.expression:
                case Variable(new), Variable(value) if reached == on and value == carried:
                    is_link = {new, on} == set(names) and new != on and carried not in names
                    return (links.relation, names.index(new)) if is_link else None
    return None
