"""Puts the page of the studio together: the program on the left, what becomes of it on the right."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from importlib.resources import files
from urllib.parse import quote

from nicegui import ui

from emberlog.diagnostics import Diagnostic, EmberlogError
from emberlog.provenance.asked import Asked, asked_in_text
from emberlog.render.look.diagnostics import diagnostics_list
from emberlog.render.look.page import style_sheet, within
from emberlog.render.look.proofs import proof_card
from emberlog.render.look.tokens import declarations
from emberlog.studio.answers import Answer
from emberlog.studio.checking import Checked
from emberlog.studio.links import fragment_of, program_in
from emberlog.studio.pages.data import Data
from emberlog.studio.pages.editor import Editor, language_script
from emberlog.studio.pages.progress import Progress, profile_html
from emberlog.studio.pages.stream import Stream
from emberlog.studio.pages.table import AnswerTable
from emberlog.studio.plans import plan_html
from emberlog.studio.runs import Found, Run, State, answered
from emberlog.studio.session import ENGINES, Session

_LOOK = 0.1
"""Seconds between two looks at a run."""

TABS = ("Answers", "Run", "Plan", "Proof", "Profile", "Stream")


class Studio:
    """Shows a session on one page."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._seen: tuple[Run | None, int] = (None, -1)
        self._shown_output = ""
        ui.add_css(f"body {{{declarations()}}}\n{style_sheet()}\n{_file('studio.css')}")
        ui.add_head_html(f'<script type="module">{language_script()}</script>')
        ui.page_title(f"{session.name} · Emberlog studio")
        ui.dark_mode(None)
        ui.html('<a class="st-skip" href="#answers">to the answers</a>')
        self._bar()
        with ui.element("main").classes("st-work"):
            with ui.element("div").classes("st-side"):
                self._editor = Editor(session, self._checked, self.run, self._save)
                self._parameters = ui.element("div").classes("st-panel st-row")
                self._parameters.visible = False
                self._parameter_names: tuple[str, ...] = ()
                self._data = Data(session, self._editor.check, self._look_at)
            with ui.element("div").classes("st-main").props('id="answers" tabindex="-1"'):
                self._tabs_of_work()
        ui.timer(_LOOK, self._look)
        ui.keyboard(self._key, ignore=[])

    # --- the bar ----------------------------------------------------------------------------------------------------

    def _bar(self) -> None:
        session = self._session
        with ui.element("header").classes("st-bar"):
            ui.label(session.name).style("font: 600 16px/1.3 var(--mono)").props('role="heading" aria-level="1"')
            self._status = ui.label().classes("st-status").props('role="status"').props('data-part="status"')
            ui.element("span").classes("st-space")
            self._engine = (
                ui.select(ENGINES, value=session.engine, label="runs", on_change=self._choose_engine)
                .props("dense outlined options-dense")
                .style("min-width: 130px")
                .props('data-part="engine"')
            )
            self._counts = ui.checkbox("count by rule", value=session.counts_rules, on_change=self._choose_counts)
            self._counts.props("dense").tooltip("the next run counts what each rule does, which takes longer")
            self._run = self._button("Run", self.run, "Ctrl-Enter").classes("st-first")
            self._stop = self._button("Stop", self.stop, "Escape")
            with self._button("More", None, "link, download, save"), ui.menu():
                ui.menu_item("Copy a link to this program", self._link)
                ui.menu_item("Download the program", lambda: ui.navigate.to("/download/program"))
                if session.path is not None:
                    ui.menu_item(f"Save {session.path.name}", self._save)

    def _button(self, text: str, action: Callable[[], object] | None, tip: str) -> ui.button:
        button = ui.button(text, color=None, on_click=action)
        return button.classes("st-button").props(f'no-caps unelevated title="{tip}"')

    def _choose_engine(self) -> None:
        self._session.engine = str(self._engine.value)

    def _choose_counts(self) -> None:
        self._session.counts_rules = bool(self._counts.value)

    def _save(self) -> None:
        try:
            self._session.save()
        except EmberlogError as error:
            _warn(error)
            return
        ui.notify(f"saved {self._session.path}")

    async def _link(self) -> None:
        fragment = fragment_of(self._session.text)
        await ui.run_javascript(
            f"history.replaceState(null, '', '#{fragment}');"
            "return navigator.clipboard?.writeText(location.href).then(() => true, () => false) ?? false"
        )
        ui.notify("the address of this page is the link now; the data is not part of it")

    # --- tabs -------------------------------------------------------------------------------------------------------

    def _tabs_of_work(self) -> None:
        with ui.element("section").classes("st-panel").props('aria-label="results"'):
            with ui.tabs().props('dense align="left" no-caps outside-arrows mobile-arrows') as self._tabs:
                tabs = {name: ui.tab(name) for name in TABS}
            self._stream_tab = tabs["Stream"]
            with ui.tab_panels(self._tabs, value="Answers", animated=False, keep_alive=True).style("width: 100%"):
                with ui.tab_panel(tabs["Answers"]):
                    self._answers = ui.column().style("width: 100%; gap: 8px")
                with ui.tab_panel(tabs["Run"]):
                    self._run_problems = ui.html("")
                    self._progress = Progress()
                with ui.tab_panel(tabs["Plan"]):
                    with ui.element("div").classes("st-row"):
                        self._button("Show the plan", lambda: self._plan(counts=False), "rows as they are expected")
                        self._button("Count rows", lambda: self._plan(counts=True), "runs the program once more")
                    self._plan_view = ui.html("").props('data-part="plan"').style("width: 100%")
                with ui.tab_panel(tabs["Proof"]):
                    self._questions()
                with ui.tab_panel(tabs["Profile"]):
                    self._profile = ui.html("").props('data-part="profile"').style("width: 100%")
                with ui.tab_panel(tabs["Stream"]):
                    self._stream = Stream(self._session, self._why, self._why_not)

    def _questions(self) -> None:
        with ui.element("div").classes("st-row"):
            self._asked = (
                ui.input(label='a fact, as in reach(1, "Oslo"); _ is any value')
                .props('dense outlined autocomplete="off"')
                .classes("st-grow")
                .props('data-part="asked"')
                .on("keydown.enter", self._why_asked)
            )
            self._button("Why", self._why_asked, "a proof of this fact")
            self._button("Why not", self._why_not_asked, "what keeps this fact from being there")
        self._proof_link = ui.link("download this as a page", "/download/proof").props('data-part="proof-link"')
        self._proof_link.visible = False
        self._proof = ui.html("").props('data-part="proof"').style("width: 100%")

    # --- checking ---------------------------------------------------------------------------------------------------

    async def begin(self) -> None:
        """Shows what is there already, once the page is connected."""
        fragment = await ui.run_javascript("return location.hash", timeout=5)
        await self._editor.check()
        if fragment:
            await self._open_link(str(fragment))

    async def _open_link(self, fragment: str) -> None:
        try:
            text = program_in(fragment)
        except EmberlogError as error:
            _warn(error)
            return
        if text is None:
            return
        if text != self._session.text:
            with ui.dialog() as dialog, ui.card():
                ui.label("The link holds a program. Put it in place of the one in the editor?")
                ui.label(text[:400] + ("…" if len(text) > 400 else "")).style(
                    "white-space: pre-wrap; font-family: var(--mono); max-height: 40vh; overflow: auto"
                )
                with ui.element("div").classes("st-row"):
                    self._button("Open it", lambda: dialog.submit(True), "nothing runs by itself").classes("st-first")
                    self._button("Keep mine", lambda: dialog.submit(False), "Escape")
            if await dialog:
                self._editor.put(text)
        # Reloading finds what was written since, and not the link once more.
        ui.run_javascript("history.replaceState(null, '', location.pathname)")

    def _checked(self, checked: Checked) -> None:
        self._data.show(checked.relations)
        self._stream_tab.visible = checked.has_streams
        self._show_parameters(checked.parameters)

    def _show_parameters(self, names: tuple[str, ...]) -> None:
        if names == self._parameter_names:
            return
        self._parameter_names = names
        self._parameters.clear()
        self._parameters.visible = bool(names)
        with self._parameters:
            for name in names:
                field = ui.input(
                    label=f"${name}",
                    value=self._session.parameters.get(name, ""),
                    on_change=lambda event, name=name: self._session.parameters.update({name: event.value or ""}),
                )
                field.props('dense outlined autocomplete="off"').classes("st-field")

    # --- running ----------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Starts the program as it stands."""
        try:
            await in_thread(self._session.start)
        except EmberlogError as error:
            _warn(error)

    def stop(self) -> None:
        self._session.stop()

    def _key(self, event: object) -> None:
        is_pressed = getattr(getattr(event, "action", None), "keydown", False)
        if is_pressed and getattr(event, "key", None) == "Escape" and self._session.is_running:
            self.stop()

    async def _look(self) -> None:
        """Shows what has come since the last look."""
        at_hand = self._session.run
        is_running = self._session.is_running
        self._run.enabled, self._stop.enabled = not is_running, is_running
        if at_hand is None:
            self._status.text = ""
            return
        if is_running:
            self._status.text = f"runs {ENGINES[self._session.ran_on]} · {at_hand.elapsed:,.1f} s"
        if self._seen == (at_hand, at_hand.heard):
            return
        self._seen = (at_hand, at_hand.heard)
        self._progress.show(at_hand)
        if not is_running:
            await self._show_end(at_hand)

    async def _show_end(self, ended: Run) -> None:
        words = {State.DONE: "done in", State.STOPPED: "stopped after", State.FAILED: "failed after"}
        self._status.text = f"{words.get(ended.state, '')} {ended.seconds:,.2f} s {ENGINES[self._session.ran_on]}"
        self._run_problems.content = problems_html(ended.problems)
        self._profile.content = profile_html(ended)
        if ended.state is State.DONE:
            await self._show_answers()
        else:
            self._show_problems(ended.problems)
        await self._editor.check()  # the list of relations has counts now

    def _show_problems(self, found: Sequence[Diagnostic]) -> None:
        """Shows in the place of the answers why there are none."""
        self._answers.clear()
        with self._answers:
            ui.html(problems_html(found) or within("the run was stopped")).props('data-part="run-problems"')

    async def _show_answers(self, name: str | None = None) -> None:
        names = self._session.outputs
        if not names:
            self._answers.clear()
            with self._answers:
                ui.label("the program derives nothing: write a rule, or a query such as reach(1, X)?")
            return
        chosen = name or (self._shown_output if self._shown_output in names else names[0])
        self._shown_output = chosen
        answer = await self._fetched(lambda: self._session.answer(chosen))
        if answer is None:
            return
        with self._answers:
            with ui.element("div").classes("st-row"):
                if len(names) > 1:
                    ui.select(
                        list(names), value=chosen, label="relation", on_change=lambda e: self._show_answers(e.value)
                    ).props("dense outlined options-dense").props('data-part="output"')
                else:
                    ui.label(chosen).style("font: 600 15px/1.4 var(--mono)")
                for form in ("csv", "parquet"):
                    address = f"/download/answer?name={quote(chosen, safe='')}&form={form}"
                    ui.link(f"download {form}", address)
            table = AnswerTable(answer, lambda row: self._why(chosen, tuple(row)))
        await table.show()

    async def _look_at(self, name: str) -> None:
        self._tabs.value = "Answers"
        answer = await self._fetched(lambda: self._session.input(name))
        if answer is None:
            return
        with self._answers:
            with ui.element("div").classes("st-row"):
                ui.label(f"{name}, as it was read").style("font: 600 15px/1.4 var(--mono)")
                if self._session.outputs:
                    self._button("Back to the answers", lambda: self._show_answers(), "what the last run gave")
            table = AnswerTable(answer)
        await table.show()

    async def _fetched(self, fetch: Callable[[], Answer]) -> Answer | None:
        """Returns an answer, with an empty place for it; shows why if there is none."""
        try:
            answer = await in_thread(fetch)
        except EmberlogError as error:
            self._show_problems(error.diagnostics)
            return None
        self._answers.clear()
        return answer

    # --- questions --------------------------------------------------------------------------------------------------

    async def _why(self, relation: str, fact: Sequence[object]) -> None:
        self._tabs.value = "Proof"
        await self._prove(lambda: self._session.why(relation, fact))

    async def _why_not(self, relation: str, fact: Sequence[object]) -> None:
        self._tabs.value = "Proof"
        await self._prove(lambda: self._session.why_not(relation, fact))

    async def _why_asked(self) -> None:
        await self._ask(self._session.why)

    async def _why_not_asked(self) -> None:
        await self._ask(self._session.why_not)

    async def _ask(self, question: Callable[[str, Asked], object]) -> None:
        text = str(self._asked.value or "")

        def answer() -> object:
            relation, values = asked_in_text(text)
            return question(relation, values)

        await self._prove(answer)

    async def _prove(self, answer: Callable[[], object]) -> None:
        self._proof.content = within("looking …")
        self._proof_link.visible = False
        try:
            found = await in_thread(answer)
        except EmberlogError as error:
            self._proof.content = problems_html(error.diagnostics)
            return
        self._session.proof = found  # type: ignore[assignment]
        self._proof.content = within(proof_card(found.outline))  # type: ignore[attr-defined]
        self._proof_link.visible = True

    async def _plan(self, *, counts: bool) -> None:
        self._plan_view.content = within("counting …" if counts else "planning …")
        try:
            self._plan_view.content = await in_thread(lambda: plan_html(self._session, counts))
        except EmberlogError as error:
            self._plan_view.content = problems_html(error.diagnostics)


async def in_thread(action: Callable[[], Found]) -> Found:
    """Calls what may take long, and lets the page go on meanwhile."""
    return await asyncio.get_running_loop().run_in_executor(None, answered, action)


def _warn(error: EmberlogError) -> None:
    found = error.diagnostics[0]
    ui.notify(". ".join((found.message, *(note.text for note in found.notes))), type="warning")


def problems_html(found: Sequence[Diagnostic]) -> str:
    return within(diagnostics_list(found)) if found else ""


def _file(name: str) -> str:
    return files("emberlog.studio.pages").joinpath(name).read_text(encoding="utf-8")
