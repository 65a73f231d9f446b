"""Names for columns that are added to those of a relation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def free_name(name: str, taken: Iterable[str]) -> str:
    """The name, or one that begins like it if a column has it already."""
    used = {one.lower() for one in taken}
    while name.lower() in used:
        name = f"{name}_"
    return name


def distinct_names(names: Sequence[str]) -> list[str]:
    """The names, changed where one is like another before it: Spark takes no heed of capitals."""
    distinct: list[str] = []
    for name in names:
        distinct.append(free_name(name, distinct))
    return distinct
