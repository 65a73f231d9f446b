"""Makes the outline of a proof."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from emberlog.logical.rule_text import aggregate_text, cell_text
from emberlog.provenance.model import (
    Absence,
    Combination,
    CombinedColumn,
    Condition,
    Contributed,
    Goal,
    InputFact,
    Premise,
    ProofTree,
    RuleStep,
    Step,
    WrittenFact,
)
from emberlog.render.outline import Kind, Node, Outline
from emberlog.render.wording import Meaning, fact_text, holding_text, named, pattern_text, when_text
from emberlog.semantics.model import CheckedProgram, Contribution, Fact, HeadValue
from emberlog.syntax.ast import Expression, Variable

WRITTEN = "written in the program"


def proof_outline(proof: ProofTree, checked: CheckedProgram) -> Outline:
    writer = _Writer(proof, checked)
    title = f"why {fact_text(proof.root.relation, writer.meaning.fact(proof.root.relation, proof.root.fact))}"
    return Outline(title, tuple(writer.run()), checked)


class _Writer:
    def __init__(self, proof: ProofTree, checked: CheckedProgram) -> None:
        self.proof = proof
        self.checked = checked
        self.meaning = Meaning(checked)
        self.recursions = {name: stratum.recursion for stratum in checked.strata for name in stratum.relations}
        self.rules = {rule.name: rule for rule in checked.rules}
        self.nodes: list[Node] = []
        self.places: dict[Goal, int] = {}

    def run(self) -> list[Node]:
        for goal in self.proof.steps:
            self.places[goal] = self._add(self._node_of(Kind.DERIVED, goal))
        for goal, step in self.proof.steps.items():
            self._fill(self.nodes[self.places[goal]], goal, step)
        return self.nodes

    def _add(self, node: Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def _fill(self, node: Node, goal: Goal, step: Step) -> None:
        when = when_text(goal.iteration, self.recursions.get(goal.relation))
        match step:
            case InputFact():
                node.kind, node.how = Kind.INPUT, f"input {goal.relation}"
            case WrittenFact():
                node.kind, node.how = Kind.WRITTEN, WRITTEN
            case RuleStep():
                self._apply(node, step, step.rule, when)
            case Combination((CombinedColumn(_, function, True, (contributed,)),)):
                self._contributed(node, contributed, when)
                node.how = f"{function}: {node.how}"
            case Combination(columns):
                node.how = _joined(when, "" if any(one.contributions for one in columns) else "a count of nothing")
                for column in columns:
                    node.children += self._contributions(column)
            case _:
                assert_never(step)

    def _contributed(self, node: Node, contributed: Contributed, when: str) -> None:
        match contributed.by:
            case WrittenFact():
                node.kind, node.how = Kind.WRITTEN, WRITTEN
            case RuleStep() as step:
                self._apply(node, step, step.rule, when)

    def _apply(self, node: Node, step: RuleStep, *how: str) -> None:
        node.rule, node.how = step.rule, _joined(*how)
        node.bindings = named(self.meaning.bound(step.rule, step.bindings))
        head = self.rules[step.rule].head
        values = (argument for value in head for argument in _arguments(value))
        shown = {value.name for value in values if isinstance(value, Variable)}
        node.hidden = tuple((name, value) for name, value in node.bindings if name not in shown)
        node.children += [self._premise(premise, step) for premise in step.premises]

    def _contributions(self, column: CombinedColumn) -> Iterator[int]:
        for contributed in column.contributions:
            values = contributed.arguments
            if isinstance(contributed.by, RuleStep):
                values = self.meaning.contributed(contributed.by.rule, column.column, values)
            arguments = tuple(map(cell_text, values))
            node = Node(Kind.CONTRIBUTION, aggregate_text(column.function, arguments))
            self._contributed(node, contributed, "")
            node.kind = Kind.CONTRIBUTION
            yield self._add(node)
        if column.more != 0:
            many = "many" if column.more is None else f"{column.more:,}"
            yield self._add(Node(Kind.MORE, f"… {many} more for {column.function}"))

    def _premise(self, premise: Premise, step: RuleStep) -> int:
        match premise:
            case Goal():
                if premise not in self.places:
                    node = self._node_of(Kind.OPEN, premise)
                    node.how = "not shown further"
                    self.places[premise] = self._add(node)
                return self.places[premise]
            case Absence(_, relation, pattern):
                return self._add(Node(Kind.ABSENCE, f"no fact matches {self._pattern(relation, pattern)}"))
            case Condition(literal):
                bound = self.meaning.bound(step.rule, step.bindings)
                return self._add(Node(Kind.CONDITION, holding_text(literal, dict(bound))))
            case _:
                assert_never(premise)

    def _node_of(self, kind: Kind, goal: Goal) -> Node:
        fact = self.meaning.fact(goal.relation, goal.fact)
        text = fact_text(goal.relation, fact)
        return Node(kind, text, relation=goal.relation, fact=fact, iteration=goal.iteration)

    def _pattern(self, relation: str, pattern: Fact) -> str:
        return pattern_text(relation, self.meaning.fact(relation, pattern))


def _joined(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def _arguments(value: HeadValue) -> tuple[Expression, ...]:
    return value.arguments if isinstance(value, Contribution) else (value,)
