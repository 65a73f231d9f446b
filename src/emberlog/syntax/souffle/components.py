"""Instantiates components: what stands in them comes out once for each `.init`, with names of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from emberlog.diagnostics import Diagnostics, nearest
from emberlog.syntax import ast
from emberlog.syntax.souffle.tree import (
    Attribute,
    Clause,
    Component,
    Directive,
    Initialisation,
    Instance,
    Item,
    Named,
    Override,
    RelationDeclaration,
    TypeDeclaration,
)

DEEPEST = 100
"""Components inside of components, by bases and by instances."""

Renaming = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class _Scope:
    """What names mean at a place: those of components, and what relations, types and instances are called outside."""

    components: Mapping[str, Component]
    names: Mapping[str, str] = field(default_factory=dict)
    prefix: str = ""
    depth: int = 0
    unread: frozenset[str] = frozenset()
    """Names of what may be declared where the text could not be read."""

    def renamed(self, name: str) -> str:
        first, point, rest = name.partition(".")
        return f"{self.names.get(first, first)}{point}{rest}"


def instantiated(items: Sequence[Item], announced: frozenset[str], diagnostics: Diagnostics) -> list[Item]:
    """Returns the items without components: each instance has become the items that it stands for. `announced` are the
    names behind directives."""
    unread = announced if diagnostics.error_count else frozenset[str]()
    return list(_flat(items, _Scope({}, unread=unread), diagnostics))


def _flat(items: Sequence[Item], outside: _Scope, diagnostics: Diagnostics) -> Iterator[Item]:
    inside = {one.name.name: one for one in items if isinstance(one, Component)}
    names = {name: f"{outside.prefix}{name}" for name in _declared(items)}
    scope = replace(outside, components={**outside.components, **inside}, names={**outside.names, **names})
    for item in items:
        match item:
            case Component() | Override():
                pass
            case Initialisation(name, instance):
                prefix = f"{scope.renamed(name.name)}."
                within = replace(scope, prefix=prefix, depth=scope.depth + 1)
                yield from _flat(_contents(instance, scope, diagnostics, ()), within, diagnostics)
            case _:
                yield _renamed(item, scope.renamed)


def _declared(items: Sequence[Item]) -> Iterator[str]:
    for item in items:
        match item:
            case RelationDeclaration(name=name) | TypeDeclaration(name=name) | Initialisation(name=name):
                yield name.name
            case _:
                pass


def _contents(instance: Instance, scope: _Scope, diagnostics: Diagnostics, above: tuple[str, ...]) -> list[Item]:
    """Returns the items of a component and its bases, with arguments in the places of parameters."""
    name, span = instance.component.name, instance.component.span
    component = scope.components.get(name)
    if component is None and name in scope.unread:
        return []
    if component is None:
        guess = nearest(name, scope.components)
        hints = [f"did you mean `{guess}`?"] if guess else []
        diagnostics.error("DL124", f"there is no component `{name}`", span, *hints)
        return []
    if name in above or scope.depth > DEEPEST:
        diagnostics.error("DL124", f"`{name}` contains itself", span, "a component cannot be a part of itself")
        return []
    if len(component.parameters) != len(instance.arguments):
        wanted, got = len(component.parameters), len(instance.arguments)
        counted = f"{wanted} argument{'' if wanted == 1 else 's'}"
        diagnostics.error("DL124", f"`{name}` takes {counted} in `<…>`, and gets {got}", span)
        return []
    given = dict(zip(component.parameters, (one.name for one in instance.arguments), strict=True))

    def substituted(name: str) -> str:
        first, point, rest = name.partition(".")
        return f"{given.get(first, first)}{point}{rest}"

    own = [_renamed(item, substituted) for item in component.items]
    overridden = {item.relation.name for item in own if isinstance(item, Override)}
    inherited: list[Item] = []
    for base in component.bases:
        of_base = replace(
            base,
            component=_with_name(base.component, substituted),
            arguments=tuple(_with_name(one, substituted) for one in base.arguments),
        )
        inherited += _contents(of_base, scope, diagnostics, (*above, name))
    kept = [item for item in inherited if not (isinstance(item, Clause) and _defines(item, overridden))]
    return [*kept, *own]


def _defines(clause: Clause, relations: set[str]) -> bool:
    return any(head.predicate in relations for head in clause.rule.heads)


def _with_name(named: Named, rename: Renaming) -> Named:
    return replace(named, name=rename(named.name))


def _with_types(attributes: Sequence[Attribute], rename: Renaming) -> tuple[Attribute, ...]:
    return tuple(Attribute(one.name, _with_name(one.type, rename)) for one in attributes)


def _renamed(item: Item, rename: Renaming) -> Item:
    """Returns the item with other names of relations, types, instances and components."""
    match item:
        case TypeDeclaration(name, _, members, branches):
            return replace(
                item,
                name=_with_name(name, rename),
                members=tuple(_with_name(one, rename) for one in members),
                branches=tuple(replace(one, fields=_with_types(one.fields, rename)) for one in branches),
            )
        case RelationDeclaration(name, attributes):
            return replace(item, name=_with_name(name, rename), attributes=_with_types(attributes, rename))
        case Directive(_, relation):
            return replace(item, relation=_with_name(relation, rename))
        case Override(relation):
            return Override(_with_name(relation, rename))
        case Initialisation(name, instance):
            return Initialisation(name, _renamed_instance(instance, rename))
        case Component(_, parameters, bases, items):

            def within(name: str) -> str:
                return name if name in parameters else rename(name)

            own_bases = tuple(_renamed_instance(base, within) for base in bases)
            return replace(item, bases=own_bases, items=tuple(_renamed(one, within) for one in items))
        case Clause(rule, worse):
            other = None if worse is None else replace(worse, predicate=rename(worse.predicate))
            return Clause(_renamed_rule(rule, rename), other)
        case _:
            assert_never(item)


def _renamed_instance(instance: Instance, rename: Renaming) -> Instance:
    arguments = tuple(_with_name(one, rename) for one in instance.arguments)
    return Instance(_with_name(instance.component, rename), arguments)


def _renamed_rule(rule: ast.Rule, rename: Renaming) -> ast.Rule:
    heads = [replace(head, predicate=rename(head.predicate)) for head in rule.heads]
    body = None if rule.body is None else _renamed_body(rule.body, rename)
    return replace(rule, head=heads[0], others=tuple(heads[1:]), body=body)


def _renamed_body(body: ast.Conjunction, rename: Renaming) -> ast.Conjunction:
    return replace(body, parts=tuple(_renamed_part(part, rename) for part in body.parts))


def _renamed_part(part: ast.BodyPart, rename: Renaming) -> ast.BodyPart:
    match part:
        case ast.Atom(predicate):
            return replace(part, predicate=rename(predicate))
        case ast.Disjunction(alternatives):
            return replace(part, alternatives=tuple(_renamed_body(one, rename) for one in alternatives))
        case ast.Negation(body) | ast.Aggregation(body=body):
            return replace(part, body=_renamed_body(body, rename))
        case ast.Comparison():
            return part
        case _:
            assert_never(part)
