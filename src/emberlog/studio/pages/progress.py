"""Shows a run while it goes on: its iterations, as a chart and as a table, and where the time went."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from emberlog.profile import RunProfile
from emberlog.render.look.page import within
from emberlog.render.look.profiles import profile_card
from emberlog.studio.runs import Run

MOST_LISTED = 200
"""Iterations of a stratum in the table: the last ones."""
MOST_DRAWN = 500
"""Points of a line in the chart."""


class Progress:
    def __init__(self) -> None:
        self._chart = ui.echart(_options()).classes("st-chart").props('data-part="chart"')
        self._list = ui.table(
            rows=[],
            columns=[
                {"name": "stratum", "label": "relations", "field": "stratum", "align": "left"},
                {"name": "iteration", "label": "iteration", "field": "iteration"},
                {"name": "new", "label": "new facts", "field": "new"},
                {"name": "total", "label": "facts", "field": "total"},
                {"name": "seconds", "label": "seconds", "field": "seconds"},
            ],
            pagination=25,
        ).props("flat dense")
        self._list.style("width: 100%").props('data-part="iterations"')

    def show(self, run: Run) -> None:
        """Shows the iterations so far, the last ones on top."""
        profile = run.profile
        options = self._chart.options
        options["series"] = [
            {"name": name, "type": "line", "showSymbol": len(points) < 40, "data": points}
            for name, points in lines_of(profile)
        ]
        self._chart.update()
        rows: list[dict[str, Any]] = []
        for stratum in profile.strata:
            for one in list(stratum.iterations)[-MOST_LISTED:]:
                rows.append(
                    {
                        "stratum": stratum.name,
                        "iteration": f"{one.iteration:,}",
                        "new": f"{one.delta_rows:,}",
                        "total": f"{one.total_rows:,}",
                        "seconds": f"{one.seconds:,.3f}",
                    }
                )
            if not stratum.iterations and stratum.rows is not None:
                rows.append(
                    {
                        "stratum": stratum.name,
                        "iteration": "",
                        "new": "",
                        "total": f"{stratum.rows:,}",
                        "seconds": f"{stratum.seconds:,.3f}",
                    }
                )
        self._list.rows = rows[::-1]


def lines_of(profile: RunProfile) -> list[tuple[str, list[list[int]]]]:
    """Returns for each stratum the new facts of its iterations; of very many, some."""
    lines = []
    for stratum in profile.strata:
        told = list(stratum.iterations)
        step = -(-len(told) // MOST_DRAWN) or 1
        if told:
            kept = [*told[::step], *([told[-1]] if (len(told) - 1) % step else [])]
            lines.append((stratum.name, [[one.iteration, one.delta_rows] for one in kept]))
    return lines


def profile_html(run: Run) -> str:
    return within(profile_card(run.profile))


def _options() -> dict[str, Any]:
    grey = {"color": "#7d8894"}
    return {
        "animation": False,
        "grid": {"left": 8, "right": 16, "top": 34, "bottom": 8, "containLabel": True},
        "legend": {"textStyle": grey, "type": "scroll", "top": 0},
        "tooltip": {"trigger": "axis", "renderMode": "richText"},
        "color": ["#5b8fc7", "#d9762b", "#4c9a6a", "#8a6bc2", "#c25a62"],
        "xAxis": {"type": "value", "minInterval": 1, "name": "", "axisLabel": grey, "splitLine": {"show": False}},
        "yAxis": {"type": "value", "name": "new facts", "nameTextStyle": {**grey, "align": "left"}, "axisLabel": grey},
        "series": [],
    }
