"""Shows the plan of the program at hand as a tree that folds, with rows as expected and as counted."""

from __future__ import annotations

from emberlog.logical.nodes import Plan
from emberlog.logical.statistics import Statistics
from emberlog.logical.summary import round_number
from emberlog.logical.traverse import children, plans_of
from emberlog.optimize.cardinality import NotKnown, estimate
from emberlog.optimize.derived_statistics import with_relations_of
from emberlog.render.cost_text import cost_text
from emberlog.render.look.components import fold, preformatted
from emberlog.render.look.page import within
from emberlog.render.look.plans import plan_card
from emberlog.studio.session import Session


def plan_html(session: Session, counts: bool) -> str:
    """Returns the plan; with `counts`, the program is run once more to count the rows of each step."""
    explained, known, counted = session.costs(counts)
    plan = explained.optimized.plan if counted is None else counted.plan
    expected: dict[int, str] = {}
    statistics = known
    for stratum in plan.strata:
        statistics = with_relations_of(stratum, statistics)
        for one in plans_of(stratum.root):
            _estimate_all(one, statistics, expected)

    def note(node: Plan) -> str:
        told = expected.get(id(node), "")
        rows = None if counted is None else counted.nodes.get(id(node))
        return told if rows is None else f"{told + ', ' if told else ''}{rows:,} counted"

    parts = [plan_card(plan, "plan, with rows expected" + ("" if counted is None else " and counted"), note)]
    parts.append(fold("how it runs", preformatted("\n".join(explained.choices))))
    if not explained.checked.has_streams:
        parts.append(fold("costs in words", preformatted(cost_text(explained.optimized, known, counted))))
    return within(*parts)


def _estimate_all(plan: Plan, statistics: Statistics, expected: dict[int, str]) -> None:
    waiting = [plan]
    while waiting:
        node = waiting.pop()
        if id(node) not in expected:
            try:
                expected[id(node)] = f"about {round_number(estimate(node, statistics).rows)}"
            except NotKnown:
                expected[id(node)] = ""
            waiting.extend(children(node))
