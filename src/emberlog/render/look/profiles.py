"""Shows where the time of a run went: by part, stratum, rule, iteration and worker."""

from __future__ import annotations

from collections.abc import Mapping

from emberlog.logical.summary import counted
from emberlog.profile import RunProfile, StratumProfile
from emberlog.render.look.components import Bar, bars, card, columns, fold, legend, paragraph, table
from emberlog.render.look.html import Html, element, joined
from emberlog.render.profile_text import count_text

MOST_ROWS = 400
"""Of the table of rules by iteration; the longest rounds are kept."""


def time_bars(spent: Mapping[str, float]) -> Html:
    """Shows the parts of a run, which add up to all of it."""
    total = sum(spent.values()) or 1.0
    entries = [Bar(part, one, f"{one:,.3f} s  {one / total:.0%}") for part, one in spent.items()]
    return joined((bars(entries), paragraph(f"{total:,.3f} s in all", is_faint=True)))


def strata_bars(profile: RunProfile) -> Html:
    return bars([Bar(one.name, one.seconds, f"{one.seconds:,.3f} s") for one in profile.strata])


def profile_card(profile: RunProfile) -> Html:
    strata = [
        fold(joined((element("code", one.name), f"  {one.seconds:,.3f} s")), stratum_profile(one))
        for one in profile.strata
    ]
    whole = sum(profile.spent.values()) or profile.seconds
    return card(
        element("strong", "profile"),
        time_bars(profile.spent) if profile.spent else strata_bars(profile),
        *strata,
        note=f"{whole:,.2f} s, {counted(len(profile.strata), 'stratum')}",
    )


def stratum_profile(stratum: StratumProfile) -> Html:
    facts = "" if stratum.rows is None else f", {counted(stratum.rows, 'fact')}"
    chosen = f": {stratum.how}; {stratum.why}" if stratum.how else ""
    parts = [paragraph(f"{stratum.seconds:,.3f} s{facts}{chosen}", is_faint=True)]
    if stratum.rounds:
        parts += _rules(stratum)
    if stratum.iterations:
        parts += _iterations(stratum)
    if len(stratum.workers) > 1:
        parts += _workers(stratum)
    return joined(parts)


def _workers(stratum: StratumProfile) -> list[Html]:
    entries = [
        Bar(
            f"worker {one.worker:,}",
            one.busy + one.waiting,
            f"{one.busy:,.3f} s busy, {one.waiting:,.3f} s waiting, {counted(one.exchanges, 'exchange')}",
            one.busy,
        )
        for one in stratum.workers
    ]
    return [
        element("h3", "Seconds by worker"),
        legend("waiting for others", "busy"),
        bars(entries),
        paragraph(stratum.imbalance, is_faint=True),
    ]


def _iterations(stratum: StratumProfile) -> list[Html]:
    told = stratum.iterations
    first, last = f"iteration {told[0].iteration:,}", f"{told[-1].iteration:,}"
    deltas = [f"iteration {one.iteration:,}: {counted(one.delta_rows, 'new fact')}" for one in told]
    times = [f"iteration {one.iteration:,}: {one.seconds:,.4f} s" for one in told]
    most = counted(max(one.delta_rows for one in told), "fact")
    longest = f"{max(one.seconds for one in told):,.4f} s"
    return [
        element("h3", "New facts by iteration"),
        columns([one.delta_rows for one in told], deltas, first=first, last=last, largest=most),
        element("h3", "Seconds by iteration"),
        columns([one.seconds for one in told], times, first=first, last=last, largest=longest),
    ]


def _rules(stratum: StratumProfile) -> list[Html]:
    totals = stratum.rules()
    named = [
        (joined((element("span", one.rule, class_="em-rule"), " ", element("code", one.relation))), one)
        for one in totals
    ]
    times = [Bar(label, one.seconds, f"{one.seconds:,.3f} s", rule=one.rule) for label, one in named]
    rows = [
        Bar(label, one.kept, f"{one.kept:,} new", one.kept, one.rule)
        if one.derived is None
        else Bar(label, one.derived, f"{one.derived:,} derived, {one.kept:,} new", one.kept, one.rule)
        for label, one in named
    ]
    return [
        element("h3", "Seconds by rule ", element("span", "of all workers together", class_="em-faint")),
        bars(times),
        element("h3", "Rows by rule"),
        legend("derived", "new where they were derived"),
        bars(rows),
        _by_iteration(stratum),
    ]


def _by_iteration(stratum: StratumProfile) -> Html:
    longest = sorted(stratum.rounds, key=lambda one: -one.seconds)[:MOST_ROWS]
    kept = sorted(longest, key=lambda one: (one.iteration, one.rule))
    rows = [
        (one.rule, one.relation, f"{one.iteration:,}", count_text(one.derived), f"{one.kept:,}", f"{one.seconds:,.4f}")
        for one in kept
    ]
    left_out = len(stratum.rounds) - len(kept)
    note = [paragraph(f"the {left_out:,} shortest are left out", is_faint=True)] if left_out else []
    head = ("rule", "relation", "iteration", "derived", "new", "seconds")
    return fold("rule by rule, iteration by iteration", *note, table(head, rows, numbers=range(2, 6)))
