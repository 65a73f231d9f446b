"""Shows the explanation of a program as one page that needs nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable

from emberlog.logical.nodes import LogicalPlan
from emberlog.logical.summary import program_summary, stratum_kind, stream_notes
from emberlog.optimize.pipeline import Optimized, PassChange
from emberlog.render.pictures.drawing import Drawing, draw_connection_graph, draw_plan
from emberlog.render.pictures.page_style import PAGE_SCRIPT, page_head
from emberlog.render.pictures.program_listing import program_listing
from emberlog.render.pictures.svg import drawing_svg, escape
from emberlog.render.plan_text import changed_lines, pass_effect, plan_text
from emberlog.semantics.connection_graph import ConnectionGraph
from emberlog.semantics.model import CheckedProgram, Stratum


def explanation_page(checked: CheckedProgram, graph: ConnectionGraph, plan: LogicalPlan, optimized: Optimized) -> str:
    name = checked.program.source.name
    notes = stream_notes(checked)
    sections = [
        _section("program", "Program", program_listing(checked)),
        _section("graph", "Predicate connection graph", _graph(draw_connection_graph(graph))),
        _section("strata", "Strata", _strata(checked.strata)),
        *([_section("streams", "Streams", _list(notes))] if notes else []),
        *(_plan_as_written(plan) if notes else _plan_and_passes(plan, optimized)),
    ]
    anchors = [("program", "Program"), ("graph", "Connection graph"), ("strata", "Strata"), ("plan", "Plan")]
    anchors += [] if notes else [("passes", "Passes")]
    links = " ".join(f'<a href="#{anchor}">{title}</a>' for anchor, title in anchors)
    return f"""{page_head(f"{name}, explained")}
<body>
<header>
<h1>{escape(name)}</h1>
<p>{escape(program_summary(checked))}</p>
<nav>{links}</nav>
</header>
<main>
{"".join(sections)}</main>
<script>
{PAGE_SCRIPT}
</script>
</body>
</html>
"""


def _plan_as_written(plan: LogicalPlan) -> list[str]:
    """Shows the plan of a program over streams, which is not run by it: no pass is shown."""
    return [_section("plan", "Plan", "\n".join(_stratum(one) for one in draw_plan(plan)))]


def _plan_and_passes(plan: LogicalPlan, optimized: Optimized) -> list[str]:
    return [
        _section("plan", "Optimized plan", "\n".join(_stratum(one) for one in draw_plan(optimized.plan))),
        _section("passes", "Passes", "\n".join(_pass(change) for change in optimized.changes)),
        _section("before", "Plan before the passes", _folded("as text", f"<pre>{escape(plan_text(plan))}</pre>")),
    ]


def _section(anchor: str, title: str, content: str) -> str:
    return f'<section id="{anchor}">\n<h2>{title}</h2>\n{content}\n</section>\n'


def _graph(drawing: Drawing) -> str:
    return f'<p class="why">{escape(drawing.subtitle)}</p>\n<figure>{drawing_svg(drawing)}</figure>'


def _stratum(drawing: Drawing) -> str:
    title = f'{escape(drawing.title)} <span class="why">{escape(drawing.subtitle)}</span>'
    return f"<h3>{title}</h3>\n<figure>{drawing_svg(drawing)}</figure>"


def _strata(strata: Iterable[Stratum]) -> str:
    rows = []
    for stratum in strata:
        reason = stratum.recursion.reason if stratum.recursion else ""
        rules = ", ".join(f'<span class="rule-name">{escape(rule.name)}</span>' for rule in stratum.rules)
        rows.append(
            f"<tr><td>{stratum.index}</td><td><code>{escape(', '.join(stratum.relations))}</code></td>"
            f"<td>{rules}</td><td>{escape(stratum_kind(stratum.recursion))}"
            + (f'<br><span class="why">{escape(reason)}</span>' if reason else "")
            + "</td></tr>"
        )
    head = "<tr><th></th><th>relations</th><th>rules</th><th>how it is evaluated, and why</th></tr>"
    return f"<table>\n{head}\n" + "\n".join(rows) + "\n</table>"


def _list(notes: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(note)}</li>" for note in notes) + "</ul>"


def _pass(change: PassChange) -> str:
    effect = pass_effect(change)
    head = f'<code>{escape(change.name)}</code> <span class="effect {effect.split()[0].rstrip(":")}">{effect}</span>'
    reason = f'<span class="why">{escape(change.reason)}</span>'
    if effect != "changed":
        return f'<p class="pass">{head} {reason}</p>'
    marks = {"+": "came", "−": "went", " ": "why"}
    difference = "\n".join(f'<span class="{marks[line[0]]}">{escape(line)}</span>' for line in changed_lines(change))
    return f'<details class="pass" open><summary>{head} {reason}</summary><pre>{difference}</pre></details>'


def _folded(summary: str, content: str) -> str:
    return f"<details><summary>{summary}</summary>{content}</details>"
