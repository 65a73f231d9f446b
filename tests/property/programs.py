"""Random programs with random small data: safe, stratified, terminating, and using most of the language.

A program is a chain of groups of relations. Each group reads the inputs and the groups before it, and is one of
the shapes in `shapes.py`: plain rules, recursion of every kind, aggregates in each of the legal cases.
Variables begin with a capital letter and nothing else does, which is all that renaming them needs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from emberlog.semantics.model import CellValue, Fact

INT, FLOAT, STRING = "int", "float", "string"

INTS = tuple(range(5))
FLOATS = (0.0, 0.5, 1.0, 2.5, -1.5)
"""Sums of these are exact, so answers do not depend on the order of addition."""
STRINGS = ("a", "b", "ab", "")


Draw = Callable[[st.SearchStrategy[Any]], Any]


@dataclass(frozen=True, slots=True)
class Signature:
    """A relation that bodies may read."""

    name: str
    types: tuple[str, ...]


INPUTS = (
    Signature("edge", (INT, INT)),
    Signature("link", (INT, INT)),
    Signature("road", (INT, INT, INT)),
    Signature("name", (INT, STRING)),
    Signature("size", (INT, FLOAT)),
    Signature("node", (INT,)),
)
"""`road` has no nulls and no negative values in its last column, so that it can be a length."""

DECLARATIONS = """\
declare edge(int a, int b).
declare link(int a, int b).
declare road(int a, int b, int length).
declare name(int a, string text).
declare size(int a, float amount).
declare node(int a)."""


@dataclass(frozen=True, slots=True)
class RandomRule:
    head: str
    body: tuple[str, ...]
    annotation: str = ""

    @property
    def text(self) -> str:
        return f"{self.annotation}{self.head} :- {', '.join(self.body)}."

    def renamed(self, prefix: str) -> RandomRule:
        """With other variables: what they are called means nothing."""
        return replace(
            self, head=_renamed(self.head, prefix), body=tuple(_renamed(literal, prefix) for literal in self.body)
        )


def _renamed(text: str, prefix: str) -> str:
    return re.sub(r"\b[A-Z]\w*", lambda match: f"{prefix}{match[0]}", text)


@dataclass(frozen=True, slots=True)
class RandomProgram:
    rules: tuple[RandomRule, ...]
    facts_in_text: tuple[str, ...]
    queries: tuple[str, ...]
    facts: Mapping[str, frozenset[Fact]]

    @property
    def text(self) -> str:
        lines = [DECLARATIONS, *self.facts_in_text, *(rule.text for rule in self.rules), *self.queries]
        return "\n".join(lines) + "\n"


def constant(draw: st.DrawFn, kind: str) -> str:
    """A constant as a program writes it."""
    match kind:
        case "int":
            return str(draw(st.sampled_from(INTS)))
        case "float":
            return str(draw(st.sampled_from(FLOATS)))
        case _:
            return f'"{draw(st.sampled_from(STRINGS))}"'


@st.composite
def data(draw: st.DrawFn) -> dict[str, frozenset[Fact]]:
    """Facts for every input; a few columns have nulls."""
    values: dict[str, st.SearchStrategy[CellValue]] = {
        INT: st.sampled_from(INTS),
        FLOAT: st.sampled_from(FLOATS),
        STRING: st.sampled_from(STRINGS),
    }
    nullable = draw(st.integers(0, 2)) == 0
    facts: dict[str, frozenset[Fact]] = {}
    for relation in INPUTS:
        columns = [
            st.one_of(values[kind], st.none()) if nullable and relation.name != "road" else values[kind]
            for kind in relation.types
        ]
        smallest = draw(st.sampled_from((0, 6, 10)))
        facts[relation.name] = draw(
            st.frozensets(st.tuples(*columns), min_size=min(smallest, 5 ** len(columns) - 1), max_size=14)
        )
    return facts


def query(draw: st.DrawFn, relation: Signature) -> str:
    terms = []
    for position, kind in enumerate(relation.types):
        form = draw(st.sampled_from(("variable", "variable", "constant", "wildcard")))
        if form == "variable":
            terms.append(f"V{position}")
        else:
            terms.append(constant(draw, kind) if form == "constant" else "_")
    if len(terms) > 1 and relation.types[0] == relation.types[1] and draw(st.integers(0, 3)) == 0:
        terms[0] = terms[1] = "V"
    return f"{relation.name}({', '.join(terms)})?"


def reordered(draw: Draw, rules: Sequence[RandomRule]) -> tuple[RandomRule, ...]:
    """The same rules in another order, each with its body in another order."""
    shuffled = draw(st.permutations(list(rules)))
    return tuple(replace(rule, body=tuple(draw(st.permutations(list(rule.body))))) for rule in shuffled)
