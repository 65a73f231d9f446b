"""Shows the program: the text with its colours and marks, and below it what is wrong with it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib.resources import files

from nicegui import run, ui

from emberlog.diagnostics import Severity
from emberlog.editor.token_rules import codemirror_script
from emberlog.studio.checking import Checked, Mistake
from emberlog.studio.session import Session

MOST_SHOWN = 50
"""Mistakes that are listed; the others are counted."""


class Editor:
    """Shows the text of a session, and checks it while somebody types."""

    def __init__(
        self,
        session: Session,
        on_check: Callable[[Checked], None],
        on_run: Callable[[], Awaitable[None]],
        on_save: Callable[[], None],
    ) -> None:
        self._session = session
        self._on_check = on_check
        self._is_checking = False
        self._shown: tuple[Mistake, ...] | None = None
        with ui.element("div").classes("st-panel st-editor"):
            self.text = ui.codemirror(
                session.text,
                language="Emberlog",  # type: ignore[arg-type]
                indent="    ",
                line_wrapping=True,
                keymap={"Mod-Enter": on_run, "Mod-s": on_save},
                on_change=self._changed,
            ).props('data-part="program"')
        with ui.element("div").classes("st-panel").props('aria-live="polite" role="region" aria-label="problems"'):
            self._problems = ui.column().classes("gap-0").style("gap: 0; width: 100%")

    def put(self, text: str) -> None:
        """Replaces the whole text."""
        self.text.value = text

    async def _changed(self) -> None:
        self._session.text = self.text.value or ""
        await self.check()

    async def check(self) -> None:
        """Checks the text; what is typed meanwhile is checked once more after it."""
        if self._is_checking:
            return
        self._is_checking = True
        try:
            while True:
                text = self._session.text
                checked = await run.io_bound(self._session.check, text)
                if self._session.text == text and checked is not None:
                    self.show(checked)
                    return
        finally:
            self._is_checking = False

    def show(self, checked: Checked) -> None:
        self.text.decorations = [
            {"kind": "mark", "from": one.start, "to": one.end, "class": f"st-{one.severity.value}"}
            for one in checked.mistakes[:MOST_SHOWN]
            if one.start is not None and one.end is not None and one.start < one.end <= len(checked.text)
        ]
        tips: dict[int, str] = {}
        for one in checked.mistakes[:MOST_SHOWN]:
            if one.line is not None:
                tips[one.line] = "\n".join(filter(None, (tips.get(one.line), f"{one.code}: {one.message}")))
        if self.text.line_tooltips != tips:
            self.text.line_tooltips = tips
        if self._shown != checked.mistakes:
            self._shown = checked.mistakes
            self._list()
        self._on_check(checked)

    def _list(self) -> None:
        """Lists what is wrong."""
        mistakes = self._shown or ()
        self._problems.clear()
        with self._problems:
            for one in mistakes[:MOST_SHOWN]:
                self._show_mistake(one)
            more = len(mistakes) - MOST_SHOWN
            if more > 0:
                ui.label(f"… and {more:,} more").classes("st-faint")
            if not mistakes:
                ui.label("no problems").classes("st-good")

    def _show_mistake(self, one: Mistake) -> None:
        is_warning = one.severity is Severity.WARNING
        button = ui.element("button").classes("st-problem" + (" st-is-warning" if is_warning else ""))
        with button.props('type="button"').props('data-part="problem"'):
            place = f"line {one.line:,}, column {one.column:,}" if one.line is not None else "the whole program"
            with ui.element("div"):
                ui.label(f"{one.severity.value} {one.code}").classes("st-code").style("display: inline")
                ui.label(f" {place}").classes("st-faint").style("display: inline; padding-left: 8px")
            ui.label(one.message)
            for hint in one.hints:
                ui.label(hint).classes("st-hint")
        if one.start is not None:
            button.on("click", lambda start=one.start, end=one.end, line=one.line: self._go_to(start, end, line))

    def _go_to(self, start: int, end: int, line: int) -> None:
        self.text.reveal_line(line)
        # Python counts characters, and the browser halves of some of them.
        before, inside = self._session.text[:start], self._session.text[start:end]
        first = len(before.encode("utf-16-le")) // 2
        last = first + len(inside.encode("utf-16-le")) // 2
        ui.run_javascript(
            f"const one = getElement({self.text.id}).editor, most = one.state.doc.length;"
            f"const selection = {{anchor: Math.min({first}, most), head: Math.min({last}, most)}};"
            "one.dispatch({selection}); one.focus();"
        )


def language_script() -> str:
    """Returns the script that tells the editor how Emberlog is spelled."""
    script = files("emberlog.studio.pages").joinpath("language.js").read_text(encoding="utf-8")
    return f"{codemirror_script()}\n{script}"
