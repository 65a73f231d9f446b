"""Makes the outline of a refutation."""

from __future__ import annotations

import re
from typing import assert_never

from emberlog.logical.rule_text import head_text, literal_text
from emberlog.provenance.refutations import (
    BeyondStages,
    DisturbingFact,
    FailedCondition,
    FailedRule,
    MissingFact,
    NoRule,
    NotGiven,
    OtherHead,
    OtherValues,
    Pattern,
    RefutationTree,
    Refuted,
)
from emberlog.provenance.valuations import pattern_values
from emberlog.render.outline import Kind, Node, Outline
from emberlog.render.wording import Meaning, condition_text, fact_text, holding_text, named, pattern_text
from emberlog.semantics.model import Absent, CheckedProgram, CoreRule, Fact, Match

NO_FACT = "no fact matches it"

_NAME_OF_ANY = re.compile(r"\b_\d+\b")
"""Analysis gives each `_` a name of its own."""


def refutation_outline(tree: RefutationTree, checked: CheckedProgram) -> Outline:
    writer = _Writer(tree, checked)
    return Outline(f"why not {writer.pattern(tree.root.relation, tree.root.values)}", tuple(writer.run()), checked)


class _Writer:
    def __init__(self, tree: RefutationTree, checked: CheckedProgram) -> None:
        self.tree = tree
        self.checked = checked
        self.meaning = Meaning(checked)
        self.rules = {rule.name: rule for rule in checked.rules}
        self.nodes: list[Node] = []
        self.places: dict[Pattern, int] = {}

    def run(self) -> list[Node]:
        for pattern in self.tree.steps:
            self._missing(pattern)
        for pattern, refutation in self.tree.steps.items():
            self._fill(self.nodes[self.places[pattern]], pattern, refutation)
        return self.nodes

    def pattern(self, relation: str, values: Fact) -> str:
        return pattern_text(relation, self.meaning.fact(relation, values))

    def _fact(self, relation: str, fact: Fact) -> str:
        return fact_text(relation, self.meaning.fact(relation, fact))

    def _add(self, node: Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def _missing(self, pattern: Pattern) -> int:
        if pattern not in self.places:
            text = self.pattern(pattern.relation, pattern.values)
            how = NO_FACT if self.checked.relations[pattern.relation].is_derived else f"{NO_FACT}, input"
            node = Node(Kind.MISSING, text, how, relation=pattern.relation, fact=pattern.values)
            self.places[pattern] = self._add(node)
        return self.places[pattern]

    def _fill(self, node: Node, pattern: Pattern, refutation: Refuted) -> None:
        match refutation:
            case NotGiven():
                pass
            case OtherValues(facts):
                others = ", ".join(self._fact(pattern.relation, fact) for fact in facts)
                node.how = f"its group has another value: {others}"
            case BeyondStages(limit):
                node.how = f"the query needs no stage above {limit:,}"
            case NoRule(rules):
                node.how = NO_FACT if rules else f"{NO_FACT}, and no rule derives {pattern.relation}"
                node.children += [self._failed_rule(failed, pattern) for failed in rules]
            case _:
                assert_never(refutation)

    def _failed_rule(self, failed: FailedRule, pattern: Pattern) -> int:
        rule = self.rules[failed.rule]
        how = "" if failed.is_sure else "not all facts were tried; others may come further"
        node = Node(
            Kind.RULE,
            f"{rule.name}: {_rule_text(rule)}",
            how,
            rule=rule.name,
            bindings=named(self.meaning.bound(rule.name, failed.bindings)),
        )
        node.children += [self._holding(rule, failed, place) for place in range(failed.holding)]
        node.children.append(self._failure(failed, pattern))
        return self._add(node)

    def _holding(self, rule: CoreRule, failed: FailedRule, place: int) -> int:
        literal = rule.body[place]
        bindings = dict(failed.bindings)
        shown = dict(self.meaning.bound(rule.name, failed.bindings))
        match literal:
            case Match(relation):
                fact = failed.facts[place]
                return self._add(Node(Kind.OPEN, self._fact(relation, fact), "holds", relation=relation, fact=fact))
            case Absent(relation, terms):
                unwanted = self.pattern(relation, pattern_values(terms, bindings))
                return self._add(Node(Kind.ABSENCE, f"no fact matches {unwanted}"))
            case _:
                return self._add(Node(Kind.CONDITION, holding_text(literal, shown)))

    def _failure(self, failed: FailedRule, pattern: Pattern) -> int:
        match failed.failure:
            case MissingFact(missing, is_null):
                if not is_null:
                    return self._missing(missing)
                text = self.pattern(missing.relation, missing.values)
                return self._add(Node(Kind.FAILED, text, "a value is null, which agrees with nothing"))
            case DisturbingFact(unwanted, fact):
                text = f"!{self.pattern(unwanted.relation, unwanted.values)}"
                return self._add(Node(Kind.FAILED, text, f"{self._fact(unwanted.relation, fact)} is there"))
            case FailedCondition(literal):
                text = condition_text(literal, dict(self.meaning.bound(failed.rule, failed.bindings)))
                return self._add(Node(Kind.FAILED, text, "does not hold"))
            case OtherHead(None):
                text = f"the head can not be {self.pattern(pattern.relation, pattern.values)}"
                return self._add(Node(Kind.FAILED, text))
            case OtherHead(values):
                assert values is not None
                text = f"the head is {self.pattern(pattern.relation, values)}"
                return self._add(Node(Kind.FAILED, text, "another fact"))
            case _:
                assert_never(failed.failure)


def _rule_text(rule: CoreRule) -> str:
    """Returns the rule as it is evaluated, with its body in that order."""
    body = ", ".join(literal_text(literal) for literal in rule.body)
    head = head_text(rule.relation, rule.head)
    return _NAME_OF_ANY.sub("_", f"{head} :- {body}." if body else f"{head}.")
