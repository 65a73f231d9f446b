"""Shows the predicate connection graph as text."""

from __future__ import annotations

from typing import assert_never

from emberlog.logical.connection_graph import ConnectionGraph, GoalKind, GoalNode, RuleNode
from emberlog.logical.rule_text import atom_text, head_text, literal_text
from emberlog.render.text_tree import TextBranch, tree_lines


def connection_graph_lines(graph: ConnectionGraph) -> list[str]:
    return [line for root in graph.trees for line in tree_lines(_goal_branch(root))]


def goal_text(goal: GoalNode) -> str:
    return f"{'!' if goal.negated else ''}{atom_text(goal.relation, goal.terms)}"


def goal_note(goal: GoalNode) -> str:
    """Says why nothing, or what besides rules, stands below the goal; empty for an ordinary goal."""
    facts = f"{goal.fact_count:,} {'fact' if goal.fact_count == 1 else 'facts'}"
    match goal.kind:
        case GoalKind.EXPANDED:
            return f"and {facts} of the program" if goal.fact_count else ""
        case GoalKind.INPUT:
            return "input"
        case GoalKind.FACTS:
            return f"{facts} of the program"
        case GoalKind.RECURSIVE:
            return "recursive reference"
        case GoalKind.SHARED:
            return "expanded elsewhere"
        case _:
            assert_never(goal.kind)


def _goal_branch(goal: GoalNode) -> TextBranch:
    parts = [part for part in (goal_text(goal), goal.adornment, goal_note(goal)) if part]
    return TextBranch("  ".join(parts), children=tuple(_rule_branch(rule) for rule in goal.rules))


def _rule_branch(rule: RuleNode) -> TextBranch:
    parts = [f"{rule.name}: {head_text(rule.relation, rule.head)}"]
    if rule.is_recursive:
        parts.append("recursive")
    if rule.tests:
        parts.append(f"where {', '.join(literal_text(test) for test in rule.tests)}")
    return TextBranch("  ".join(parts), children=tuple(_goal_branch(goal) for goal in rule.goals))
