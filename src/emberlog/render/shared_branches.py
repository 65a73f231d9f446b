"""Keeps a plan from saying the same twice: what stands in its tree again is named where it stands first, and referred
to everywhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count

from emberlog.logical.nodes import Plan
from emberlog.render.plan_tree import PlanBranch

Note = Callable[[Plan], str]
"""Says something about a node, such as how many rows it gave. What differs in that is not the same."""


def without_repeats(root: PlanBranch, note: Note = lambda _: "") -> PlanBranch:
    """Returns the tree with every branch that has others below it once. Scans stand where they are read."""
    return _Sharing(note).of(root)


class _Sharing:
    def __init__(self, note: Note) -> None:
        self._note = note
        self._numbers: dict[object, int] = {}
        """Equal branches have equal numbers, whatever they are to the branch above."""
        self._known: dict[int, int] = {}
        """The same by the identity of a branch."""
        self._repeated: set[int] = set()

    def of(self, root: PlanBranch) -> PlanBranch:
        self._find(root, set())
        return self._named(root, {}, count(1))

    def _key(self, branch: PlanBranch) -> int:
        if id(branch) not in self._known:
            below = tuple((child.role, self._key(child)) for child in branch.children)
            told = "" if branch.node is None else self._note(branch.node)
            words = (branch.operator, branch.detail, branch.rule, told, below)
            self._known[id(branch)] = self._numbers.setdefault(words, len(self._numbers))
        return self._known[id(branch)]

    def _find(self, branch: PlanBranch, seen: set[int]) -> None:
        """Notes what is repeated. What is within a branch that is not shown again is not repeated by it."""
        if not branch.children:
            return
        key = self._key(branch)
        if key in seen:
            self._repeated.add(key)
            return
        seen.add(key)
        for child in branch.children:
            self._find(child, seen)

    def _named(self, branch: PlanBranch, names: dict[int, str], numbers: Iterator[int]) -> PlanBranch:
        if not branch.children:
            return branch
        key = self._key(branch)
        if key in names:
            return replace(branch, children=(), same_as=names[key])
        if key in self._repeated:
            names[key] = f"#{next(numbers)}"
        children = tuple(self._named(child, names, numbers) for child in branch.children)
        return replace(branch, children=children, name=names.get(key, ""))
