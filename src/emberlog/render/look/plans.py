"""Shows plans as trees that fold."""

from __future__ import annotations

from collections.abc import Callable
from zlib import crc32

from emberlog.logical.nodes import Fixpoint, LogicalPlan, Plan, PlannedStratum
from emberlog.logical.summary import counted
from emberlog.render.look.components import badge, card, fold, keys
from emberlog.render.look.html import Html, element, joined
from emberlog.render.look.trees import Branch, tree
from emberlog.render.plan_text import plan_head, planned_kind
from emberlog.render.plan_tree import PlanBranch, stratum_tree
from emberlog.render.shared_branches import without_repeats

MOST_OPEN = 12
"""Strata of a plan that begins with the trees of all of them open."""


def plan_card(plan: LogicalPlan, title: str = "plan", note: Callable[[Plan], str] | None = None) -> Html:
    """Shows each stratum behind a fold. `note` says something about each node: rows expected or counted."""
    recursive = sum(isinstance(stratum.root, Fixpoint) for stratum in plan.strata)
    badges = [badge(f"{recursive:,} recursive", "ember")] if recursive else []
    strata = [plan_stratum(one, note, is_open=len(plan.strata) <= MOST_OPEN) for one in plan.strata]
    return card(
        element("strong", title),
        keys((heading, joined(map(_code, entries), ", ")) for heading, entries in plan_head(plan)),
        *strata,
        badges=badges,
        note=counted(len(plan.strata), "stratum"),
    )


def plan_stratum(stratum: PlannedStratum, note: Callable[[Plan], str] | None = None, *, is_open: bool = True) -> Html:
    names = element("code", ", ".join(stratum.relations))
    kind = element("span", planned_kind(stratum), class_="em-faint")
    return fold(joined((f"{stratum.index}  ", names, "  ", kind)), stratum_view(stratum, note), is_open=is_open)


def stratum_view(stratum: PlannedStratum, note: Callable[[Plan], str] | None = None) -> Html:
    """Shows the tree alone. What stands in it twice is shown once, named and referred to."""
    root = without_repeats(stratum_tree(stratum), note or (lambda _: ""))
    name = f"plan{crc32(repr(stratum.root).encode()):08x}"
    return tree(_branch(root, name, note), name=name)


def _code(text: str) -> Html:
    return element("code", text)


def _branch(one: PlanBranch, name: str, note: Callable[[Plan], str] | None) -> Branch:
    told = note(one.node) if note is not None and one.node is not None else ""
    parts = [
        *([element("span", one.role, class_="em-role")] if one.role else []),
        element("strong", one.operator),
        *([element("code", one.detail)] if one.detail else []),
        *([element("span", one.tag, class_="em-rule")] if one.tag else []),
        *([element("span", one.name, class_="em-rule")] if one.name else []),
        *([element("a", f"as {one.same_as}", href=f"#{name}-as{one.same_as[1:]}")] if one.same_as else []),
        *([element("span", told, class_="em-note")] if told else []),
    ]
    children = [_branch(child, name, note) for child in one.children]
    anchor = f"{name}-as{one.name[1:]}" if one.name else None
    return Branch(joined(parts, " "), children, anchor, one.rule or None, title=f"{one.operator} {one.detail}")
