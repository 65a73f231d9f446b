"""A relation that one rule defines and one atom reads is put into the rule that reads it.

Then the order of joins is chosen for both bodies together, what the reader knows restricts what would have been
computed in full, and nothing is written down in between. That is right, and changes no count either, because only a
rule whose head has all the variables of its body is unfolded: each valuation of the body is a fact, and each
fact a valuation. A rule with more variables than its head derives facts twice, and making them one is worth a
relation; so is a relation that a recursion reads in every round.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from emberlog.logical.statistics import Statistics
from emberlog.optimize.information_order import bound_by
from emberlog.optimize.rewritten import Rewritten, with_rules
from emberlog.optimize.rule_substitution import fresh_name, literal_with, variable_names
from emberlog.semantics.dependencies import rules_by_relation
from emberlog.semantics.model import Absent, Bind, CheckedProgram, CoreRule, Literal, Match, Term
from emberlog.semantics.totality import rule_can_fail
from emberlog.syntax.ast import Variable

LONGEST_BODY = 12
"""Literals in one body, up to which unfolding goes: the order of a long one is hard to choose."""


def unfold_single_use(checked: CheckedProgram, _statistics: Statistics) -> Rewritten:
    if checked.has_streams:
        return Rewritten(checked, "a stream keeps all its facts")
    rules_of = rules_by_relation(checked.rules)
    recursive = {name for stratum in checked.strata if stratum.recursion for name in stratum.relations}
    uses = Counter(
        literal.relation for rule in checked.rules for literal in rule.body if isinstance(literal, Match | Absent)
    )
    candidates = {
        name
        for name, rules in rules_of.items()
        if len(rules) == uses[name] == 1
        and name not in recursive
        and name not in checked.outputs
        and name not in checked.facts
        and not checked.relations[name].is_aggregated
    }
    unfolded: dict[str, None] = {}
    rules: list[CoreRule] = []
    bodies: dict[str, CoreRule] = {}
    # In the order of the strata: what is put into a rule is done by then.
    for rule in (rule for stratum in checked.strata for rule in stratum.rules):
        for atom in rule.body:
            if isinstance(atom, Match) and atom.relation in bodies and rule.relation not in recursive:
                opened = _body_in_place(bodies[atom.relation], atom, rule)
                if opened is not None:
                    rule = opened
                    unfolded[atom.relation] = None
        if rule.relation in candidates:
            bodies[rule.relation] = rule
        rules.append(rule)
    if not unfolded:
        return Rewritten(checked, "")
    kept = [rule for rule in rules if rule.relation not in unfolded]
    relations = {name: relation for name, relation in checked.relations.items() if name not in unfolded}
    program = with_rules(checked, kept, relations=relations)
    if program is None:
        return Rewritten(checked, "")
    return Rewritten(program, f"put into the rule that reads it: {', '.join(unfolded)}")


def _body_in_place(rule: CoreRule, atom: Match, reader: CoreRule) -> CoreRule | None:
    """Returns the reader with the body of the rule in the place of the atom, or None where that would not be the
    same."""
    head = [value.name for value in rule.head if isinstance(value, Variable)]
    bound = {name for literal in rule.body for name in bound_by(literal)}
    if len(set(head)) != len(rule.head) or set(head) != bound or not rule.body:
        return None
    if len(rule.body) + len(reader.body) > LONGEST_BODY or rule_can_fail(rule):
        return None
    terms: dict[str, Term] = dict(zip(head, atom.terms, strict=True))
    computed = [terms[literal.variable.name] for literal in rule.body if isinstance(literal, Bind)]
    if not all(isinstance(term, Variable) and _is_bound_here_only(term, reader) for term in computed):
        return None
    taken = {name for literal in reader.body for name in variable_names(literal)}
    for name in dict.fromkeys(name for literal in rule.body for name in variable_names(literal)):
        if name not in terms:  # a negated atom's own: any value
            fresh = fresh_name(name, taken)
            terms[name] = Variable(fresh)
            taken.add(fresh)
    types = {term.name: rule.types[name] for name, term in terms.items() if isinstance(term, Variable)}
    place = reader.body.index(atom)
    literals = tuple(literal_with(literal, terms) for literal in rule.body)
    body: tuple[Literal, ...] = (*reader.body[:place], *literals, *reader.body[place + 1 :])
    return replace(reader, body=body, types={**types, **reader.types})


def _is_bound_here_only(variable: Variable, reader: CoreRule) -> bool:
    """Tells whether the atom that is unfolded is the one place of the reader where the variable gets its value."""
    places = Counter(
        name
        for literal in reader.body
        for name in (variable_names(literal) if isinstance(literal, Match) else bound_by(literal))
    )
    return places[variable.name] == 1
