"""Chooses for each stratum how its relations follow changes, and says why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from emberlog.config import Limits
from emberlog.live.maintain.closing import Closing
from emberlog.live.maintain.closure_shape import closure_shape
from emberlog.live.maintain.counting import Counting, Grouping
from emberlog.live.maintain.loading import Loader
from emberlog.live.maintain.maintainer import Maintainer
from emberlog.live.maintain.members import Member
from emberlog.live.maintain.recomputing import Recomputing
from emberlog.live.maintain.supporting import Supporting
from emberlog.live.searches.bodies import MOST_LOOPS, Body
from emberlog.live.searches.facts import Facts
from emberlog.live.searches.step_order import reads_failing
from emberlog.live.unroll import MOST_ROUNDS, unroll
from emberlog.logical.build import build
from emberlog.logical.contributions import ContributionLayout, layout_of
from emberlog.logical.needed_strata import needed_strata
from emberlog.logical.nodes import Definition, PlannedStratum
from emberlog.logical.statistics import NO_STATISTICS
from emberlog.optimize.join_by_computed_keys import join_by_computed_keys
from emberlog.optimize.linearise import linearise
from emberlog.semantics.model import CheckedProgram, CoreRule, RecursionCase, Stratum
from emberlog.source import NOWHERE

_ANEW = {
    RecursionCase.MONOTONE_SUM: "a count or sum in its own recursion has no single contribution to follow",
    RecursionCase.STAGED: f"it may have more than {MOST_ROUNDS} stages",
    RecursionCase.BOUNDED: f"it has more than {MOST_ROUNDS} rounds, or a relation that only its own recursion begins",
}


def maintainers(checked: CheckedProgram, facts: Mapping[str, Facts], limits: Limits) -> Iterator[Maintainer]:
    """Yields what keeps each stratum up to date, in their order. Only what the outputs need is kept."""
    unrolled = unroll(checked)
    checked = join_by_computed_keys(linearise(unrolled.checked, NO_STATISTICS).checked, NO_STATISTICS).checked
    whole = build(checked)
    loader = Loader(whole, facts, limits, {rule.name: rule.span for rule in checked.rules if rule.span is not NOWHERE})
    for planned in needed_strata(whole)[0]:
        maintainer = _maintainer(checked, planned, facts, limits, loader)
        if planned.relations[0] in unrolled.rounds:
            maintainer.method = "each round or stage is kept, and follows the changes of those before it"
        yield maintainer


def _maintainer(
    checked: CheckedProgram, planned: PlannedStratum, facts: Mapping[str, Facts], limits: Limits, loader: Loader
) -> Maintainer:
    [stratum] = [one for one in checked.strata if planned.relations[0] in one.relations]
    why = _why_anew(checked, stratum, planned, facts)
    if why is not None:
        return Recomputing(facts, loader, planned, why)
    if isinstance(planned.root, Definition):
        return _without_recursion(checked, planned.root, stratum, facts, loader)
    return _with_recursion(checked, stratum, facts, limits, loader, planned)


def _why_anew(
    checked: CheckedProgram, stratum: Stratum, planned: PlannedStratum, facts: Mapping[str, Facts]
) -> str | None:
    if stratum.recursion is not None and stratum.recursion.case in _ANEW:
        return _ANEW[stratum.recursion.case]
    for rule in stratum.rules:
        if rule.relation not in planned.relations:
            continue
        if reads_failing(rule):
            return f"rule {rule.name} looks up a value that there may not be"
        if Body(rule, (), facts, checked.functions, 0).has_many_loops:
            return f"rule {rule.name} has more than {MOST_LOOPS} atoms"
    return None


def _bodies(
    checked: CheckedProgram,
    layout: ContributionLayout,
    rules: Sequence[CoreRule],
    facts: Mapping[str, Facts],
    ranked: frozenset[str] = frozenset(),
) -> list[Body]:
    return [
        Body(
            rule,
            [output.expression for output in layout.outputs(rule)],
            facts,
            checked.functions,
            len(layout.keys),
            ranked,
        )
        for rule in rules
    ]


def _without_recursion(
    checked: CheckedProgram, definition: Definition, stratum: Stratum, facts: Mapping[str, Facts], loader: Loader
) -> Maintainer:
    name = definition.relation
    rules = [rule for rule in stratum.rules if rule.relation == name]
    layout = layout_of(checked.relations[name], rules, has_facts=bool(checked.facts.get(name)))
    bodies = _bodies(checked, layout, rules, facts)
    if not layout.aggregates:
        return Counting(facts, name, bodies, loader, definition)
    return Grouping(facts, name, bodies, layout, checked.functions, loader, definition)


def _with_recursion(
    checked: CheckedProgram,
    stratum: Stratum,
    facts: Mapping[str, Facts],
    limits: Limits,
    loader: Loader,
    planned: PlannedStratum,
) -> Maintainer:
    def one_by_one() -> Supporting:
        members = [_member(checked, name, stratum, facts) for name in planned.relations]
        return Supporting(facts, members, limits, loader, planned)

    [name, *others] = planned.relations
    is_set = all(column.aggregate is None for column in checked.relations[name].columns)
    shape = None if others or not is_set else closure_shape(name, stratum.rules)
    if shape is None:
        return one_by_one()
    layout = layout_of(checked.relations[name], stratum.rules, has_facts=bool(checked.facts.get(name)))
    seeds = _bodies(checked, layout, shape.seeds, facts)
    steps = [Body(rule, ends, facts, checked.functions, len(ends)) for rule, ends in shape.steps]
    written = map(layout.row, checked.facts.get(name, ()))
    return Closing(facts, facts[name], shape, seeds, steps, written, limits, loader, planned, one_by_one)


def _member(checked: CheckedProgram, name: str, stratum: Stratum, facts: Mapping[str, Facts]) -> Member:
    rules = [rule for rule in stratum.rules if rule.relation == name]
    layout = layout_of(checked.relations[name], rules, has_facts=bool(checked.facts.get(name)))
    written = [layout.row(fact) for fact in checked.facts.get(name, ())]
    bodies = _bodies(checked, layout, rules, facts, frozenset(stratum.relations))
    columns = [field.name for field in layout.columns]
    aggregates = [one.column for one in layout.aggregates]
    in_plan = [*(field.name for field in layout.keys), *(one.field.name for one in aggregates)]
    return Member(
        name,
        facts[name],
        bodies,
        written,
        len(layout.keys),
        [checked.functions.aggregates[one.function] for one in aggregates],
        [[columns.index(argument) for argument in one.arguments] for one in aggregates],
        [in_plan.index(column.name) for column in layout.relation.columns],
    )
