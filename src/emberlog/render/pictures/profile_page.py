"""Shows a profile as one page that needs nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from emberlog.logical.summary import counted
from emberlog.profile import RunProfile, StratumProfile
from emberlog.render.pictures.charts import Bar, bars_chart, columns_chart
from emberlog.render.pictures.page_style import page_head
from emberlog.render.pictures.svg import escape
from emberlog.render.profile_text import count_text

_STYLE = """
.chart { max-width: 100%; height: auto; }
.chart .axis { stroke: var(--line); }
.chart .axis-text { fill: var(--faint); font-size: 12px; }
.chart .bar-name { fill: var(--ink); font-size: 12.5px; }
.chart .amount { fill: var(--blue); opacity: 0.55; }
.chart .amount:hover { opacity: 1; }
.chart .part { fill: var(--ember); }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
"""

_MOST_ROWS = 400
"""Of the table of rules by iteration; the longest rounds are kept."""


def profile_page(name: str, profile: RunProfile) -> str:
    strata = "\n".join(_stratum(number, stratum) for number, stratum in enumerate(profile.strata, 1))
    summary = f"{profile.seconds:,.2f} s, {counted(len(profile.strata), 'stratum')}"
    return f"""{page_head(f"{name}, profiled", _STYLE)}
<body>
<header>
<h1>{escape(name)}</h1>
<p>{escape(summary)}</p>
</header>
<main>
<section>
<h2>Where the time went</h2>
<figure>{_seconds_by_stratum(profile)}</figure>
</section>
{strata}
</main>
</body>
</html>
"""


def _seconds_by_stratum(profile: RunProfile) -> str:
    bars = [Bar(one.name, one.seconds, f"{one.seconds:,.3f} s") for one in profile.strata]
    return bars_chart("Seconds of each stratum", bars)


def _stratum(number: int, stratum: StratumProfile) -> str:
    facts = "" if stratum.rows is None else f", {counted(stratum.rows, 'fact')}"
    parts = [f"<h2>{number}. <code>{escape(stratum.name)}</code></h2>"]
    chosen = f": {stratum.how}; {stratum.why}" if stratum.how else ""
    parts.append(f'<p class="why">{stratum.seconds:,.3f} s{facts}{escape(chosen)}</p>')
    if len(stratum.workers) > 1:
        parts += _workers(stratum)
    if stratum.iterations:
        parts += _iterations(stratum)
    if stratum.rounds:
        parts += _rules(stratum)
    return "<section>\n" + "\n".join(parts) + "\n</section>"


def _workers(stratum: StratumProfile) -> list[str]:
    bars = [
        Bar(
            f"worker {one.worker:,}",
            one.busy + one.waiting,
            f"{one.busy:,.3f} s busy, {one.waiting:,.3f} s waiting, {counted(one.exchanges, 'exchange')}",
            one.busy,
        )
        for one in stratum.workers
    ]
    return [
        '<h3>Seconds by worker <span class="why">in the second colour: busy, not waiting for others</span></h3>',
        f"<figure>{bars_chart('Seconds by worker', bars)}</figure>",
        f'<p class="why">{escape(stratum.imbalance)}</p>',
    ]


def _iterations(stratum: StratumProfile) -> list[str]:
    told = stratum.iterations
    deltas = [f"iteration {one.iteration:,}: {counted(one.delta_rows, 'new fact')}" for one in told]
    times = [f"iteration {one.iteration:,}: {one.seconds:,.4f} s" for one in told]
    return [
        "<h3>New facts by iteration</h3>",
        f"<figure>{columns_chart('New facts by iteration', [one.delta_rows for one in told], deltas)}</figure>",
        "<h3>Seconds by iteration</h3>",
        f"<figure>{columns_chart('Seconds by iteration', [one.seconds for one in told], times)}</figure>",
    ]


def _rules(stratum: StratumProfile) -> list[str]:
    totals = stratum.rules()
    labels = [f"{one.rule}  {one.relation}" for one in totals]
    times = [Bar(label, one.seconds, f"{one.seconds:,.3f} s") for label, one in zip(labels, totals, strict=True)]
    rows = [
        Bar(label, one.kept, f"{one.kept:,} new", one.kept)
        if one.derived is None
        else Bar(label, one.derived, f"{one.derived:,} derived, {one.kept:,} new", one.kept)
        for label, one in zip(labels, totals, strict=True)
    ]
    return [
        '<h3>Seconds by rule <span class="why">of all workers together</span></h3>',
        f"<figure>{bars_chart('Seconds by rule', times)}</figure>",
        '<h3>Rows by rule <span class="why">in the second colour: new where they were derived</span></h3>',
        f"<figure>{bars_chart('Rows by rule', rows)}</figure>",
        _table(stratum),
    ]


def _table(stratum: StratumProfile) -> str:
    longest = sorted(stratum.rounds, key=lambda one: -one.seconds)[:_MOST_ROWS]
    kept = sorted(longest, key=lambda one: (one.iteration, one.rule))
    rows = "\n".join(
        _row(
            (one.rule, one.relation),
            (f"{one.iteration:,}", count_text(one.derived), f"{one.kept:,}", f"{one.seconds:,.4f}"),
        )
        for one in kept
    )
    head = "<tr><th>rule</th><th>relation</th><th>iteration</th><th>derived</th><th>new</th><th>seconds</th></tr>"
    left_out = len(stratum.rounds) - len(kept)
    note = f'<p class="why">the {left_out:,} shortest are left out</p>' if left_out else ""
    table = f"<table>\n{head}\n{rows}\n</table>"
    return f"<details><summary>rule by rule, iteration by iteration</summary>\n{note}{table}</details>"


def _row(texts: Sequence[str], numbers: Sequence[str]) -> str:
    cells = [f"<td>{escape(text)}</td>" for text in texts] + [f'<td class="number">{number}</td>' for number in numbers]
    return f"<tr>{''.join(cells)}</tr>"
