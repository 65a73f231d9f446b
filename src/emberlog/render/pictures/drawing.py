"""Says what the pictures show, whatever form they take: labelled trees of the connection graph and of the plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from emberlog.logical.connection_graph import ConnectionGraph, GoalKind, GoalNode, RuleNode
from emberlog.logical.nodes import LogicalPlan
from emberlog.logical.rule_text import head_text, literal_text
from emberlog.render.graph_text import goal_note, goal_text
from emberlog.render.plan_text import planned_kind, sharing_text
from emberlog.render.plan_tree import PlanBranch, stratum_tree
from emberlog.render.shared_branches import without_repeats


class Look(Enum):
    """Says what a node is, and so how it looks."""

    GOAL = "goal"
    RULE = "rule"
    RECURSIVE_RULE = "recursive"
    FACTS = "facts"
    """Facts come from here: an input, facts of the program, a relation of another stratum."""
    REFERENCE = "reference"
    """Stands for a part of the picture that is drawn elsewhere."""
    OPERATOR = "operator"
    DELTA = "delta"
    FIXPOINT = "fixpoint"
    DEFINITION = "definition"


@dataclass(frozen=True, slots=True)
class DrawnNode:
    """`heading` is in words, `code` in the language; `role` is what the node is to the one above."""

    look: Look
    heading: str = ""
    code: str = ""
    tag: str = ""
    """An adornment, or a rule's name."""
    notes: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    """In the language, as `code`, but of less weight."""
    role: str = ""
    rule: str = ""
    """The rule that the node comes from, where it comes from one."""
    children: tuple[DrawnNode, ...] = ()

    @property
    def label(self) -> str:
        """Returns the texts of the node, one per line. Its role is not among them: that belongs on the edge."""
        if self.heading:
            lines = [f"{self.heading}  [{self.tag}]" if self.tag else self.heading, self.code]
        elif self.look in (Look.RULE, Look.RECURSIVE_RULE):
            lines = [f"{self.tag}: {self.code}"]
        else:
            lines = [f"{self.code}  {self.tag}".rstrip()]
        return "\n".join(line for line in (*lines, *self.notes, *self.conditions) if line)


@dataclass(frozen=True, slots=True)
class Drawing:
    name: str
    """A short name without blanks, for identifiers."""
    title: str
    subtitle: str
    roots: tuple[DrawnNode, ...]

    def named_nodes(self) -> Iterator[tuple[str, DrawnNode, str | None]]:
        """Yields every node from the top down, with a name of its own and the name of the node above it."""
        number = 0
        waiting: list[tuple[DrawnNode, str | None]] = [(root, None) for root in reversed(self.roots)]
        while waiting:
            node, above = waiting.pop()
            number += 1
            name = f"{self.name}_{number}"
            yield name, node, above
            waiting += [(child, name) for child in reversed(node.children)]


def draw_connection_graph(graph: ConnectionGraph) -> Drawing:
    return Drawing(
        "connections",
        "Predicate connection graph",
        "rounded: a goal, its arguments bound (b) or free (f); angular: a rule, all of whose goals must hold",
        tuple(_goal(root) for root in graph.trees),
    )


def draw_plan(plan: LogicalPlan) -> tuple[Drawing, ...]:
    """Returns one drawing per stratum."""
    return tuple(
        Drawing(
            f"plan{number}",
            f"Stratum {stratum.index}: {', '.join(stratum.relations)}",
            planned_kind(stratum),
            (_branch(without_repeats(stratum_tree(stratum))),),
        )
        for number, stratum in enumerate(plan.strata, start=1)
    )


def draw_all(graph: ConnectionGraph, plan: LogicalPlan) -> tuple[Drawing, ...]:
    return (draw_connection_graph(graph), *draw_plan(plan))


_GOAL_LOOKS = {
    GoalKind.EXPANDED: Look.GOAL,
    GoalKind.INPUT: Look.FACTS,
    GoalKind.FACTS: Look.FACTS,
    GoalKind.RECURSIVE: Look.REFERENCE,
    GoalKind.SHARED: Look.REFERENCE,
}


def _goal(goal: GoalNode) -> DrawnNode:
    note = goal_note(goal)
    return DrawnNode(
        _GOAL_LOOKS[goal.kind],
        code=goal_text(goal),
        tag=goal.adornment,
        notes=(note,) if note else (),
        children=tuple(_rule(rule) for rule in goal.rules),
    )


def _rule(rule: RuleNode) -> DrawnNode:
    return DrawnNode(
        Look.RECURSIVE_RULE if rule.is_recursive else Look.RULE,
        code=head_text(rule.relation, rule.head),
        tag=rule.name,
        rule=rule.name,
        notes=("recursive",) if rule.is_recursive else (),
        conditions=tuple(literal_text(test) for test in rule.tests),
        children=tuple(_goal(goal) for goal in rule.goals),
    )


def _branch(branch: PlanBranch) -> DrawnNode:
    return DrawnNode(
        _look(branch),
        heading=branch.operator,
        code=branch.detail,
        tag=branch.tag,
        notes=sharing_text(branch),
        role=branch.role,
        rule=branch.rule,
        children=tuple(_branch(child) for child in branch.children),
    )


def _look(branch: PlanBranch) -> Look:
    if branch.same_as:
        return Look.REFERENCE
    match branch.operator:
        case "Fixpoint" | "Relation":
            return Look.FIXPOINT
        case "Define":
            return Look.DEFINITION
        case "Scan" if branch.detail.startswith("Δ"):
            return Look.DELTA
        case "Scan" | "Values":
            return Look.FACTS
        case _:
            return Look.OPERATOR
