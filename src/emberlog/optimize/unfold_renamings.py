"""A relation that is others with their columns in another order is not written down: who reads it reads those.

`link(X, Y) :- arc(X, Y).  link(Y, X) :- arc(X, Y).` is arcs in both directions. To write it down takes a hash table of
all links and an index of them, for each run anew, and most recursions over it take less. The index of an input is kept.

Where one rule is all there is, each fact is one of the other relation, and nothing changes. Of several, a fact may come
from more than one, so rules that read them have to be indifferent to repeats. What a recursion finds is looked up in
each of them then. That is little beside reading what is found there if that is many rows, as statistics have to say,
and if the recursion has few facts beside what it reads: a value for each key, or one column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

from emberlog.logical.statistics import Statistics
from emberlog.optimize.rewritten import Rewritten, with_rules
from emberlog.optimize.share_common_bodies import is_idempotent
from emberlog.semantics.dependencies import rules_by_relation
from emberlog.semantics.model import Absent, CheckedProgram, CoreRule, Literal, Match, RecursionCase, Term
from emberlog.syntax.ast import Variable

MOST_RULES = 4
"""Rules that one becomes."""

LEAST_ROWS_OF_A_VALUE = 4
"""Rows that are read for each look-up, on average. On a grid of roads, with two, components took 1.6 times as long; on
an R-MAT graph, with thirty, a fifth."""


def unfold_renamings(checked: CheckedProgram, statistics: Statistics) -> Rewritten:
    if checked.has_streams:
        return Rewritten(checked, "a stream keeps all its facts")
    unfolded: list[str] = []
    program = checked
    # In the order of the strata: what a relation is read from is unfolded by then.
    for name in [name for stratum in checked.strata if stratum.recursion is None for name in stratum.relations]:
        parts = _renamed(name, program)
        if parts is None or not _may_read_parts(name, parts, program, statistics):
            continue
        rules = [one for rule in program.rules if rule.relation != name for one in _reading(rule, name, parts)]
        relations = {other: relation for other, relation in program.relations.items() if other != name}
        found = with_rules(program, rules, relations=relations)
        if found is not None:
            program = found
            unfolded.append(name)
    if not unfolded:
        return Rewritten(checked, "")
    return Rewritten(program, f"read where its rules read it: {', '.join(unfolded)}")


def _renamed(name: str, program: CheckedProgram) -> Sequence[CoreRule] | None:
    """Returns the rules of a relation, if each is another relation with its columns in some order."""
    rules = rules_by_relation(program.rules).get(name, ())
    is_kept = name in program.outputs or name in program.facts or program.relations[name].is_aggregated
    if is_kept or not 1 <= len(rules) <= MOST_RULES or not all(_is_renaming(rule, program) for rule in rules):
        return None
    return rules


def _is_renaming(rule: CoreRule, program: CheckedProgram) -> bool:
    match rule.body:
        case (Match() as atom,):
            pass
        case _:
            return False
    own = program.relations[rule.relation].columns
    types = {value: column.type for value, column in zip(rule.head, own, strict=True) if isinstance(value, Variable)}
    if not len(rule.head) == len(types) == len(set(atom.terms)) == len(atom.terms):
        return False
    read = program.relations[atom.relation].columns
    return all(
        isinstance(term, Variable) and types.get(term) == column.type
        for term, column in zip(atom.terms, read, strict=True)
    )


def _may_read_parts(name: str, parts: Sequence[CoreRule], program: CheckedProgram, statistics: Statistics) -> bool:
    readers = [rule for rule in program.rules if any(_reads(literal, name) for literal in rule.body)]
    if not readers or any(rule.relation == name for rule in readers):
        return False
    if len(parts) == 1:
        return True
    of_few_facts = {
        relation
        for stratum in program.strata
        if stratum.recursion is not None
        and stratum.recursion.is_linear
        and stratum.recursion.case in (RecursionCase.MEET, RecursionCase.SET)
        for relation in stratum.relations
        if stratum.recursion.case is RecursionCase.MEET or program.relations[relation].arity == 1
    }
    if not all(_has_many_rows_of_a_value(part, statistics) for part in parts):
        return False
    return any(_is_recursive(rule, program) for rule in readers) and all(
        is_idempotent(rule)
        and (rule.relation in of_few_facts or not _is_recursive(rule, program))
        and len(parts) ** sum(_reads(literal, name) for literal in rule.body) <= MOST_RULES
        and not any(isinstance(literal, Absent) and _reads(literal, name) for literal in rule.body)
        for rule in readers
    )


def _has_many_rows_of_a_value(part: CoreRule, statistics: Statistics) -> bool:
    (atom,) = part.body
    assert isinstance(atom, Match)
    known = statistics.get(atom.relation)
    return known is not None and known.rows >= LEAST_ROWS_OF_A_VALUE * max(one.distinct for one in known.columns)


def _is_recursive(rule: CoreRule, program: CheckedProgram) -> bool:
    return any(rule.relation in stratum.relations and stratum.recursion is not None for stratum in program.strata)


def _reads(literal: Literal, name: str) -> bool:
    return isinstance(literal, Match | Absent) and literal.relation == name


def _reading(rule: CoreRule, name: str, parts: Sequence[CoreRule]) -> Iterator[CoreRule]:
    """Yields the rule with each choice of the parts in the places of the relation."""
    ways = [
        [_renamed_literal(literal, part) for part in parts] if _reads(literal, name) else [literal]
        for literal in rule.body
    ]
    bodies = list(product(*ways))
    for number, body in enumerate(bodies, 1):
        yield replace(rule, name=rule.name if len(bodies) == 1 else f"{rule.name}.{number}", body=body)


def _renamed_literal(literal: Literal, part: CoreRule) -> Literal:
    assert isinstance(literal, Match | Absent)
    (atom,) = part.body
    assert isinstance(atom, Match)
    terms: Mapping[object, Term] = dict(zip(part.head, literal.terms, strict=True))
    return replace(literal, relation=atom.relation, terms=tuple(terms[variable] for variable in atom.terms))
