"""Shows the explanation of a program as one page that needs nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable

from emberlog.logical.connection_graph import ConnectionGraph
from emberlog.logical.nodes import LogicalPlan
from emberlog.logical.summary import program_summary, stratum_kind, stream_notes
from emberlog.optimize.pipeline import Optimized, PassChange
from emberlog.render.look.components import fold, paragraph, preformatted, table
from emberlog.render.look.html import Html, element, joined
from emberlog.render.look.listings import program_listing
from emberlog.render.look.page import page, section
from emberlog.render.look.plans import plan_card
from emberlog.render.pictures.drawing import Drawing, draw_connection_graph, draw_plan
from emberlog.render.pictures.svg import drawing_svg, inline_style
from emberlog.render.plan_text import changed_lines, pass_effect
from emberlog.semantics.model import CheckedProgram, Stratum


def explanation_page(
    checked: CheckedProgram,
    graph: ConnectionGraph,
    plan: LogicalPlan,
    optimized: Optimized,
    choices: Iterable[str] = (),
) -> str:
    """`choices` says how the program is run, or what is done with its relations from slide to slide."""
    name = checked.program.source.name
    notes = stream_notes(checked)
    parts = [("program", "Program", program_listing(checked)), ("graph", "Connection graph", _graph(graph))]
    parts.append(("strata", "Strata", _strata(checked.strata)))
    if notes:
        parts += [("streams", "Streams", _list(notes)), ("plan", "Plan", _plan(plan))]
    else:
        parts += [
            ("plan", "Plan", _plan(optimized.plan)),
            ("passes", "Passes", joined(map(_pass, optimized.changes))),
            ("before", "Plan before the passes", fold("as it was written", plan_card(plan))),
        ]
    told = list(choices)
    if told:
        parts.append(("run", "How it runs", preformatted("\n".join(told))))
    return page(
        f"{name}, explained",
        name,
        *(section(anchor, title, inside) for anchor, title, inside in parts),
        subtitle=program_summary(checked),
        links=[(anchor, title) for anchor, title, _ in parts],
        style=inline_style(),
    )


def _graph(graph: ConnectionGraph) -> Html:
    drawing = draw_connection_graph(graph)
    return joined((paragraph(drawing.subtitle, is_faint=True), _figure(drawing)))


def _figure(drawing: Drawing) -> Html:
    picture = Html(drawing_svg(drawing))
    return element("figure", picture, class_="em-figure", tabindex="0", role="region", aria_label=drawing.title)


def _plan(plan: LogicalPlan) -> Html:
    """Shows the plan as trees that fold; pictures of them are a click away."""
    pictures = [
        joined(
            (element("h3", drawing.title, " ", element("span", drawing.subtitle, class_="em-faint")), _figure(drawing))
        )
        for drawing in draw_plan(plan)
    ]
    return joined((plan_card(plan), fold("as pictures", *pictures)))


def _strata(strata: Iterable[Stratum]) -> Html:
    rows = []
    for stratum in strata:
        reason = stratum.recursion.reason if stratum.recursion else ""
        kind = stratum_kind(stratum.recursion)
        how = joined((kind, element("br"), element("span", reason, class_="em-faint"))) if reason else kind
        rules = [element("span", rule.name, class_="em-rule") for rule in stratum.rules]
        relations = element("code", ", ".join(stratum.relations))
        rows.append((f"{stratum.index}", relations, joined(rules, ", "), how))
    return table(("", "relations", "rules", "how it is evaluated, and why"), rows)


def _list(notes: Iterable[str]) -> Html:
    return element("ul", *(element("li", note) for note in notes))


def _pass(change: PassChange) -> Html:
    effect = pass_effect(change)
    is_changed = effect.startswith("changed")
    told = element("span", effect, class_="em-ember" if is_changed else "em-faint")
    line = joined((element("code", change.name), told, element("span", change.reason, class_="em-faint")), " ")
    lines = changed_lines(change)
    if not lines:
        return paragraph(line)
    kinds = {"+": "em-came", "−": "em-went"}
    difference = joined((element("span", one, class_=kinds.get(one[0], "em-faint")) for one in lines), "\n")
    return fold(line, element("pre", difference, tabindex="0"), is_open=True)
