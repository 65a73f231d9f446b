"""Shows a program over streams, slide by slide."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from nicegui import run, ui

from emberlog.diagnostics import EmberlogError
from emberlog.logical.summary import counted
from emberlog.render.answer_text import python_text
from emberlog.studio.answers import LocalAnswer, View
from emberlog.studio.runs import answered
from emberlog.studio.session import Session
from emberlog.studio.slides import SlideShown

MOST_CHANGES = 25
"""Added and removed facts of a relation that are shown."""
MANY_SLIDES = 10
MOST_SLIDES = 500
"""That are listed: the last ones."""


Ask = Callable[[str, Sequence[object]], Awaitable[None]]


class Stream:
    def __init__(self, session: Session, why: Ask, why_not: Ask) -> None:
        self._session = session
        self._why, self._why_not = why, why_not
        self._is_busy = False
        with ui.element("div").classes("st-row"):
            self._button("Begin", self._begin, "forget what was advanced, and begin with the first slide")
            self._button("Advance", self._advance, "close the next slide")
            self._button(f"Advance {MANY_SLIDES}", self._advance_many, "close the next slides")
        with ui.element("div").classes("st-row"):
            self._typed = (
                ui.textarea(label='rows to add, as in ride(7, "a", "b")')
                .props('dense outlined autogrow rows="1"')
                .classes("st-grow")
                .props('data-part="typed-rows"')
            )
            self._button("Add rows", self._add, "let these rows arrive")
        self._problem = ui.label().classes("st-bad").props('role="alert"')
        self._told = ui.label().classes("st-status").props('data-part="slide"')
        self._changes = ui.element("div").classes("st-changes")
        self._history = ui.table(
            rows=[],
            columns=[
                {"name": name, "label": label, "field": name, "align": "left"}
                for name, label in (
                    ("slide", "slide"),
                    ("window", "window"),
                    ("arrived", "arrived"),
                    ("held", "in the window"),
                    ("changes", "facts (added, removed)"),
                )
            ],
            pagination=15,
        ).props("flat dense")
        self._history.style("width: 100%").props('data-part="slides"')
        self.show()

    def _button(self, text: str, action: object, tip: str) -> None:
        ui.button(text, color=None, on_click=action).classes("st-button").props(  # type: ignore[arg-type]
            f'no-caps unelevated title="{tip}"'
        )

    async def _begin(self) -> None:
        await self._do(self._session.begin_stream)

    async def _advance(self) -> None:
        await self._do(self._session.advance_stream)

    async def _advance_many(self) -> None:
        await self._do(lambda: self._session.advance_stream(MANY_SLIDES))

    async def _add(self) -> None:
        text = self._typed.value or ""
        await self._do(lambda: self._session.type_rows(text))
        if not self._problem.text:
            self._typed.value = ""

    async def _do(self, action: Callable[[], object]) -> None:
        if self._is_busy:
            return
        self._is_busy = True
        try:
            await run.io_bound(answered, action)
            self._problem.text = ""
        except EmberlogError as error:
            self._problem.text = "\n".join(
                ". ".join((one.message, *(note.text for note in one.notes))) for one in error.diagnostics
            )
        finally:
            self._is_busy = False
        self.show()

    def show(self) -> None:
        """Shows the last slide, what it changed, and the slides before it."""
        slides = self._session.slides
        self._changes.clear()
        if slides is None:
            self._told.text = "not begun: a stream reads the rows of the file of its name, or typed ones"
            self._history.rows = []
            return
        last = slides.shown[-1] if slides.shown else None
        parts = [] if last is None else [f"slide {last.at}", f"window {_window(last)}"]
        parts += [f"{counted(slides.waiting, 'row')} waiting", f"{slides.late:,} came too late"]
        if slides.next_slide is None:
            parts.append("nothing is left to advance")
        self._told.text = " · ".join(parts)
        self._history.rows = [
            _row(one, has_changes=slides.schedule.gap is None) for one in reversed(slides.shown[-MOST_SLIDES:])
        ]
        if last is None:
            return
        with self._changes:
            for name, answer in last.answers.items():
                with ui.element("div").classes("st-panel"):
                    ui.label(f"{name}: {counted(answer.total, 'fact')}").style("font-weight: 600")
                    if slides.schedule.gap is None:
                        self._show_facts("+", "st-good", last.added.get(name), "why")
                        self._show_facts("−", "st-bad", last.removed.get(name), "why not")
                    else:
                        self._show_facts("", "", answer, "why")

    def _show_facts(self, sign: str, kind: str, answer: LocalAnswer | None, question: str) -> None:
        if answer is None or not answer.total:
            return
        for row in answer.page(View(), 0, MOST_CHANGES).rows:
            with ui.element("div").classes("st-row"):
                ui.label(f"{sign} {answer.name}({', '.join(map(python_text, row))})").classes(kind)
                ask = self._why if question == "why" else self._why_not
                button = ui.button(question, color=None, on_click=partial(ask, answer.name, row))
                button.props("no-caps flat dense")
        more = answer.total - MOST_CHANGES
        if more > 0:
            ui.label(f"{sign} … {more:,} more").classes("st-faint")


def _row(one: SlideShown, *, has_changes: bool) -> dict[str, str]:
    changes = (
        f"{name}: {facts:,}" + (f" (+{added:,} −{removed:,})" if has_changes else "")
        for name, (facts, added, removed) in one.sizes.items()
    )
    return {
        "slide": f"{one.number:,}: {one.at}",
        "window": _window(one),
        "arrived": f"{one.arrived:,}",
        "held": f"{one.held:,}",
        "changes": "; ".join(changes),
    }


def _window(one: SlideShown) -> str:
    return f"{one.since} to {one.at}" if one.since else f"all up to {one.at}"
