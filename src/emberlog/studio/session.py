"""Holds what a person works on in the studio: a program, data, the run at hand and its answers.

Pages show it and change it, and it knows nothing of pages: whoever opens the studio again finds what was there.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emberlog.config import Execution
from emberlog.diagnostics import fail
from emberlog.dialects import parse_tolerantly
from emberlog.editor.undisturbed import without_collections
from emberlog.events import Listener, ignore
from emberlog.provenance.asked import Asked
from emberlog.semantics.analysis import analyze
from emberlog.semantics.model import CheckedProgram
from emberlog.source import Source
from emberlog.studio.answers import Answer, LocalAnswer, SparkAnswer
from emberlog.studio.checking import Checked, check
from emberlog.studio.data import Data
from emberlog.studio.runs import Run, State
from emberlog.studio.slides import Slides
from emberlog.syntax import ast

if TYPE_CHECKING:
    from emberlog.engines.engine import Counted
    from emberlog.logical.statistics import Statistics
    from emberlog.provenance.explanation import Proof, Refutation
    from emberlog.provenance.streams.questions import StreamQuestions
    from emberlog.result import Explained, Result

ENGINES = {"local": "in this process", "spark": "on Spark"}
"""Where a program runs, and how a person says it."""

_LEAVING = 10.0
"""Seconds that a new run waits for the thread of a stopped one."""

EXAMPLE = """\
// Which places can be reached from which? Ctrl-Enter runs this.
arc(1, 2). arc(2, 3). arc(3, 4). arc(4, 2).

