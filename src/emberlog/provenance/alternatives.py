"""Finds other proofs of a fact: every choice of steps that uses no fact in its own proof, the smallest first.

A proof chooses a step for each of its facts. From a proof others are made by choosing another step for one fact, which
may rest on facts that came later, with their smallest proofs below. What goes round in a circle is none.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from itertools import islice

from emberlog.provenance.model import Goal, ProofTree, Step, goals_of
from emberlog.provenance.proofs import Prover

MOST_CHOICES = 100
"""Steps that are tried for one fact."""


def alternatives(prover: Prover, root: Goal, *, facts: int) -> Iterator[ProofTree]:
    """Yields all proofs of a fact, in the order of their heights as far as they are known."""
    choices = _Choices(prover)
    chosen: Mapping[Goal, Step] = {}
    seen = {frozenset[tuple[Goal, Step]]()}
    number = 0
    first = prover.completed(root, {}, depth=None, facts=facts)
    waiting: list[tuple[int, int, ProofTree, Mapping[Goal, Step]]] = [(height(first) or 0, 0, first, chosen)]
    while waiting:
        _, _, proof, chosen = heapq.heappop(waiting)
        yield proof
        for goal in proof.steps:
            if goal in chosen:
                continue
            for step in choices.of(goal):
                other = {**chosen, goal: step}
                if step == proof.steps[goal] or (key := frozenset(other.items())) in seen:
                    continue
                seen.add(key)
                tree = prover.completed(root, other, depth=None, facts=facts)
                tall = height(tree)
                if tall is not None:
                    number += 1
                    heapq.heappush(waiting, (tall, number, tree, other))


class _Choices:
    def __init__(self, prover: Prover) -> None:
        self.prover = prover
        self._known: dict[Goal, tuple[Step, ...]] = {}

    def of(self, goal: Goal) -> tuple[Step, ...]:
        if goal not in self._known:
            self._known[goal] = tuple(islice(self.prover.other_steps(goal), MOST_CHOICES))
        return self._known[goal]


def height(proof: ProofTree) -> int | None:
    """Returns the steps from the root to the deepest fact; None if a fact is used in its own proof."""
    heights: dict[Goal, int] = {}
    open_goals: set[Goal] = set()
    pending = [proof.root]
    while pending:
        goal = pending[-1]
        below = goals_of(proof.steps[goal]) if goal in proof.steps else ()
        missing = [other for other in below if other not in heights]
        if not missing:
            heights[goal] = 1 + max((heights[other] for other in below), default=-1)
            open_goals.discard(goal)
            pending.pop()
        elif goal in open_goals:
            return None
        else:
            open_goals.add(goal)
            if any(other in open_goals for other in missing):
                return None
            pending += missing
    return heights[proof.root]
