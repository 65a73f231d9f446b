"""Tells what a plan is expected to cost: what is known of the data, rows of every node, the order of joins and why.

After a run the rows that were counted stand beside those that were expected.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from emberlog.engines.engine import Counted
from emberlog.events import RuleRound, RuleStep
from emberlog.logical.nodes import LogicalPlan, Plan, PlannedStratum, Project, Scan
from emberlog.logical.statistics import RelationStatistics, Statistics
from emberlog.logical.summary import round_number
from emberlog.logical.traverse import children, plans_of, scans
from emberlog.optimize.cardinality import NotKnown, estimate
from emberlog.optimize.derived_statistics import with_relations_of
from emberlog.optimize.join_order import best_order, order_as_given
from emberlog.optimize.join_region import Region, region_of
from emberlog.optimize.pipeline import Optimized
from emberlog.optimize.reorder_joins import reorder_joins
from emberlog.render.plan_text import stratum_lines_with_notes

FREQUENT_SHOWN = 3
_NEW = "of which were new"
NO_INPUTS = "the program reads nothing but its own facts"


def cost_text(optimized: Optimized, statistics: Statistics, counted: Counted | None = None) -> str:
    """Returns the text without a final line break."""
    sections = [("statistics", list(_statistics_lines(statistics)) or [NO_INPUTS])]
    reordering = next(one for one in optimized.changes if one.name == reorder_joins.__name__)
    orders = [] if reordering.is_off else list(dict.fromkeys(_order_lines(reordering.before, statistics)))
    if orders:
        sections.append(("order of joins", orders))
    heading = "rows expected" if counted is None else "rows expected, and rows counted in all iterations together"
    plan = optimized.plan if counted is None else counted.plan
    sections.append((heading, list(_plan_lines(plan, statistics, counted))))
    if counted is not None:
        sections += [(title, lines) for title, lines in _counted_sections(counted) if lines]
    return "\n\n".join("\n".join([title, *(f"  {line}".rstrip() for line in lines)]) for title, lines in sections)


def _statistics_lines(statistics: Statistics) -> Iterator[str]:
    width = max((len(name) for name in statistics), default=0)
    for name, known in sorted(statistics.items()):
        yield f"{name:<{width}}  {_known(known)}"


def _known(known: RelationStatistics) -> str:
    values = ", ".join(round_number(column.distinct) for column in known.columns)
    parts = [f"{round_number(known.rows)} rows", f"values by column: {values}"]
    for place, column in enumerate(known.columns, 1):
        top = sorted(column.frequent.items(), key=lambda pair: -pair[1])[:FREQUENT_SHOWN]
        if top:
            shown = ", ".join(f"{value} ({share:.1%})" for value, share in top)
            parts.append(f"frequent in column {place}: {shown}")
    return "; ".join((*parts, known.origin))


def _order_lines(plan: LogicalPlan, statistics: Statistics) -> Iterator[str]:
    known = statistics
    for stratum in plan.strata:
        known = with_relations_of(stratum, known)
        for one in plans_of(stratum.root):
            for rule, region in _regions(one, ""):
                yield from _order_line(rule, region, known)


def _regions(plan: Plan, rule: str) -> Iterator[tuple[str, Region]]:
    if isinstance(plan, Project) and plan.rule:
        rule = plan.rule
    region = region_of(plan)
    if len(region.inputs) > 2:
        yield rule, region
    below = region.inputs if len(region.inputs) > 1 else children(plan)
    for one in below:
        yield from _regions(one, rule)


def _order_line(rule: str, region: Region, known: Statistics) -> Iterator[str]:
    try:
        inputs = [estimate(one, known) for one in region.inputs]
    except NotKnown as unknown:
        yield f"{rule}: as written; nothing is known of {unknown}"
        return
    written, best = order_as_given(inputs, region.conditions), best_order(inputs, region.conditions)
    names = ", ".join(_name(region.inputs[place]) for place in best.inputs)
    on_the_way = f"about {round_number(best.cost)} rows on the way"
    if best.inputs == written.inputs:
        yield f"{rule}: {names}, as written; {on_the_way}, and no order has far fewer"
    else:
        yield f"{rule}: {names}; {on_the_way} instead of {round_number(written.cost)} as written"


def _name(plan: Plan) -> str:
    read = scans(plan)
    if len(read) == 1 and isinstance(read[0], Scan):
        delta = "Δ" if read[0].version.value == "delta" else ""
        return f"{delta}{read[0].relation}({', '.join(field.name for field in read[0].columns)})"
    return " with ".join(scan.relation for scan in read) or "facts"


def _plan_lines(plan: LogicalPlan, statistics: Statistics, counted: Counted | None) -> Iterator[str]:
    known = statistics
    for number, stratum in enumerate(plan.strata):
        known = with_relations_of(stratum, known)
        if number:
            yield ""
        yield from _stratum_lines(stratum, known, counted)


def _stratum_lines(stratum: PlannedStratum, known: Statistics, counted: Counted | None) -> list[str]:
    def note(node: Plan) -> str:
        try:
            expected = f"about {round_number(estimate(node, known).rows)}"
        except NotKnown:
            expected = "not known"
        if counted is None:
            return expected
        rows = counted.nodes.get(id(node))
        return f"{expected:<16}  {'not counted' if rows is None else f'{rows:,}'}"

    return stratum_lines_with_notes(stratum, note)


def _counted_sections(counted: Counted) -> Iterator[tuple[str, list[str]]]:
    yield "facts counted", [f"{names}: {rows:,}" for names, rows in counted.facts.items()]
    yield "rows that the workers' rules handed on, step by step", list(_step_lines(counted.rounds, counted.steps))


def _step_lines(rounds: Sequence[RuleRound], steps: Sequence[RuleStep]) -> Iterator[str]:
    width = max(len(_NEW), *(len(one.step) for one in steps)) if steps else 0
    for (rule, relation), own in groupby(steps, key=lambda one: (one.rule, one.relation)):
        yield f"{rule} of {relation}"
        yield from (f"  {one.step:<{width}}   {one.rows:,}" for one in own)
        gave = [one for one in rounds if (one.rule, one.relation) == (rule, relation)]
        yield f"  {'it gave':<{width}}   {sum(one.derived or 0 for one in gave):,}"
        if any(one.iteration for one in gave):
            yield f"  {_NEW:<{width}}   {sum(one.kept for one in gave):,}"
