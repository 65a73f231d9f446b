"""Finds what is worth a warning about a run: recursions that were cut off, and rows that count once in a sum."""

from __future__ import annotations

from collections.abc import Mapping

from emberlog.diagnostics import Diagnostics
from emberlog.events import Event, IterationFinished, Listener, RecursionCutOff
from emberlog.logical.nodes import Fixpoint, LogicalPlan
from emberlog.logical.summary import counted
from emberlog.semantics.model import CheckedProgram, Contribution, CoreRule, Match
from emberlog.source import NOWHERE, Span


class CutOffRecursions:
    """Hands events on, and takes note of recursions whose last round, by `@iterations`, still changed something."""

    def __init__(self, plan: LogicalPlan, listener: Listener) -> None:
        fixpoints = {one.index: one.root for one in plan.strata if isinstance(one.root, Fixpoint)}
        bounds = ((index, one.recursion.iterations) for index, one in fixpoints.items())
        self._bounds = {index: bound for index, bound in bounds if bound is not None}
        self._listener = listener
        self.found: dict[int, RecursionCutOff] = {}

    def __call__(self, event: Event, /) -> None:
        self._listener(event)
        if isinstance(event, IterationFinished) and event.stratum in self._bounds:
            self.found.pop(event.stratum, None)
            if event.delta_rows and event.iteration == self._bounds[event.stratum]:
                cut = RecursionCutOff(event.stratum, event.relations, event.iteration, event.delta_rows)
                self.found[event.stratum] = cut
                self._listener(cut)

    def tell(self, plan: LogicalPlan, places: Mapping[str, Span], diagnostics: Diagnostics) -> None:
        """Reports what was found, at the first rule of each recursion."""
        roots = {one.index: one.root for one in plan.strata}
        for cut in self.found.values():
            root = roots[cut.stratum]
            assert isinstance(root, Fixpoint)
            rules = (rule.name for relation in root.relations for rule in relation.rules)
            facts = counted(cut.changed, "fact")
            diagnostics.warning(
                "DL491",
                f"{_listed(cut.relations)} had not come to rest: the last of {cut.iterations:,} rounds changed {facts}",
                next((places[name] for name in rules if name in places), None),
                "raise @iterations if more rounds come to rest; a cycle in the data can make values grow for ever",
            )


def rows_that_add_up(checked: CheckedProgram) -> dict[str, CoreRule]:
    """Returns the inputs whose rows an aggregate adds up, as a sum does, each with the first such rule."""
    found: dict[str, CoreRule] = {}
    for rule in checked.rules:
        functions = [checked.functions.aggregates[one.function] for one in rule.head if isinstance(one, Contribution)]
        if any(not (one.is_meet or one.takes_repeats) for one in functions):
            read = {one.relation for one in rule.body if isinstance(one, Match)}
            found.update({name: rule for name in read.intersection(checked.inputs) if name not in found})
    return found


def tell_repeated_rows(name: str, rows: int, rule: CoreRule, diagnostics: Diagnostics) -> None:
    """Reports that an input has rows more than once, which count once in the aggregate of a rule."""
    verb = "does" if rows == 1 else "do"
    diagnostics.warning(
        "DL492",
        f"{counted(rows, 'duplicate row')} of `{name}` {verb} not count in rule {rule.name}: relations are sets",
        None if rule.span is NOWHERE else rule.span,
        "if they should, give each row a column that differs, such as its number",
    )


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)
