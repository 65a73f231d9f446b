"""Ways to write a program differently that mean the same: what a pass must not be misled by."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count

from hypothesis import strategies as st

from emberlog.semantics.model import CheckedProgram
from tests.property.programs import Draw, RandomProgram, RandomRule, reordered

Metamorphosis = Callable[[Draw, RandomProgram, CheckedProgram], RandomProgram]

_ATOM = re.compile(r"(\w+)\([^()]*\)")
_COMPUTED = re.compile(r"[-+*/]|\b(?:div|mod)\b")
_VARIABLE = re.compile(r"\b[A-Z]\w*")
_WILDCARD = re.compile(r"\b_\b")


def redundant_literals(draw: Draw, random: RandomProgram, _program: CheckedProgram) -> RandomProgram:
    """Some literals once more. A null agrees with nothing, so a second atom would lose it; `_` is any value anew, and
    two alternatives that hold count twice."""
    if any(None in fact for facts in random.facts.values() for fact in facts):
        return random
    rules = []
    for rule in random.rules:
        plain = [one for one in rule.body if not _WILDCARD.search(one) and " = " not in one and ";" not in one]
        again = draw(st.lists(st.sampled_from(plain), max_size=2)) if plain else []
        rules.append(replace(rule, body=(*rule.body, *again)))
    return replace(random, rules=tuple(rules))


def other_order(draw: Draw, random: RandomProgram, _program: CheckedProgram) -> RandomProgram:
    return replace(random, rules=reordered(draw, random.rules))


def rules_split_in_two(draw: Draw, random: RandomProgram, program: CheckedProgram) -> RandomProgram:
    """Some atoms of a body in a relation of their own, with all their variables, so that nothing is counted less. What
    is computed stays where it is: a literal that is left behind may protect it."""
    rules: list[RandomRule] = []
    for number, rule in enumerate(random.rules):
        named = _with_names(rule)
        own = _stratum_of(_relation(rule), program)
        atoms = [
            one for one in named.body if _is_atom(one) and _predicate(one) not in own and not _COMPUTED.search(one)
        ]
        first = draw(st.lists(st.sampled_from(atoms), min_size=1, unique=True)) if atoms else []
        variables = sorted({name for atom in first for name in _VARIABLE.findall(atom)})
        if not variables or draw(st.booleans()):
            rules.append(rule)
            continue
        part = f"part{number}({', '.join(variables)})"
        rest = tuple(literal for literal in named.body if literal not in first)
        # What is written twice stays so: a null agrees with itself in no two places.
        moved = tuple(literal for literal in named.body if literal in first)
        rules += [RandomRule(part, moved), replace(named, body=(part, *rest))]
    return replace(random, rules=tuple(rules))


def rules_split_by_cases(draw: Draw, random: RandomProgram, _program: CheckedProgram) -> RandomProgram:
    """A rule as two, for values that an input has and for all others."""
    rules: list[RandomRule] = []
    for rule in random.rules:
        bound = sorted({name for one in rule.body if _is_atom(one) for name in _int_variables(one)})
        if not bound or draw(st.booleans()):
            rules.append(rule)
            continue
        test = f"node({draw(st.sampled_from(bound))})"
        rules += [replace(rule, body=(*rule.body, test)), replace(rule, body=(*rule.body, f"!{test}"), annotation="")]
    return replace(random, rules=tuple(rules))


def rules_merged(draw: Draw, random: RandomProgram, _program: CheckedProgram) -> RandomProgram:
    """Rules with the same head as one, with alternatives."""
    merged: dict[str, list[RandomRule]] = {}
    for number, rule in enumerate(random.rules):
        apart = rule.annotation or draw(st.integers(0, 3)) == 0
        merged.setdefault(f"{rule.head} {number}" if apart else rule.head, []).append(rule)
    return replace(random, rules=tuple(_merged(group) for group in merged.values()))


def arguments_named(draw: Draw, random: RandomProgram, program: CheckedProgram) -> RandomProgram:
    """Some atoms with the names of their columns, in another order, without those that may be anything."""

    def named(literal: str) -> str:
        mark, atom = ("!", literal[1:]) if literal.startswith("!") else ("", literal)
        if not _is_atom(atom) or _predicate(atom) not in program.relations or draw(st.booleans()):
            return literal
        columns = [column.name for column in program.relations[_predicate(atom)].columns]
        terms = [term.strip() for term in atom[atom.index("(") + 1 : -1].split(",")]
        if len(terms) != len(columns):  # a text with a comma
            return literal
        pairs = draw(st.permutations(list(zip(columns, terms, strict=True))))
        kept = [pair for pair in pairs if pair[1] != "_"] or pairs
        return f"{mark}{_predicate(atom)}({', '.join(f'{name}: {term}' for name, term in kept)})"

    rules = (replace(rule, body=tuple(map(named, rule.body))) for rule in random.rules)
    return replace(random, rules=tuple(rules))


def conjunctions_negated(draw: Draw, random: RandomProgram, _program: CheckedProgram) -> RandomProgram:
    """Some negated atoms with a condition that always holds, in parentheses."""

    def grouped(literal: str) -> str:
        is_negated = literal.startswith("!") and _is_atom(literal[1:]) and not _COMPUTED.search(literal)
        return f"!({literal[1:]}, 1 = 1)" if is_negated and draw(st.booleans()) else literal

    return replace(random, rules=tuple(replace(rule, body=tuple(map(grouped, rule.body))) for rule in random.rules))


def further_heads(draw: Draw, random: RandomProgram, _program: CheckedProgram) -> RandomProgram:
    """Some rules with a second head, which has no arguments."""
    rules = []
    for number, rule in enumerate(random.rules):
        others = draw(st.sampled_from(((), (f"also{number}",), ("also()",))))
        rules.append(replace(rule, head=", ".join((rule.head, *others))))
    return replace(random, rules=tuple(rules))


METAMORPHOSES: tuple[Metamorphosis, ...] = (
    redundant_literals,
    other_order,
    rules_split_in_two,
    rules_split_by_cases,
    rules_merged,
    arguments_named,
    conjunctions_negated,
    further_heads,
)


def _merged(rules: Sequence[RandomRule]) -> RandomRule:
    first, *others = rules
    alternatives = "; ".join(", ".join(rule.body) for rule in (first, *others))
    return replace(first, body=(alternatives,)) if others else first


def _with_names(rule: RandomRule) -> RandomRule:
    """With a variable for each `_` of a positive atom."""
    numbers = count(1)

    def named(literal: str) -> str:
        if not _is_atom(literal):
            return literal
        return _WILDCARD.sub(lambda _: f"Any{next(numbers)}", literal)

    return replace(rule, body=tuple(named(literal) for literal in rule.body))


def _is_atom(literal: str) -> bool:
    return _ATOM.fullmatch(literal) is not None and not literal.startswith(("contains", "starts_with", "matches"))


def _predicate(atom: str) -> str:
    return atom[: atom.index("(")]


def _relation(rule: RandomRule) -> str:
    return _predicate(rule.head)


def _int_variables(atom: str) -> list[str]:
    """The variables of two inputs that hold nothing but ints."""
    return _VARIABLE.findall(atom) if _predicate(atom) in ("edge", "road", "node") else []


def _stratum_of(relation: str, program: CheckedProgram) -> tuple[str, ...]:
    return next((one.relations for one in program.strata if relation in one.relations), (relation,))
