"""Which relation depends on which, through which rule; strongly connected components; cycles to show."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from emberlog.semantics.model import Absent, CoreRule, Match


@dataclass(frozen=True, slots=True)
class Dependency:
    """`head` is computed from `body`."""

    head: str
    body: str
    rule: CoreRule
    is_negated: bool


def dependencies_of(rules: Iterable[CoreRule]) -> tuple[Dependency, ...]:
    found = []
    for rule in rules:
        for literal in rule.body:
            if isinstance(literal, Match | Absent):
                found.append(Dependency(rule.relation, literal.relation, rule, isinstance(literal, Absent)))
    return tuple(found)


def components(relations: Iterable[str], dependencies: Iterable[Dependency]) -> tuple[tuple[str, ...], ...]:
    """Returns the strongly connected components, each after those it depends on (Tarjan, without recursion).

    Relations keep the given order inside a component, and components the order of their first relation where
    the dependencies leave a choice.
    """
    names = tuple(dict.fromkeys(relations))
    successors: dict[str, list[str]] = {name: [] for name in names}
    for dependency in dependencies:
        successors[dependency.head].append(dependency.body)
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    on_stack: dict[str, None] = {}
    found: list[tuple[str, ...]] = []
    order = {name: position for position, name in enumerate(names)}

    for root in names:
        if root in index:
            continue
        work = [(root, iter(successors[root]))]
        index[root] = low[root] = len(index)
        on_stack[root] = None
        while work:
            name, rest = work[-1]
            for successor in rest:
                if successor not in index:
                    index[successor] = low[successor] = len(index)
                    on_stack[successor] = None
                    work.append((successor, iter(successors[successor])))
                    break
                if successor in on_stack:
                    low[name] = min(low[name], index[successor])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[name])
                if low[name] == index[name]:
                    members = []
                    while True:
                        member, _ = on_stack.popitem()
                        members.append(member)
                        if member == name:
                            break
                    found.append(tuple(sorted(members, key=order.__getitem__)))
    return tuple(found)


def cycle_through(dependency: Dependency, dependencies: Iterable[Dependency]) -> tuple[Dependency, ...]:
    """Returns a shortest cycle that begins with this dependency, which must lie on one."""
    by_head: dict[str, list[Dependency]] = {}
    for other in dependencies:
        by_head.setdefault(other.head, []).append(other)
    came_by: dict[str, Dependency] = {dependency.body: dependency}
    queue = deque([dependency.body])
    while queue:
        name = queue.popleft()
        if name == dependency.head:
            break
        for step in by_head.get(name, []):
            if step.body not in came_by:
                came_by[step.body] = step
                queue.append(step.body)
    path: list[Dependency] = []
    name = dependency.head
    while True:
        step = came_by[name]
        path.append(step)
        if step is dependency:
            return tuple(reversed(path))
        name = step.head


def describe_cycle(cycle: Iterable[Dependency]) -> str:
    """`a → b (rule r2) → a (not b, rule r3)`: each arrow reads «needs»."""
    steps = tuple(cycle)
    text = steps[0].head
    for step in steps:
        mark = "not, " if step.is_negated else ""
        text += f" → {step.body} ({mark}rule {step.rule.name})"
    return text


def rules_by_relation(rules: Iterable[CoreRule]) -> Mapping[str, tuple[CoreRule, ...]]:
    grouped: dict[str, list[CoreRule]] = {}
    for rule in rules:
        grouped.setdefault(rule.relation, []).append(rule)
    return {name: tuple(group) for name, group in grouped.items()}
