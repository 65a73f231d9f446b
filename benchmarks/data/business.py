"""Data of companies: what products are made of, and who works for whom."""

from __future__ import annotations

import numpy as np

from benchmarks.data.randomness import Sequence
from benchmarks.data.relations import Relations, without_repeats


def bill_of_materials(levels: int, width: int, seed: int = 1) -> Relations:
    """Assemblies in levels of `width` parts; each part needs up to four of the next level, one to three pieces of each.

    Parts are shared between assemblies, so that quantities add up over many ways. The parts of the last level are
    bought, and take some days to arrive.
    """
    random = Sequence(seed, f"bill of materials {levels} {width}")
    assemblies = np.arange((levels - 1) * width, dtype=np.int64)
    part = np.repeat(assemblies, 4)
    component = (part // width + 1) * width + random.below(width, len(part))
    pairs = without_repeats({"part": part, "component": component})
    bought = np.arange((levels - 1) * width, levels * width, dtype=np.int64)
    return {
        "part_of": {**pairs, "pieces": random.below(3, len(pairs["part"])) + 1},
        "bought": {"part": bought, "days": random.below(60, width) + 1},
    }


def organisation(people: int, seed: int = 1) -> Relations:
    """People with names instead of numbers, each with one manager: `p17` works for `p3`."""
    random = Sequence(seed, f"organisation {people}")
    person = np.arange(1, people, dtype=np.int64)
    manager = random.below((person + 7) // 8, people - 1)
    names = np.array([f"p{number}" for number in range(people)], dtype=object)
    return {"works_for": {"person": names[person], "manager": names[manager]}}
