"""Shows an answer as a table: the server sorts and filters, and the browser has one page of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from nicegui import run, ui
from nicegui.events import GenericEventArguments

from emberlog.render.answer_text import python_text
from emberlog.studio.answers import Answer, Page, Problem, View, page_or_problem

SIZES = [25, 50, 100, 500]
LONGEST_CELL = 2_000
"""Characters of a cell that are shown."""


class AnswerTable:
    """Shows one answer."""

    def __init__(
        self, answer: Answer, on_why: Callable[[Sequence[object]], Awaitable[None]] | None = None, size: int = SIZES[0]
    ) -> None:
        self.answer = answer
        self._on_why = on_why
        self._view = View()
        self._rows: tuple[tuple[Any, ...], ...] = ()
        self._asked = 0
        with ui.element("div").classes("st-row").props('role="search" aria-label="filters"'):
            self._filters = [
                ui.input(
                    label=f"filter {name}: {type_}",
                    on_change=lambda event, place=place: self._filter(place, event.value),
                )
                .props('dense outlined debounce="250" autocomplete="off"')
                .classes("st-field")
                for place, (name, type_) in enumerate(zip(answer.columns, answer.types, strict=True))
            ]
        self._texts = [""] * len(self._filters)
        self._problem = ui.label().classes("st-bad").props('role="alert"')
        self._told = ui.label().classes("st-faint").props('data-part="told"')
        columns = [
            {
                "name": f"c{place}",
                "label": f"{name}",
                "field": f"c{place}",
                "sortable": not type_.parts,
                "align": "right" if type_.is_numeric else "left",
            }
            for place, (name, type_) in enumerate(zip(answer.columns, answer.types, strict=True))
        ]
        if on_why is not None:
            columns.append({"name": "why", "label": "", "field": "why", "align": "right"})
        pagination = {"page": 1, "rowsPerPage": size, "rowsNumber": 0, "sortBy": None, "descending": False}
        self.table = ui.table(rows=[], columns=columns, row_key="place", pagination=pagination)
        self.table.props(f':rows-per-page-options="{SIZES}" flat dense binary-state-sort').style("width: 100%")
        self.table.on("request", self._request)
        if on_why is not None:
            self.table.add_slot(
                "body-cell-why",
                """<q-td :props="props"><q-btn flat dense no-caps label="why"
                :aria-label="`why row ${props.rowIndex + 1}`"
                @click.stop="() => $parent.$emit('why', props.rowIndex)" /></q-td>""",
            )
            self.table.on("why", self._why)
            self.table.on("row-click", self._why, js_handler="(event, row) => emit(row.place)")

    async def show(self, page: int = 1) -> None:
        """Fetches a page of the view, and shows it."""
        self._asked += 1
        asked, view = self._asked, self._view
        size = self.table.pagination["rowsPerPage"] or SIZES[0]
        found = await run.io_bound(page_or_problem, self.answer, view, (page - 1) * size, size)
        if asked == self._asked and found is not None:
            self._show(found, page)

    def _show(self, found: Page | Problem, page: int) -> None:
        if isinstance(found, Problem):
            self._problem.text = ". ".join((found.text, *found.hints))
            return
        self._problem.text = ""
        self._rows = found.rows
        self.table.rows = [
            {"place": place, **{f"c{column}": python_text(cell)[:LONGEST_CELL] for column, cell in enumerate(row)}}
            for place, row in enumerate(found.rows)
        ]
        self.table.pagination = {**self.table.pagination, "page": page, "rowsNumber": found.matching}
        of = "" if found.matching == found.total else f" of {found.total:,}"
        order = "" if found.is_in_order else "; as they were found, a click on a column sorts them"
        self._told.text = f"{found.matching:,}{of} facts{order}"

    async def _request(self, event: GenericEventArguments) -> None:
        asked = event.args["pagination"]
        size = asked["rowsPerPage"] if asked["rowsPerPage"] in SIZES else SIZES[0]
        name = asked.get("sortBy")
        places = [f"c{place}" for place in range(len(self.answer.columns))]
        sort = places.index(name) if name in places else None
        view = View(sort, bool(asked.get("descending")), self._view.filters)
        is_same = view == self._view
        self._view = view
        self.table.pagination = {
            **self.table.pagination,
            "rowsPerPage": size,
            "sortBy": name,
            "descending": view.is_descending,
        }
        await self.show(int(asked["page"]) if is_same else 1)

    async def _filter(self, place: int, text: str | None) -> None:
        self._texts[place] = text or ""
        filters = tuple((column, one) for column, one in enumerate(self._texts) if one.strip())
        self._view = View(self._view.sort, self._view.is_descending, filters)
        await self.show()

    async def _why(self, event: GenericEventArguments) -> None:
        place = int(event.args)
        if self._on_why is not None and 0 <= place < len(self._rows):
            await self._on_why(self._rows[place])
