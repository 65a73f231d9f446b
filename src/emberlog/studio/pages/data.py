"""Shows the relations of the program and the data, and takes files."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from nicegui import events, run, ui

from emberlog.diagnostics import EmberlogError
from emberlog.render.look.html import element, joined
from emberlog.studio.checking import Shown
from emberlog.studio.guard import MOST_UPLOADED
from emberlog.studio.session import Session


class Data:
    def __init__(
        self, session: Session, on_change: Callable[[], Awaitable[None]], on_look: Callable[[str], Awaitable[None]]
    ) -> None:
        self._session = session
        self._on_change = on_change
        self._on_look = on_look
        with ui.element("section").classes("st-panel").props('aria-label="relations"'):
            ui.html("<h2>Relations</h2>")
            self._nothing = ui.label("none yet: write a rule, or drop a file").classes("st-faint")
            self._list = ui.column().style("gap: 0; width: 100%")
            self._rows: dict[str, tuple[Shown, ui.element]] = {}
            self._problem = ui.label().classes("st-bad").props('role="alert"')
            self._upload = (
                ui.upload(
                    label="drop files here: CSV, TSV, Parquet, JSON, ORC, .facts",
                    multiple=True,
                    auto_upload=True,
                    max_file_size=MOST_UPLOADED,
                    on_upload=self._uploaded,
                    on_rejected=lambda: self._say(
                        f"a file is larger than {MOST_UPLOADED // 1024**3} GB: start the studio with --facts"
                    ),
                )
                .props('flat bordered hide-upload-btn aria-label="add files"')
                .props('data-part="upload"')
            )
            # Not `reset`, which would end the uploads of other files that were dropped with one.
            self._upload.on("finish", lambda: self._upload.run_method("removeUploadedFiles"), args=[])

    def show(self, relations: tuple[Shown, ...]) -> None:
        """Shows these relations. Only those are drawn anew that are not as they were: it happens at every key."""
        names = [one.name for one in relations]
        for name in self._rows.keys() - set(names):
            self._rows.pop(name)[1].delete()
        for place, one in enumerate(relations):
            before, row = self._rows.get(one.name) or (None, self._new_row())
            if before != one:
                self._rows[one.name] = (one, row)
                self._fill(row, one)
            if self._list.default_slot.children[place] is not row:
                row.move(target_index=place)
        self._nothing.visible = not relations

    def _new_row(self) -> ui.element:
        with self._list:
            return ui.element("div").classes("st-relation")

    def _fill(self, row: ui.element, one: Shown) -> None:
        row.clear()
        titled = f"{one.name}({one.columns})" if one.columns else one.name
        told = element("div", element("code", titled), element("div", one.kind, class_="st-faint"))
        count = element("span", "" if one.facts is None else f"{one.facts:,}", class_="st-count")
        with row:
            ui.html(joined((told, count))).classes("st-told")
            if one.is_data:
                with ui.element("div").classes("st-row"):
                    for title, act in (("look", self._on_look), ("remove", self._forget)):
                        button = ui.button(title, color=None, on_click=partial(act, one.name))
                        button.props("no-caps flat dense").props["aria-label"] = f"{title}: {one.name}"

    async def _uploaded(self, event: events.UploadEventArguments) -> None:
        try:
            name, path = self._session.data.place_for(event.file.name)
            path.parent.mkdir(parents=True, exist_ok=True)
            await event.file.save(path)
            await run.io_bound(self._session.data.register, name, path)
        except EmberlogError as error:
            self._say("\n".join(one.message for one in error.diagnostics))
        except OSError as error:  # the disk is full, or the name is too long for it
            self._say(f"`{event.file.name}` cannot be kept: {(error.strerror or str(error)).lower()}")
        else:
            self._say("")
            await self._on_change()

    async def _forget(self, name: str) -> None:
        self._session.data.forget(name)
        await self._on_change()

    def _say(self, text: str) -> None:
        self._problem.text = text
