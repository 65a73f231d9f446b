"""Names for columns that are added to those of a relation."""

from __future__ import annotations

from collections.abc import Iterable


def free_name(name: str, taken: Iterable[str]) -> str:
    """The name, or one that begins like it if a column has it already."""
    used = {one.lower() for one in taken}
    while name in used:
        name = f"{name}_"
    return name
