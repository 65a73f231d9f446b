"""Shows a profile as one page that needs nothing from elsewhere."""

from __future__ import annotations

from emberlog.logical.summary import counted
from emberlog.profile import RunProfile
from emberlog.render.look.html import element
from emberlog.render.look.page import page, section
from emberlog.render.look.profiles import strata_bars, stratum_profile, time_bars


def profile_page(name: str, profile: RunProfile) -> str:
    whole = sum(profile.spent.values()) or profile.seconds
    parts = []
    if profile.spent:
        parts.append(section("time", "Where the time went", element("div", time_bars(profile.spent), class_="em-card")))
    parts.append(section("strata", "Time by stratum", element("div", strata_bars(profile), class_="em-card")))
    parts += [
        section(f"stratum{number}", f"{number}. {one.name}", element("div", stratum_profile(one), class_="em-card"))
        for number, one in enumerate(profile.strata, 1)
    ]
    links = [("time", "Time")] if profile.spent else []
    links.append(("strata", "Strata"))
    links += [(f"stratum{number}", one.name) for number, one in enumerate(profile.strata, 1)]
    summary = f"{whole:,.2f} s, {counted(len(profile.strata), 'stratum')}"
    return page(f"{name}, profiled", name, *parts, subtitle=summary, links=links)