reach(X, Y) :- arc(X, Y).
reach(X, Z) :- reach(X, Y), arc(Y, Z).
"""


class Session:
    """Holds one person's work."""

    def __init__(self, text: str = EXAMPLE, path: Path | None = None) -> None:
        self.path = path
        """Where the program came from, and where it is saved."""
        self.text = text
        self.parameters: dict[str, str] = {}
        """As they were typed."""
        self.engine = "local"
        self.counts_rules = False
        """Whether the next run counts what each rule does."""
        self.run: Run | None = None
        self.ran: _Ran | None = None
        """What the run at hand, or the last one, was about."""
        self.proof: Proof | Refutation | None = None
        """The last answer to a question."""
        self.slides: Slides | None = None
        """The program over streams that is advanced."""
        self._folder = tempfile.TemporaryDirectory(prefix="emberlog-studio-")
        self.data = Data(Path(self._folder.name))
        self._answers: dict[str, Answer] = {}
        self._questioned: tuple[_Ran, Result[Any]] | None = None
        # Two pages may ask for the same at once.
        self._starting = threading.Lock()
        self._recording = threading.Lock()
        self._advancing = threading.RLock()

    # --- the program ------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        return "program.dl" if self.path is None else self.path.name

    def save(self) -> None:
        """Writes the program back to its file."""
        if self.path is None:
            raise fail("DL533", "this program has no file", None, "download it, or start the studio with a file")
        try:
            self.path.write_text(self.text, encoding="utf-8")
        except OSError as error:
            raise fail("DL405", f"cannot write `{self.path}`: {(error.strerror or str(error)).lower()}") from None

    def check(self, text: str | None = None) -> Checked:
        """Tells what is wrong with a text, and which relations it has."""
        with without_collections():
            return check(ast_of(self.text if text is None else text, self.name), self.data, self.counted)

    def _analyzed(self, text: str) -> CheckedProgram:
        tree = ast_of(text, self.name)
        local = self.data.local
        return analyze(tree, inputs=local._plans.input_columns(tree), functions=local._functions)

    @property
    def counted(self) -> dict[str, int]:
        """Returns how many facts relations have, as far as the last run told."""
        if self.run is None:
            return {}
        found: dict[str, int] = {}
        for one in self.run.profile.strata:
            if len(one.relations) == 1 and one.rows is not None:
                found[one.relations[0]] = one.rows
        for name, answer in self._answers.items():
            if isinstance(answer, LocalAnswer):
                found[name] = answer.total
        return found

    # --- running ----------------------------------------------------------------------------------------------------

    @property
    def ran_on(self) -> str:
        """Returns the engine of the run at hand, or of the last one."""
        return self.engine if self.ran is None else self.ran.engine

    @property
    def is_running(self) -> bool:
        return self.run is not None and self.run.state is State.RUNNING

    def start(self) -> Run:
        """Runs the program as it is; a run that goes on is stopped before."""
        with self._starting:
            return self._start()

    def _start(self) -> Run:
        self._stop_last()
        asked = _Ran(self.text, dict(self.parameters), self.engine, self.data.version)
        self._answers = {}
        self._drop_questions()
        counts = self.counts_rules

        def work(listener: Listener) -> Result[Any]:
            if self._analyzed(asked.text).has_streams:
                hint = "it is advanced slide by slide, under Stream"
                raise fail("DL533", "this program reads a stream", None, hint)
            self.slides = None
            result = self._ran(asked, listener, Execution(profile=counts))
            for name in result:
                here = result._at_hand(name)
                if here is not None and here.types:
                    _ = here.table  # lists the facts as a part of the run, which can be stopped, not of the first page
            return result

        self.ran = asked
        self.run = Run(work, self.data.stop_jobs).start()
        return self.run

    def stop(self) -> None:
        if self.run is not None:
            self.run.stop()

    def _stop_last(self) -> None:
        last = self.run
        if last is None:
            return
        last.stop()
        if not last.leave(_LEAVING):
            raise fail("DL533", "the run that was stopped is still on its way out", None, "try again in a moment")
        if last.result is not None:
            last.result.close()

    def _ran(self, asked: _Ran, listener: Listener, execution: Execution) -> Result[Any]:
        database = self.data.database(asked.engine)
        program = ast_of(asked.text, self.name)
        params = {name: value_of(text) for name, text in asked.parameters.items() if text.strip()}
        return database.datalog(program, params=params, listener=listener, execution=execution)

    # --- answers ----------------------------------------------------------------------------------------------------

    @property
    def outputs(self) -> tuple[str, ...]:
        """Returns the names of the relations that the last run gave."""
        result = None if self.run is None else self.run.result
        return () if result is None else tuple(result)

    def input(self, name: str) -> Answer:
        """Returns the data of a relation, to be looked at."""
        return LocalAnswer(name, self.data.local[name])

    def answer(self, name: str) -> Answer:
        """Returns the facts of an output; kept, so that pages of one view are sorted once."""
        if name not in self._answers:
            assert self.run is not None and self.run.result is not None
            result = self.run.result
            here = result._at_hand(name)
            relation = result.explained.checked.relations[name]
            if here is not None:
                self._answers[name] = LocalAnswer(name, here)
            else:
                self._answers[name] = SparkAnswer(name, result[name], [one.type for one in relation.columns])
        return self._answers[name]

    def export(self, name: str, form: str) -> Path:
        """Writes an answer into one file and returns where it is."""
        path = Path(self._folder.name) / f"answer-{time.monotonic_ns()}.{form}"
        self.answer(name).write(path, form)
        return path

    # --- questions --------------------------------------------------------------------------------------------------

    def why(self, relation: str, fact: Asked) -> Proof:
        """Returns a proof of a fact of the last run, or of the last slide."""
        return self._asked().why(relation, fact)

    def why_not(self, relation: str, fact: Asked) -> Refutation:
        return self._asked().why_not(relation, fact, depth=2)

    def _asked(self) -> Result[Any] | StreamQuestions:
        return self._recorded() if self.slides is None else self.slides.questions()

    def _recorded(self) -> Result[Any]:
        """Returns the last run once more, with a record of how facts came: only who asks pays for it."""
        if self.ran is None or self.run is None or self.run.state is not State.DONE:
            raise fail("DL533", "there are no answers to ask about", None, "run the program before")
        if self.ran.data_version != self.data.version:
            raise fail("DL533", "the data has changed since the run", None, "run the program again, and ask then")
        with self._recording:
            if self._questioned is None or self._questioned[0] is not self.ran:
                recorded = self._ran(self.ran, ignore, Execution(provenance=True))
                self._questioned = (self.ran, recorded)
            return self._questioned[1]

    def _drop_questions(self) -> None:
        if self._questioned is not None:
            self._questioned[1].close()
            self._questioned = None

    def costs(self, counts: bool) -> tuple[Explained, Statistics, Counted | None]:
        """Plans the program, and runs it once more in this process if rows are to be counted."""
        params = {name: value_of(text) for name, text in self.parameters.items() if text.strip()}
        return self.data.local._costs(ast_of(self.text, self.name), params, counts=counts)

    # --- streams ----------------------------------------------------------------------------------------------------

    def begin_stream(self) -> Slides:
        """Makes the program ready to be advanced, with the rows that are registered for its streams."""
        checked = self._analyzed(self.text)
        if not checked.has_streams:
            raise fail("DL342", "this program reads no stream", None, "Run computes it")
        relations = self.data.local._engine.inputs(checked, checked.inputs).relations
        with self._advancing:
            self.slides = Slides(checked, relations)
            return self.slides

    def advance_stream(self, count: int = 1) -> None:
        """Closes the next slides."""
        with self._advancing:
            slides = self.slides or self.begin_stream()
            for _ in range(count):
                slides.advance()

    def type_rows(self, text: str) -> int:
        """Lets typed rows arrive; returns how many of them are too late."""
        with self._advancing:
            return (self.slides or self.begin_stream()).add_typed(text)

    # --- the end ----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Ends the run, and Spark if it was started."""
        if self.run is not None:
            self.run.stop()
            self.run.leave(_LEAVING)
        self._drop_questions()
        self.data.close()
        self._folder.cleanup()


@dataclass(frozen=True, slots=True, eq=False)
class _Ran:
    """Says what a run was about."""

    text: str
    parameters: Mapping[str, str]
    engine: str
    data_version: int


def ast_of(text: str, name: str) -> ast.Program:
    return parse_tolerantly(Source(name, text))


def value_of(text: str) -> object:
    """Returns the value of a parameter that somebody typed: a number, true or false, or a text."""
    stripped = text.strip()
    if stripped.lower() in ("true", "false"):
        return stripped.lower() == "true"
    for kind in (int, float):
        try:
            return kind(stripped)
        except ValueError:
            continue
    is_quoted = len(stripped) > 1 and stripped[0] == stripped[-1] == '"'
    return stripped[1:-1] if is_quoted else stripped
