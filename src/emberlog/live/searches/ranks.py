"""Numbers the facts of a recursion: some derivation of a fact reads only facts of lower ranks."""

from __future__ import annotations

GAP = 1 << 20
"""Between the rank of a fact and the highest of what it is derived from, at first: there is room to rise."""
UNRANKED = 1 << 61
"""The rank of a fact that has none yet: higher than all others."""
NO_LIMIT = 1 << 62


def next_rank(premise: int) -> int:
    """Returns the rank of what is derived from facts of ranks up to this one: the next whole number of gaps."""
    return (premise | (GAP - 1)) + 1
