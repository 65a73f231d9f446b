"""Says which inputs of a program have no facts: one that is declared is empty, any other is a mistake."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from emberlog.diagnostics import Diagnostics, nearest
from emberlog.semantics.model import CheckedProgram
from emberlog.source import NOWHERE


def report_missing_inputs(
    checked: CheckedProgram,
    needed: Iterable[str],
    given: Collection[str],
    how_to_give: Callable[[str], Iterable[str]],
    diagnostics: Diagnostics,
) -> None:
    """Reports the inputs among `needed` that are not `given`; `how_to_give` has the hints for one of them."""
    for name in needed:
        relation = checked.relations[name]
        place = None if relation.span is NOWHERE else relation.span
        if relation.data_name in given:
            continue
        if relation.is_declared and not relation.is_stream:
            message = f"`{name}` is declared, and nobody gives facts for it: it is empty"
            diagnostics.warning("DL294", message, place, *how_to_give(name))
            continue
        guess = nearest(name, given)
        known = [f"there are facts for {', '.join(f'`{one}`' for one in sorted(given))}"] if given else []
        hints = [f"did you mean `{guess}`? there are facts for it"] if guess else known
        diagnostics.error("DL401", f"there are no facts for the relation `{name}`", place, *hints, *how_to_give(name))
