"""The syntax tree of a program in Soufflé's language. Clauses hold the nodes of our own tree."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from emberlog.source import Span
from emberlog.syntax import ast


class TypeKind(Enum):
    SUBTYPE = "<:"
    UNION = "="
    """Of one other type, or of several."""


@dataclass(frozen=True, slots=True)
class Named:
    """A name where it stands: `graph.edge` is one."""

    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class Attribute:
    name: str
    type: Named


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch of an algebraic type; a record is one without a name."""

    name: Named | None
    fields: tuple[Attribute, ...]


@dataclass(frozen=True, slots=True)
class TypeDeclaration:
    name: Named
    kind: TypeKind
    members: tuple[Named, ...]
    branches: tuple[Branch, ...] = ()
    """Those of a record or an algebraic type, which has no members."""


@dataclass(frozen=True, slots=True)
class RelationDeclaration:
    name: Named
    attributes: tuple[Attribute, ...]
    qualifiers: tuple[Named, ...]
    span: Span
    choices: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Directive:
    """`.input edge(IO=file, filename="edges.csv")`"""

    kind: Named
    relation: Named
    parameters: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Functor:
    """`.functor f(x: number): number`, a function that is registered in Python by this name."""

    name: Named
    arguments: tuple[Named, ...]
    result: Named


@dataclass(frozen=True, slots=True)
class Clause:
    """A fact, a rule with one or several heads, or a subsumption."""

    rule: ast.Rule
    worse: ast.Head | None = None
    """Of a subsumption, what is left out; the rule is the other side, and the body."""


@dataclass(frozen=True, slots=True)
class Instance:
    """A component with arguments, `Graph<number>`, as a base or behind `.init`."""

    component: Named
    arguments: tuple[Named, ...] = ()


@dataclass(frozen=True, slots=True)
class Initialisation:
    name: Named
    instance: Instance


@dataclass(frozen=True, slots=True)
class Override:
    relation: Named


@dataclass(frozen=True, slots=True)
class Component:
    name: Named
    parameters: tuple[str, ...]
    bases: tuple[Instance, ...]
    items: tuple[Item, ...] = field(repr=False)


Item: TypeAlias = TypeDeclaration | RelationDeclaration | Directive | Clause | Component | Initialisation | Override
