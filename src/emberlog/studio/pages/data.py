"""Shows the relations of the program and the data, and takes files."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import events, run, ui

from emberlog.diagnostics import EmberlogError
from emberlog.studio.guard import MOST_UPLOADED
from emberlog.studio.session import Session, Shown


class Data:
    def __init__(
        self, session: Session, on_change: Callable[[], Awaitable[None]], on_look: Callable[[str], Awaitable[None]]
    ) -> None:
        self._session = session
        self._on_change = on_change
        self._on_look = on_look
        with ui.element("section").classes("st-panel").props('aria-label="relations"'):
            ui.html("<h2>Relations</h2>")
            self._list = ui.column().style("gap: 0; width: 100%")
            self._problem = ui.label().classes("st-bad").props('role="alert"')
            kinds = "CSV, TSV, Parquet, JSON, ORC or .facts"
            self._upload = (
                ui.upload(
                    label=f"drop {kinds} here, or choose (up to {MOST_UPLOADED // 1024**3} GB)",
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

    def show(self, relations: tuple[Shown, ...]) -> None:
        self._list.clear()
        with self._list:
            for one in relations:
                self._show_relation(one)
            if not relations:
                ui.label("none yet: write a rule, or drop a file").classes("st-faint")

    def _show_relation(self, one: Shown) -> None:
        with ui.element("div").classes("st-relation"):
            with ui.element("div"):
                ui.label(f"{one.name}({one.columns})" if one.columns else one.name).style("font-family: var(--mono)")
                ui.label(one.kind).classes("st-faint")
            ui.label("" if one.facts is None else f"{one.facts:,}").classes("st-count")
            with ui.element("div").classes("st-row"):
                if one.is_data:
                    ui.button("look", color=None, on_click=lambda name=one.name: self._on_look(name)).props(
                        "no-caps flat dense size=sm"
                    )
                    ui.button("remove", color=None, on_click=lambda name=one.name: self._forget(name)).props(
                        "no-caps flat dense size=sm"
                    )

    async def _uploaded(self, event: events.UploadEventArguments) -> None:
        try:
            name, path = self._session.place_for(event.file.name)
            path.parent.mkdir(parents=True, exist_ok=True)
            await event.file.save(path)
            await run.io_bound(self._session.register, name, path)
        except EmberlogError as error:
            self._say("\n".join(one.message for one in error.diagnostics))
            return
        self._say("")
        self._upload.reset()
        await self._on_change()

    async def _forget(self, name: str) -> None:
        self._session.forget(name)
        await self._on_change()

    def _say(self, text: str) -> None:
        self._problem.text = text
